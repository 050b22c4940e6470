"""Operators that Inductor computes otherwise than eager, or calls a rare kernel for, in others'
terms.

They are entries of Inductor's own table, for the time of one code generation.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from backend_common import decompositions as common

aten = torch.ops.aten


def _trilinear(
    i1: torch.Tensor,
    i2: torch.Tensor,
    i3: torch.Tensor,
    expand1: list[int],
    expand2: list[int],
    expand3: list[int],
    sumdim: list[int],
    unroll_dim: int = 1,
) -> torch.Tensor:
    operands = []
    for operand, dimensions in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for dimension in sorted(dimensions):
            operand = operand.unsqueeze(dimension)
        operands.append(operand)
    product = operands[0] * operands[1] * operands[2]
    return product.sum(sumdim) if sumdim else product


def _rounding_division(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """Floors as Python does: Inductor takes the floor of a quotient that is rounded already."""
    return common.floor_division(x, y) if rounding_mode == "floor" else NotImplemented


def _floor_divide(x: Any, y: Any) -> Any:
    return torch.div(x, y, rounding_mode="floor")


EAGER: Mapping[Any, Callable[..., Any]] = {
    aten._trilinear.default: _trilinear,
    aten.div.Tensor_mode: _rounding_division,
    aten.div.Scalar_mode: _rounding_division,
    aten.floor_divide.default: _floor_divide,
    aten.floor_divide.Scalar: _floor_divide,
}
