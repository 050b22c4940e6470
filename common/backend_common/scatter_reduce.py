"""scatter_reduce in terms of the kernels that ExecuTorch has."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# What a table of all pairs may hold.
_MOST_PAIRS = 2**22


def scatter_reduce(
    x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Any:
    """Sums by scatter_add; the others by a table of which source goes where, if it is small.

    NotImplemented for bools, and for sizes that are not known.
    """
    if not x.dim():
        one, place, value = (each.reshape(1) for each in (x, index, src))
        result = scatter_reduce(one, 0, place, value, reduce, include_self=include_self)
        return result if result is NotImplemented else result.reshape(())
    dim %= x.dim()
    if x.dtype is torch.bool or not all(isinstance(n, int) for n in (*x.shape, *index.shape)):
        return NotImplemented
    if 0 in index.shape:
        return x.clone()
    for each, size in enumerate(index.shape):
        src = src.narrow(each, 0, size)
    if reduce in ("sum", "mean"):
        return _scatter_sum(x, dim, index, src, reduce == "mean", include_self)
    if math.prod(index.shape) * x.shape[dim] > _MOST_PAIRS:
        return NotImplemented
    part = x
    for each, size in enumerate(index.shape):
        if each != dim:
            part = part.narrow(each, 0, size)
    shape = [1] * (x.dim() + 1)
    shape[dim] = x.shape[dim]
    goes = index.unsqueeze(dim) == torch.arange(x.shape[dim]).view(shape)
    least, greatest = _limits(x.dtype)
    forms: dict[str, tuple[Any, Callable[..., Tensor], Callable[[Tensor, Tensor], Tensor]]] = {
        "prod": (1, torch.prod, torch.mul),
        "amax": (least, torch.amax, torch.maximum),
        "amin": (greatest, torch.amin, torch.minimum),
    }
    neutral, gather, join = forms[reduce]
    sources = torch.where(goes, src.unsqueeze(dim), neutral).to(x.dtype)
    reduced = gather(sources, dim + 1).to(x.dtype)
    touched = goes.any(dim + 1)
    result = torch.where(touched, join(part, reduced) if include_self else reduced, part)
    return _put_corner(x, result)


def _limits(dtype: torch.dtype) -> tuple[float, float]:
    if dtype.is_floating_point:
        return -math.inf, math.inf
    limits = torch.iinfo(dtype)
    return limits.min, limits.max


def _scatter_sum(
    x: Tensor, dim: int, index: Tensor, src: Tensor, mean: bool, include_self: bool
) -> Tensor:
    ones = torch.ones_like(index)
    counts = torch.zeros(x.shape, dtype=torch.int64).scatter_add(dim, index, ones)
    start = x if include_self else torch.where(counts > 0, torch.zeros_like(x), x)
    total = start.scatter_add(dim, index, src)
    if not mean:
        return total
    counts = (counts + 1 if include_self else counts.clamp(min=1)).to(x.dtype)
    if x.dtype.is_floating_point:
        return total / counts
    return torch.div(total, counts, rounding_mode="floor")


def _put_corner(x: Tensor, corner: Tensor) -> Tensor:
    """x with its first elements, along each dimension, replaced."""
    for dim, (whole, size) in enumerate(zip(x.shape, corner.shape, strict=True)):
        if size < whole:
            rest = x.narrow(dim, size, whole - size)
            for other in range(dim + 1, x.dim()):
                rest = rest.narrow(other, 0, corner.shape[other])
            corner = torch.cat([corner, rest], dim)
    return corner
