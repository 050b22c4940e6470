"""Cast the operands of an operator to the dtype that PyTorch computes it in.

OpenVINO's frontend follows PyTorch's promotion rules for most operands, but not where a tensor
without dimensions meets an integer, nor where a result is an integer.
"""

import torch
from torch import fx

from openvino_backend import operators

aten = torch.ops.aten

_ARITHMETIC = frozenset(f"aten.{name}.Tensor" for name in ("add", "sub", "mul", "div")) | {
    "aten.maximum.default",
    "aten.minimum.default",
    "aten.pow.Tensor_Tensor",
    "aten.bitwise_and.Tensor",
    "aten.bitwise_or.Tensor",
    "aten.bitwise_xor.Tensor",
}
_COMPARISONS = frozenset(
    f"aten.{name}.{kind}"
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for kind in ("Tensor", "Scalar")
)


def make_promotion_explicit(graph: fx.Graph) -> None:
    """
    Given:  y = aten.mul.Tensor(x: float32, n: int64)
    Result: y = aten.mul.Tensor(x, aten._to_copy(n, dtype=torch.float32))
    """
    for node in list(graph.nodes):
        name = operators.name_of(node)
        if name in _ARITHMETIC:
            first, common = 0, node.meta["val"].dtype
        elif name in _COMPARISONS:
            first, common = 0, torch.result_type(*(_value(item) for item in node.args[:2]))
        elif name == "aten.where.self":
            first, common = 1, node.meta["val"].dtype
        else:
            continue
        for index in range(first, len(node.args)):
            operand = node.args[index]
            if not isinstance(operand, fx.Node) or operand not in operators.tensors(node):
                continue
            if operand.meta["val"].dtype == common:
                continue
            with graph.inserting_before(node):
                cast = graph.call_function(aten._to_copy.default, (operand,), {"dtype": common})
            cast.meta = {"val": operand.meta["val"].to(common)}
            node.update_arg(index, cast)


def _value(item: object) -> object:
    return item.meta["val"] if isinstance(item, fx.Node) else item
