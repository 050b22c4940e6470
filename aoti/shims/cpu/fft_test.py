"""Fourier transforms against ATen's."""

import pytest
import torch
from shim_calls import COMPLEX, ShimError, Shims, check, layouts, values

SHIMS = Shims()
aten = torch.ops.aten
CASES = [((8,), [0]), ((1,), [0]), ((15,), [0]), ((4, 6), [1]), ((4, 6), [0]), ((4, 6), [0, 1])]
CASES += [((3, 5, 8), [1, 2]), ((3, 5, 8), [2, 0]), ((2, 3, 4, 7), [1, 3]), ((97,), [0])]


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex(dtype):
    for shape, dims in CASES:
        for x in layouts(shape, dtype):
            for normalization in (0, 1, 2):
                for forward in (True, False):
                    arguments = [x, dims, normalization, forward]
                    check(SHIMS, "_fft_c2c", aten._fft_c2c, arguments, 1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_real(dtype):
    for shape, dims in CASES:
        for x in layouts(shape, dtype):
            for onesided in (True, False):
                check(SHIMS, "_fft_r2c", aten._fft_r2c, [x, dims, 0, onesided], 1e-4)


@pytest.mark.parametrize("length", [1, 2, 7, 8])
def test_what_is_real_has_the_angle_that_eager_gives(length):
    x = -values([3, length], torch.float32).abs()
    (result,) = SHIMS.call("aoti_torch_cpu__fft_r2c", x, [1], 0, True)
    ends = [0, length // 2] if length % 2 == 0 else [0]
    expected = aten._fft_r2c(x, [1], 0, True).angle()[:, ends]
    torch.testing.assert_close(result.angle()[:, ends], expected)


def test_a_long_prime_is_as_precise():
    check(SHIMS, "_fft_c2c", aten._fft_c2c, [values([1009], torch.complex128), [0], 0, True], 1e-9)


def test_integers_are_refused():
    with pytest.raises(ShimError, match="no kernel for int64"):
        SHIMS.call("aoti_torch_cpu__fft_r2c", torch.arange(4), [0], 0, True)


def test_a_dimension_that_is_named_twice():
    x = torch.ones(3, 4, dtype=torch.complex64)
    with pytest.raises(ShimError, match=r"dimension 1 occurs twice in \[1, -1\]"):
        SHIMS.call("aoti_torch_cpu__fft_c2c", x, [1, -1], 0, True)
