import operator

import pytest
import torch

from qualcomm_backend.passes.compare_whole_numbers import CompareWholeNumbers
from qualcomm_backend.passes.harness import INF, NAN, check

COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BOUNDS = [2.5, -0.5, 2.0, -0.0, 0.1, 300.5, -300.5, 2.0**24, 3e9, 1e30, INF, -INF, NAN]
EXTREMES = [0, 1, 2, 3, -1, 2**24 + 1, 2**31 - 1, -(2**31)]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool])
def test_equals_eager(dtype):
    x = torch.tensor([*EXTREMES, 2**62]).to(dtype)
    function = lambda x: tuple(compare(x, bound) for compare in COMPARISONS for bound in BOUNDS)
    check(CompareWholeNumbers, function, x)


def test_a_fraction_is_kept_without_floats():
    found = check(CompareWholeNumbers, lambda x: (x < 2.5, x > -0.5), torch.arange(-3, 4))
    assert found.operators == ["aten.le.Scalar", "aten.ge.Scalar"]


def test_no_integer_equals_a_fraction():
    found = check(CompareWholeNumbers, lambda x: x == 2.5, torch.arange(5))
    assert found.operators == ["aten.full_like.default"]


def test_floats_and_whole_numbers_stay():
    function = lambda x, n: (x < 2.5, n == 2)
    assert not check(CompareWholeNumbers, function, torch.rand(3), torch.arange(3)).count
