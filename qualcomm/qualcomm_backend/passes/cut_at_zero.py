"""Drop fractions by what a number lies between."""

from typing import ClassVar

import torch

from qualcomm_backend.passes.form import Forms, WriteWithOthers

aten = torch.ops.aten


class CutAtZero(WriteWithOthers):
    """
    Given:  y = aten.trunc(x)
    Result: y = aten.where(aten.lt(x, 0), aten.ceil(x), aten.floor(x))

    Integers are whole already, whichever way they are rounded. Signs of zeros and NaN are those
    of trunc.
    """

    forms: ClassVar[Forms] = {
        aten.trunc.default: lambda x: cut(x),
        **{
            getattr(aten, name).default: (
                lambda x: NotImplemented if x.dtype.is_floating_point else x
            )
            for name in ("floor", "ceil", "round")
        },
    }


def cut(x: torch.Tensor) -> torch.Tensor:
    if not x.dtype.is_floating_point:
        return x
    return torch.where(x < 0, torch.ceil(x), torch.floor(x))
