"""Write norms of vectors with sums, and distances with norms."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from qualcomm_backend.passes.form import Forms, Leave, WriteWithOthers, wide

aten = torch.ops.aten

# Each is a slice of a program.
_MOST_POINTS = 64


class WriteNorms(WriteWithOthers):
    """
    Given:  y = aten.linalg_vector_norm(x, 2, [1], True)
    Result: y = aten.sqrt(aten.sum(aten.mul(x, x), [1], True))

    By its order: 0 counts, infinities take an extreme, 1 and 2 need no powers.
    """

    forms: ClassVar[Forms] = {
        aten.linalg_vector_norm.default: (
            lambda x, ord=2, dim=None, keepdim=False, *, dtype=None: _norm(
                x if dtype is None else x.to(dtype), ord, dim, keepdim
            )
        ),
        aten.cdist.default: lambda x, y, p=2, compute_mode=None: _distances(x, y, p),
        aten._cdist_forward.default: lambda x, y, p, compute_mode: _distances(x, y, p),
        aten.pdist.default: lambda x, p=2: _distances_within(x, p),
        aten._pdist_forward.default: lambda x, p=2: _distances_within(x, p),
    }


def _norm(x: torch.Tensor, order: Any, dim: Any, keepdim: bool) -> torch.Tensor:
    dims: Sequence[int] = [dim] if isinstance(dim, int) else dim or list(range(x.dim()))
    if x.dtype.is_complex:
        raise Leave("its numbers are complex")
    if not all(x.shape[each] for each in dims):
        raise Leave("there is nothing to add up")
    w = x.to(wide(x.dtype))
    if order == math.inf:
        norm = torch.amax(w.abs(), dims, keepdim)
    elif order == -math.inf:
        norm = torch.amin(w.abs(), dims, keepdim)
    elif order == 0:
        norm = torch.sum((w != 0).to(w.dtype), dims, keepdim)
    elif order == 1:
        norm = torch.sum(w.abs(), dims, keepdim)
    elif order == 2:
        norm = torch.sqrt(torch.sum(w * w, dims, keepdim))
    else:
        norm = torch.pow(torch.sum(torch.pow(w.abs(), order), dims, keepdim), 1 / order)
    return norm.to(x.dtype)


def _distances(x: torch.Tensor, y: torch.Tensor, order: float) -> torch.Tensor:
    """cdist: [..., P, M] and [..., R, M] to [..., P, R]."""
    return _norm(x.unsqueeze(-2) - y.unsqueeze(-3), order, -1, False)


def _distances_within(x: torch.Tensor, order: float) -> torch.Tensor:
    """pdist: [N, M] to the N * (N - 1) / 2 distances of each from those behind it."""
    count = x.shape[0]
    if count < 2:
        raise Leave("there is nothing to add up")
    if count > _MOST_POINTS:
        raise Leave(f"{count} points; distances are written out for up to {_MOST_POINTS}")
    table = _distances(x, x, order)
    return torch.cat([table[each, each + 1 :] for each in range(count - 1)])
