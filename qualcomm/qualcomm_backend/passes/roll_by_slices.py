"""Roll by slices, whose dimensions count from the front."""

from collections.abc import Sequence
from typing import ClassVar

import torch

from qualcomm_backend.passes.form import Forms, WriteWithOthers

aten = torch.ops.aten


class RollBySlices(WriteWithOthers):
    """
    Given:  y = aten.roll(x, [1], [-1])
    Result: y = aten.cat([x[..., -1:], x[..., :-1]], 1), of an x of rank 2
    """

    forms: ClassVar[Forms] = {aten.roll.default: lambda x, shifts, dims=(): _roll(x, shifts, dims)}


def _roll(x: torch.Tensor, shifts: Sequence[int], dims: Sequence[int]) -> torch.Tensor:
    if not x.numel():
        return x
    if not dims:
        return _roll(x.reshape(-1), shifts, [0]).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        dim %= x.dim()
        size = x.shape[dim]
        last = shift % size
        if last:
            parts = [x.narrow(dim, size - last, last), x.narrow(dim, 0, size - last)]
            x = torch.cat(parts, dim)
    return x
