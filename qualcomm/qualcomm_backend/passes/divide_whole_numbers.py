"""Divide integers as integers: quotients and remainders by the floor of a division."""

from typing import Any, ClassVar

import torch
from backend_common.missing_kernels import of_result_dtype

from qualcomm_backend.passes.cut_at_zero import cut
from qualcomm_backend.passes.form import Forms, Leave, WriteWithOthers

aten = torch.ops.aten


class DivideWholeNumbers(WriteWithOthers):
    """
    Given:  y = aten.remainder(x, 3); z = aten.div(x, 3, rounding_mode="trunc")    of integers
    Result: q = aten.div(x, 3, rounding_mode="floor"); y = x - q * 3
            z = q, and one more where it lies below a negative quotient

    All in the dtype of the integers. Of floats: floor(x / y) is not PyTorch's floor division
    beside multiples of y, so that those stay; a quotient is cut by what it lies between.
    """

    forms: ClassVar[Forms] = {
        aten.floor_divide.default: lambda x, y: _floor_division(x, y),
        aten.floor_divide.Scalar: lambda x, y: _floor_division(x, y),
        aten.div.Tensor_mode: lambda x, y, *, rounding_mode=None: _division(x, y, rounding_mode),
        aten.div.Scalar_mode: lambda x, y, *, rounding_mode=None: _division(x, y, rounding_mode),
        **{
            getattr(aten.remainder, overload): lambda x, y: _remainder(x, y, "floor")
            for overload in ("Tensor", "Scalar", "Scalar_Tensor")
        },
        **{
            getattr(aten.fmod, overload): lambda x, y: _remainder(x, y, "trunc")
            for overload in ("Tensor", "Scalar")
        },
    }


def _are_whole(*operands: Any) -> bool:
    dtype = torch.result_type(*operands)
    return not dtype.is_floating_point and not dtype.is_complex


def _floor_division(x: Any, y: Any) -> Any:
    if not _are_whole(x, y):
        raise Leave("the floor of a quotient of floats is not its floor division")
    x, y = of_result_dtype(x, y)
    return torch.div(x, y, rounding_mode="floor")


def _division(x: Any, y: Any, mode: str | None) -> Any:
    if mode is None:
        return torch.div(x, y)
    if mode == "floor":
        same = _are_whole(x, y) and all(isinstance(each, torch.Tensor) for each in (x, y))
        return NotImplemented if same and x.dtype == y.dtype else _floor_division(x, y)
    if _are_whole(x, y):
        return _cut_quotient(*of_result_dtype(x, y))
    return cut(torch.div(x, y))


def _cut_quotient(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    floor = torch.div(x, y, rounding_mode="floor")
    if not x.dtype.is_signed:
        return floor
    below = torch.logical_and(floor * y != x, (x < 0) != (y < 0))
    return floor + below.to(floor.dtype)


def _remainder(x: Any, y: Any, mode: str) -> Any:
    if not _are_whole(x, y):
        raise Leave("a quotient that is rounded gives no exact remainder of floats")
    x, y = of_result_dtype(x, y)
    quotient = _cut_quotient(x, y) if mode == "trunc" else torch.div(x, y, rounding_mode="floor")
    return x - quotient * y
