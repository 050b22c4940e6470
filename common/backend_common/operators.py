"""The names of operators, the same for ATen's and for the Edge dialect's."""

import operator as python_operator
from typing import Any

import torch
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from torch import fx


def operator_name(node: fx.Node) -> str:
    """`aten.add.Tensor`; `cond` for a higher-order operator; "" for what is no operator.

    Selecting one of several results and arithmetic on symbolic sizes are no operators.
    """
    target = node.target
    if node.op != "call_function" or target is python_operator.getitem:
        return ""
    if isinstance(target, EdgeOpOverload):
        return str(target._op)
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    if isinstance(target, torch._ops.HigherOrderOperator):
        name = target.name()
        return "" if name == "executorch_call_delegate" else name
    return ""


def name_of(node: fx.Node) -> str:
    """`aten.add.Tensor`, `getitem`, `add` of sizes: what rules are looked up by; "" for no call."""
    if node.op != "call_function":
        return ""
    target = node.target
    if type(target).__name__ == "EdgeOpOverload":
        return str(getattr(target, "__name__", ""))
    return str(target) if hasattr(target, "overloadpacket") else getattr(target, "__name__", "")


def argument(node: fx.Node, name: str, default: object = None) -> Any:
    """An argument by its name in the operator's schema, else its default there, else `default`."""
    if name in node.kwargs:
        return node.kwargs[name]
    for index, known in enumerate(node.target._schema.arguments):  # type: ignore[union-attr]
        if known.name == name:
            if index < len(node.args):
                return node.args[index]
            return known.default_value if known.has_default_value() else default
    return default


def items_taken(node: fx.Node) -> set[object]:
    """The indices of the results that someone takes from a node with several."""
    return {user.args[1] for user in node.users if name_of(user) == "getitem"}


def tensors(node: fx.Node) -> list[fx.Node]:
    """The operands that are tensors or lists of tensors."""
    return [
        operand
        for operand in node.all_input_nodes
        if not isinstance(operand.meta.get("val"), (int, float, bool))
        and type(operand.meta.get("val")).__name__ not in ("SymInt", "SymFloat", "SymBool")
    ]
