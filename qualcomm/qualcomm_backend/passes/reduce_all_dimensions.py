"""Reduce over dimensions that are named, and keep those that are to be kept."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch

from qualcomm_backend.passes.form import Forms, Leave, WriteWithOthers

aten = torch.ops.aten


class ReduceAllDimensions(WriteWithOthers):
    """
    Given:  y = aten.argmax(x, None, True)
    Result: y = aten.reshape(aten.argmax(aten.reshape(x, [-1]), 0), [1, 1])

    Likewise the extremes, sums and means of all that there is: QNN reduces dimensions.
    """

    forms: ClassVar[Forms] = {
        aten.argmax.default: lambda x, dim=None, keepdim=False: _place(
            torch.argmax, x, dim, keepdim
        ),
        aten.argmin.default: lambda x, dim=None, keepdim=False: _place(
            torch.argmin, x, dim, keepdim
        ),
        aten.max.default: lambda x: _extreme(torch.amax, x),
        aten.min.default: lambda x: _extreme(torch.amin, x),
        aten.amax.default: lambda x, dim=(), keepdim=False: _of_all(torch.amax, x, dim, keepdim),
        aten.amin.default: lambda x, dim=(), keepdim=False: _of_all(torch.amin, x, dim, keepdim),
    }


def _place(operator: Callable[..., Any], x: torch.Tensor, dim: Any, keepdim: bool) -> Any:
    if dim is not None:
        return NotImplemented
    return operator(x.reshape(-1), 0).reshape([1] * x.dim() if keepdim else [])


def _extreme(operator: Callable[..., Any], x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = operator(x, list(range(x.dim())))
    return result


def _of_all(operator: Callable[..., Any], x: torch.Tensor, dim: Any, keepdim: bool) -> Any:
    if dim or not x.dim():
        return NotImplemented
    if not x.numel():
        raise Leave("there is nothing to compare")
    return operator(x, list(range(x.dim())), keepdim)
