"""The names of operators, the same for ATen's and for the Edge dialect's."""

import operator as python_operator

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
