"""Ask whether any or all are true by an extreme."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch

from qualcomm_backend.passes.form import Forms, Leave, WriteWithOthers

aten = torch.ops.aten


class CountTruths(WriteWithOthers):
    """
    Given:  y = aten.any(x, 1)
    Result: y = aten.ne(aten.amax(aten._to_copy(aten.ne(x, 0), dtype=torch.int32), [1]), 0)

    NaN is true; of uint8 the answer is uint8.
    """

    forms: ClassVar[Forms] = {
        operator: (
            lambda x, dim=None, keepdim=False, extreme=extreme: _answer(extreme, x, dim, keepdim)
        )
        for packet, extreme in ((aten.any, torch.amax), (aten.all, torch.amin))
        for operator in (packet.default, packet.dim, packet.dims)
    }


def _answer(extreme: Callable[..., Any], x: torch.Tensor, dim: Any, keepdim: bool) -> Any:
    dims = [dim] if isinstance(dim, int) else list(range(x.dim())) if dim is None else list(dim)
    if not x.dim():
        dims = []
    elif not dims or not all(x.shape[each] for each in dims):
        raise Leave("there is nothing to ask")
    truths = (x if x.dtype is torch.bool else x != 0).to(torch.int32)
    answer = extreme(truths, dims, keepdim) if dims else truths
    return answer.to(x.dtype) if x.dtype is torch.uint8 else answer != 0
