"""Write variances and deviations with means and sums."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from qualcomm_backend.passes.form import Forms, Leave, WriteWithOthers, wide

aten = torch.ops.aten


class WriteVariance(WriteWithOthers):
    """
    Given:  y = aten.var(x, [1], correction=2)    of 6 columns
    Result: c = x - aten.mean(x, [1], True); y = aten.sum(c * c, [1]) / 4

    Where nothing is left of the count, y is infinite, or NaN of equal values. No dimensions, and
    [], are all of them.
    """

    forms: ClassVar[Forms] = {
        operator: form
        for name in ("var", "std", "var_mean", "std_mean")
        for operator, form in (
            (
                getattr(aten, name).correction,
                lambda x, dim=None, *, correction=None, keepdim=False, name=name: _moments(
                    name, x, dim, 1 if correction is None else correction, keepdim
                ),
            ),
            (
                getattr(aten, name).dim,
                lambda x, dim, unbiased=True, keepdim=False, name=name: _moments(
                    name, x, dim, int(unbiased), keepdim
                ),
            ),
            (
                getattr(aten, name).default,
                lambda x, unbiased=True, name=name: _moments(name, x, None, int(unbiased), False),
            ),
        )
    }


def _moments(name: str, x: torch.Tensor, dim: Any, correction: float, keepdim: bool) -> Any:
    if x.dtype.is_complex:
        raise Leave("its numbers are complex")
    dims: Sequence[int] = [dim] if isinstance(dim, int) else dim or list(range(x.dim()))
    count = math.prod(x.shape[each] for each in dims)
    if not count:
        raise Leave("there is nothing to add up")
    w = x.to(wide(x.dtype))
    mean = torch.mean(w, dims, True)
    centred = w - mean
    squares = torch.sum(centred * centred, dims, keepdim)
    if count <= correction:  # squares / 0, whose infinity the HTP's 16 bits do not have
        spread = torch.where(squares > 0, math.inf, math.nan).to(w.dtype)
    elif name.startswith("std"):
        spread = torch.sqrt(squares / (count - correction))
    else:
        spread = squares / (count - correction)
    if not name.endswith("_mean"):
        return spread.to(x.dtype)
    return spread.to(x.dtype), (mean if keepdim else torch.mean(w, dims)).to(x.dtype)
