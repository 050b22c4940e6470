"""Multiply vectors as matrices of one row or one column."""

from typing import ClassVar

import torch

from qualcomm_backend.passes.form import Forms, WriteWithOthers

aten = torch.ops.aten


class MultiplyVectors(WriteWithOthers):
    """
    Given:  y = aten.matmul(x, v)    of an x: [4, 5] and a v: [5]
    Result: y = aten.squeeze(aten.mm(x, aten.unsqueeze(v, 1)), 1)
    """

    forms: ClassVar[Forms] = {
        operator: lambda x, y: _product(x, y)
        for operator in (
            *(aten.matmul.default, aten.mv.default, aten.dot.default, aten.vdot.default),
        )
    }


def _product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if min(x.dim(), y.dim()) > 1 or x.dtype.is_complex:
        return NotImplemented
    left = x.unsqueeze(0) if x.dim() == 1 else x
    right = y.unsqueeze(1) if y.dim() == 1 else y
    product = torch.matmul(left, right)
    if y.dim() == 1:
        product = product.squeeze(-1)
    return product.squeeze(-1 if y.dim() == 1 else -2) if x.dim() == 1 else product
