"""Fill by tensors made of one number, in the dtype that is filled."""

from typing import Any, ClassVar

import torch

from qualcomm_backend.passes.form import Forms, WriteWithOthers

aten = torch.ops.aten


class FillWithNumbers(WriteWithOthers):
    """
    Given:  y = aten.fill(x, 2.5)    of an x: float16[4]
    Result: y = aten.full([4], 2.5, dtype=torch.float16)
    """

    forms: ClassVar[Forms] = {
        aten.fill.Scalar: lambda x, number: torch.full(x.shape, number, dtype=x.dtype),
        aten.fill.Tensor: lambda x, value: _filled(x, value),
    }


def _filled(x: torch.Tensor, value: Any) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        return torch.full(x.shape, value, dtype=x.dtype)
    return value.to(x.dtype).expand(x.shape).clone()
