import pytest
import torch

from qualcomm_backend.passes.harness import EDGES, check
from qualcomm_backend.passes.write_variance import WriteVariance

X = torch.randn(5, 6, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("dim", [None, [], 1, [0, -1]])
@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_equals_eager(name, dim):
    function = lambda x: tuple(
        getattr(torch, name)(x, dim, correction=correction, keepdim=keepdim)
        for correction in (0, 1, 2, 0.5, 6, 8)
        for keepdim in (False, True)
    )
    assert check(WriteVariance, function, X, exact=False).count == 12


def test_older_spellings():
    function = lambda x: (x.var(), x.std(False), x.var(1, False, True), torch.var_mean(x), x.std(0))
    assert check(WriteVariance, function, X, exact=False).count == 5


def test_more_is_corrected_than_there_is():
    equal = torch.ones(3, 6)
    function = lambda x: (x.var(1, correction=8), x.std(1, correction=6))
    check(WriteVariance, function, X, also=[(X * 0 + 1,)], exact=False)
    check(WriteVariance, function, equal)


def test_special_values_and_halves():
    check(WriteVariance, lambda x: x.reshape(3, 4).var(1), EDGES / 1e15, exact=False)
    for dtype in (torch.float16, torch.bfloat16):
        x = (X * 200).to(dtype)
        check(WriteVariance, lambda x: x.var(1), x, exact=False, tolerance=1e-2)


def test_of_nothing_it_stays():
    found = check(WriteVariance, lambda x: x.var(1), torch.ones(3, 0))
    assert "nothing" in found.reasons
