"""Compare integers with fractions as integers."""

import math
import struct
from collections.abc import Callable
from typing import Any, ClassVar

import torch

from qualcomm_backend.passes.form import Forms, WriteWithOthers

aten = torch.ops.aten

# For a bound between two integers: the comparison with one of them, and which.
_BETWEEN: dict[str, tuple[str, Callable[[float], int]]] = {
    "lt": ("le", math.floor),
    "le": ("le", math.floor),
    "gt": ("ge", math.ceil),
    "ge": ("ge", math.ceil),
}


class CompareWholeNumbers(WriteWithOthers):
    """
    Given:  y = aten.lt(x, 2.5)    of integers
    Result: y = aten.le(x, 2)

    Why: a number is lifted in the dtype of what it is compared with, which drops its fraction.
    PyTorch compares in floating point; up to where floats count in ones that is the same, and
    beyond, and for truth values, the cast is written.
    """

    forms: ClassVar[Forms] = {
        getattr(getattr(aten, name), overload): (
            lambda x, number, name=name: _compared(name, x, number)
        )
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
        for overload in ("Scalar", "Tensor")
    }


def _compared(name: str, x: Any, number: Any) -> Any:
    if type(number) is not float or x.dtype.is_floating_point or x.dtype.is_complex:
        return NotImplemented
    common = torch.result_type(x, number)
    compare = getattr(torch, name)
    number = _rounded(number, common)
    if x.dtype is torch.bool or not abs(number) < 2 / torch.finfo(common).eps:
        return compare(x.to(common), number)
    if number != int(number):
        if name in ("eq", "ne"):
            return torch.full_like(x, name == "ne", dtype=torch.bool)
        name, to_whole = _BETWEEN[name]
        number = to_whole(number)
    return _of_integers(name, x, int(number))


def _of_integers(name: str, x: torch.Tensor, number: int) -> torch.Tensor:
    limits = torch.iinfo(x.dtype)
    if number > limits.max:
        return torch.full_like(x, name in ("lt", "le", "ne"), dtype=torch.bool)
    if number < limits.min:
        return torch.full_like(x, name in ("gt", "ge", "ne"), dtype=torch.bool)
    result: torch.Tensor = getattr(torch, name)(x, number)
    return result


def _rounded(number: float, dtype: torch.dtype) -> float:
    if dtype is torch.float64 or not math.isfinite(number):
        return number
    if abs(number) > torch.finfo(dtype).max:
        return math.copysign(math.inf, number)
    return float(struct.unpack("f", struct.pack("f", number))[0])
