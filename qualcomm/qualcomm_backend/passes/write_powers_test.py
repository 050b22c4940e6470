import pytest
import torch

from qualcomm_backend.passes.harness import EDGES, check
from qualcomm_backend.passes.write_powers import WritePowers


def test_equals_eager_on_special_values():
    function = lambda x: (x**2, x**3, x**0.5, x**-0.5, x**-1, x**1, x.square())
    found = check(WritePowers, function, EDGES)
    assert found.count == 7
    assert "aten.pow.Tensor_Scalar" not in found.operators


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves(dtype):
    check(WritePowers, lambda x: (x**2, x**3, x**0.5, x.square()), EDGES.to(dtype))


def test_integers_wrap():
    x = torch.tensor([-(2**31), 2**31 - 1, 3, 0], dtype=torch.int32)
    check(WritePowers, lambda x: (x**2, x**3, x.square()), x)


def test_other_powers_stay():
    assert not check(WritePowers, lambda x: (x**4, x**1.5, 2**x, x**0), EDGES).count
