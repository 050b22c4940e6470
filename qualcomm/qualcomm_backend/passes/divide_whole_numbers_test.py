import pytest
import torch

from qualcomm_backend.passes.divide_whole_numbers import DivideWholeNumbers
from qualcomm_backend.passes.harness import EDGES, check

DTYPES = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
DIVISORS = [1, 2, 3, 7, -2, -3]


def numbers(dtype):
    limits = torch.iinfo(dtype)
    return torch.tensor([0, 1, 2, 5, 6, 7, limits.max, limits.max - 1, limits.min], dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_equals_eager_in_value_and_dtype(dtype):
    divisors = [each for each in DIVISORS if each > 0 or dtype.is_signed]

    def function(x):
        return tuple(
            result
            for y in divisors
            for result in (
                x // y,
                x % y,
                torch.fmod(x, y),
                torch.div(x, y, rounding_mode="floor"),
                torch.div(x, y, rounding_mode="trunc"),
            )
        )

    x = numbers(dtype)
    found = check(DivideWholeNumbers, function, x, also=[(x.flip(0),)])
    assert found.count == 5 * len(divisors)
    assert set(found.operators) <= {
        *("aten.div.Tensor_mode", "aten.mul.Tensor", "aten.sub.Tensor", "aten.add.Tensor"),
        *("aten.lt.Scalar", "aten.ne.Tensor", "aten.logical_and.default", "aten._to_copy.default"),
        "aten.full.default",
    }


def test_tensors_of_two_dtypes():
    x, y = torch.arange(-9, 9), torch.tensor([3, -2] * 9, dtype=torch.int32)
    function = lambda x, y: (x // y, x % y, torch.fmod(y, 2 + x.abs()), 7 % y)
    check(DivideWholeNumbers, function, x, y)


def test_floats_are_cut():
    function = lambda x: torch.div(x, 2.0, rounding_mode="trunc")
    found = check(DivideWholeNumbers, function, EDGES)
    assert "aten.div.Tensor_mode" not in found.operators


@pytest.mark.parametrize("function", [lambda x: x // 0.1, lambda x: x % 0.1, lambda x: x.fmod(0.1)])
def test_floats_stay_where_a_rounded_quotient_is_not_exact(function):
    found = check(DivideWholeNumbers, function, EDGES)
    assert not found.count
    assert "floats" in found.reasons


def test_what_is_a_floor_division_stays():
    function = lambda x, y: torch.div(x, y, rounding_mode="floor")
    assert not check(DivideWholeNumbers, function, torch.arange(4), torch.arange(1, 5)).count
