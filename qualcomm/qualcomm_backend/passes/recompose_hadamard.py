"""Recognise products with a Hadamard matrix, for which QNN has an operator."""

import math
from collections.abc import Callable
from typing import Any

import torch
from backend_common.graph import Pass, Reject
from backend_common.operators import operator_name
from torch import fx

_LINEAR = "aten.linear.default"
_PRODUCTS = frozenset({_LINEAR, "aten.mm.default", "aten.matmul.default"})


class RecomposeHadamard(Pass):
    """
    Given:  y = aten.linear(x, w), or aten.mm(x, w), of a constant w: s * H, to the last bit
    Result: y = qnn_custom.hadamard_transform(x, s * sqrt(size of H))

    H is Sylvester's, of 2 ** n rows, s greater than 0. Within delegates only: nothing else has a
    kernel for it.
    """

    def __init__(self, constant_of: Callable[[fx.Node], torch.Tensor | None]) -> None:
        """constant_of: the value that a node stands for when nothing can change it."""
        self._constant_of = constant_of

    def match(self, node: fx.Node) -> Any:
        if operator_name(node) not in _PRODUCTS or not isinstance(node.args[1], fx.Node):
            return None
        weight = self._constant_of(node.args[1])
        if weight is None or not _may_be(weight):
            return None
        first: Any = node.args[0]
        if first.meta["val"].dtype != weight.dtype:
            return None
        scale = float(weight[0, 0])
        if scale <= 0 or not torch.equal(weight, sylvester(weight.shape[0], weight.dtype) * scale):
            return None
        if operator_name(node) == _LINEAR and len(node.args) > 2 and node.args[2] is not None:
            return Reject(node, "a Hadamard transform has no bias")
        return scale * math.sqrt(weight.shape[0])

    def rewrite(self, node: fx.Node, found: float) -> None:
        # Defines the operator; imported late, for it takes its time.
        import executorch.backends.qualcomm.builders.custom_ops  # noqa: F401

        with node.graph.inserting_before(node):
            made = node.graph.call_function(
                torch.ops.qnn_custom.hadamard_transform.default, (node.args[0], found)
            )
        made.meta = dict(node.meta)
        node.replace_all_uses_with(made)
        node.graph.erase_node(node)


def _may_be(weight: torch.Tensor) -> bool:
    """Whether its shape and its first element allow for it; most weights end here."""
    if weight.dim() != 2 or weight.shape[0] != weight.shape[1] or not weight.is_floating_point():
        return False
    size = weight.shape[0]
    return size >= 2 and size & (size - 1) == 0 and bool((weight.abs() == weight[0, 0]).all())


def sylvester(size: int, dtype: torch.dtype) -> torch.Tensor:
    """Of 1 and -1, 2 ** n rows: the one of half the size four times, once negated."""
    matrix = torch.ones(1, 1, dtype=dtype)
    while matrix.shape[0] < size:
        matrix = torch.kron(torch.tensor([[1, 1], [1, -1]], dtype=dtype), matrix)
    return matrix
