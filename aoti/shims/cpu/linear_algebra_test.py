"""Solutions from factors against ATen's."""

import pytest
import torch
from shim_calls import ShimError, Shims, check, compare, values

SHIMS = Shims()
FIELDS = [torch.float32, torch.float64, torch.complex64, torch.complex128]
BATCHES = [((), ()), ((2,), (2,)), ((2, 1), (3,)), ((), (0,))]


def triangle(batch, dtype, n=5):
    return values([*batch, n, n], dtype) + 4 * torch.eye(n, dtype=dtype)


@pytest.mark.parametrize("dtype", FIELDS)
def test_triangular_solve(dtype):
    for left, right in BATCHES:
        a, b = triangle(left, dtype), values([*right, 5, 3], dtype, 1)
        for matrix in (a, a.mT.contiguous().mT):
            for upper in (True, False):
                for transposed in (True, False):
                    for unit in (True, False):
                        arguments = [b, matrix / 4, upper, transposed, unit]
                        check(SHIMS, "triangular_solve", torch.triangular_solve, arguments, 1e-3)


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("dtype", FIELDS)
def test_cholesky(dtype, upper):
    for left, right in BATCHES:
        a, b = triangle(left, dtype), values([*right, 5, 3], dtype, 1)
        check(SHIMS, "cholesky_solve", torch.cholesky_solve, [b, a, upper], 1e-3)
        # Of a Hermitian matrix: the factor's diagonal is real.
        factor = torch.linalg.cholesky(a @ a.mH + torch.eye(5), upper=upper)
        check(SHIMS, "cholesky_inverse", hermitian_inverse, [factor, upper], 1e-3)


def hermitian_inverse(factor, upper):
    return torch.cholesky_inverse(factor, upper=upper)


@pytest.mark.parametrize("dtype", FIELDS)
def test_lu_unpack(dtype):
    for shape in [(5, 5), (2, 4, 6), (6, 3)]:
        lu, pivots = torch.linalg.lu_factor(values(shape, dtype))
        for data, swaps in [(True, True), (True, False), (False, True)]:
            check(SHIMS, "lu_unpack", torch.lu_unpack, [lu, pivots, data, swaps])


def test_what_is_no_system_is_refused():
    with pytest.raises(ShimError, match="are no system"):
        SHIMS.call("aoti_torch_cpu_cholesky_solve", torch.ones(4, 2), torch.eye(3), False)


def test_pivots_of_a_smaller_batch():
    lu = values([4, 3, 3], torch.float32)
    pivots = torch.tensor([[2, 3, 3]], dtype=torch.int32)
    # Of ATen's, only the first matrix would be permuted.
    expected = torch.lu_unpack(lu, pivots.expand(4, 3), True, True)
    actual = SHIMS.call("aoti_torch_cpu_lu_unpack", lu, pivots, True, True)
    for ours, theirs in zip(actual, expected, strict=True):
        compare(ours, theirs)
    with pytest.raises(ShimError, match="pivot 4 of 3 rows"):
        SHIMS.call("aoti_torch_cpu_lu_unpack", lu, pivots + 1, True, True)
