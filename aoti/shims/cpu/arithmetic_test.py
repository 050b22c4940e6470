"""Element-wise operators against ATen's."""

import pytest
import torch
from shim_calls import (
    COMPLEX,
    EVERYTHING,
    FLOATS,
    INTEGERS,
    ShimError,
    Shims,
    check,
    compare,
    layouts,
    values,
)

SHIMS = Shims()
SHAPES = [((), ()), ((7,), (7,)), ((4, 6), (6,)), ((2, 1, 3), (4, 1)), ((0, 3), (1, 3)), ((3,), ())]


def pairs(left, right):
    for shape, other in SHAPES:
        # Where both broadcast and neither is dense, eager and meta kernels differ in their layouts.
        both = torch.broadcast_shapes(shape, other) not in (shape, other)
        for x in layouts(shape, left)[: 1 if both else None]:
            yield x, values(other, right, 1)


@pytest.mark.parametrize("right", [torch.float32, torch.int64, torch.complex64, torch.bool])
@pytest.mark.parametrize("left", EVERYTHING)
def test_sums_and_products_promote(left, right):
    def add(x, y, alpha):
        return torch.add(x, y, alpha=alpha)

    if torch.float16 in (left, right) and torch.complex64 in (left, right):
        return  # complex32: refused
    for x, y in pairs(left, right):
        whole = torch.result_type(x, y) in [*INTEGERS, torch.bool]
        check(SHIMS, "add_Tensor", add, [x, y, 1 if whole else 0.5])
        check(SHIMS, "mul_Tensor", torch.mul, [x, y])


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
def test_numbers(dtype):
    def add(x, y, alpha):
        return torch.ops.aten.add.Scalar(x, y, alpha)

    tolerance = {torch.float16: 5e-3, torch.bfloat16: 3e-2}.get(dtype, 1e-5)
    for x in layouts((4, 6), dtype):
        check(SHIMS, "add_Scalar", add, [x, 1.5, 2.0], tolerance)
        check(SHIMS, "mul_Scalar", torch.ops.aten.mul.Scalar, [x, 1.5], tolerance)
        check(SHIMS, "pow_Tensor_Scalar", torch.ops.aten.pow.Tensor_Scalar, [x, 3.0], tolerance)
        check(SHIMS, "pow_Scalar", torch.ops.aten.pow.Scalar, [2.5, x], tolerance)
    y = torch.full([2, 3], 7.0).to(dtype)
    SHIMS.call("aoti_torch_cpu_fill__Scalar", y[:, 1:], 2.5)
    compare(y, torch.tensor([[7.0, 2.5, 2.5]] * 2).to(dtype))


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS + COMPLEX)
def test_powers(dtype):
    tolerance = {torch.float16: 5e-3, torch.bfloat16: 3e-2}.get(dtype, 1e-5)
    for shape, other in SHAPES:
        x, y = values(shape, dtype), values(other, dtype, 1)
        if dtype in INTEGERS:
            y = y.abs() if dtype.is_signed else y
        elif not dtype.is_complex:
            x = x.abs()
        check(SHIMS, "pow_Tensor_Tensor", torch.pow, [x, y], tolerance)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS + COMPLEX)
def test_magnitudes_and_angles(dtype):
    for shape in [(), (7,), (4, 6), (0, 3)]:
        for x in layouts(shape, dtype):
            check(SHIMS, "abs", torch.abs, [x])
            check(SHIMS, "angle", torch.angle, [x])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_polar(dtype):
    for x, y in pairs(dtype, dtype):
        check(SHIMS, "polar", torch.polar, [x, y])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_gcd(dtype):
    for x, y in pairs(dtype, dtype):
        check(SHIMS, "gcd", torch.gcd, [x * 6, y * 4])


def test_subtraction_of_complex_numbers():
    for x, y in pairs(torch.complex64, torch.complex64):
        (result,) = SHIMS.call("aoti_torch_aten_subtract_Tensor", x, y, 2.0)
        compare(result, torch.sub(x, y, alpha=2))


def test_an_integer_and_a_number_of_unknown_kind_are_refused():
    with pytest.raises(ShimError, match="whether it was an integer is not known"):
        SHIMS.call("aoti_torch_cpu_mul_Scalar", torch.arange(3), 2.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_numbers_that_16_bits_do_not_hold(dtype):
    x = values([100], dtype) / 1000
    for number in (1e5, 0.3337, -2.7183):
        check(SHIMS, "mul_Scalar", torch.ops.aten.mul.Scalar, [x, number])
        check(SHIMS, "mul_Tensor", torch.mul, [x, torch.tensor(number)])
        if abs(number) < 10:
            check(SHIMS, "mul_Tensor", torch.mul, [torch.tensor(number), x])
            add = [values([64], dtype), 0.7, number]
            check(SHIMS, "add_Scalar", torch.ops.aten.add.Scalar, add, 0)


def test_fill_refuses_elements_that_stand_at_several_places():
    with pytest.raises(ShimError, match="written more than once"):
        SHIMS.call("aoti_torch_cpu_fill__Scalar", torch.zeros(1).expand(3), 1.0)
