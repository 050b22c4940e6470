"""The names of operators, and the groups that are treated alike."""

from typing import Any

from torch import fx


def name_of(node: fx.Node) -> str:
    """`aten.add.Tensor`, for the Edge dialect's operator as for ATen's; "" for no operator."""
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


CASTS = frozenset({"aten._to_copy.default", "dim_order_ops._to_dim_order_copy.default"})

# They only move elements: right for every dtype whose values OpenVINO can hold.
MOVES = frozenset(
    {
        "aten.alias_copy.default",
        "aten.as_strided_copy.default",
        "aten.cat.default",
        "aten.clone.default",
        "aten.constant_pad_nd.default",
        "aten.detach_copy.default",
        "aten.expand_copy.default",
        "aten.flip.default",
        "aten.permute_copy.default",
        "aten.pixel_shuffle.default",
        "aten.pixel_unshuffle.default",
        "aten.repeat.default",
        "aten.roll.default",
        "aten.select_copy.int",
        "aten.slice_copy.Tensor",
        "aten.split_with_sizes_copy.default",
        "aten.squeeze_copy.dim",
        "aten.squeeze_copy.dims",
        "aten.stack.default",
        "aten.t_copy.default",
        "aten.transpose_copy.int",
        "aten.tril.default",
        "aten.triu.default",
        "aten.unbind_copy.int",
        "aten.unsqueeze_copy.default",
        "aten.view_copy.default",
        "dim_order_ops._clone_dim_order.default",
        "getitem",
    }
)
