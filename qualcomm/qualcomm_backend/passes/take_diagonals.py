"""Take diagonals by slices of rows that follow one another."""

from typing import ClassVar

import torch

from qualcomm_backend.passes.form import Forms, WriteWithOthers

aten = torch.ops.aten


class TakeDiagonals(WriteWithOthers):
    """
    Given:  y = aten.diagonal(x, -1, 0, 2)    of an x: [3, 4, 3]
    Result: y = aten.slice(aten.reshape(aten.permute(x, [1, 0, 2]), [4, 9]), 1, 3, 8, 4)
    """

    forms: ClassVar[Forms] = {
        aten.diagonal.default: lambda x, offset=0, dim1=0, dim2=1: _diagonal(x, offset, dim1, dim2),
        aten.diagonal_copy.default: (
            lambda x, offset=0, dim1=0, dim2=1: _diagonal(x, offset, dim1, dim2)
        ),
        aten.diag.default: lambda x, k=0: _diagonal(x, k, 0, 1) if x.dim() == 2 else NotImplemented,
        aten.trace.default: lambda x: torch.sum(_diagonal(x, 0, 0, 1), [0]),
    }


def _diagonal(x: torch.Tensor, offset: int, dim1: int, dim2: int) -> torch.Tensor:
    dims = [dim1 % x.dim(), dim2 % x.dim()]
    kept = [dim for dim in range(x.dim()) if dim not in dims]
    height, width = (x.shape[dim] for dim in dims)
    length = max(0, min(height, width - offset) if offset >= 0 else min(height + offset, width))
    start = offset if offset >= 0 else -offset * width
    shape = [x.shape[dim] for dim in kept]
    rows = x.permute(*kept, *dims).reshape(*shape, height * width)
    end = start + (length - 1) * (width + 1) + 1 if length else start
    return rows[..., start : end : width + 1]
