import pytest
import torch

from qualcomm_backend.passes.add_products import AddProducts
from qualcomm_backend.passes.harness import INF, NAN, check

A, B, C = torch.rand(4, 5), torch.rand(5, 3), torch.rand(4, 3)
SPOILT = torch.tensor([NAN, INF, 1.0])


@pytest.mark.parametrize(("beta", "alpha"), [(0, 1), (1, 1), (0.5, 2.5), (1, 0), (0, 0)])
def test_equals_eager(beta, alpha):
    function = lambda c, a, b: (
        torch.addmm(c, a, b, beta=beta, alpha=alpha),
        torch.addmm(c[0], a, b, beta=beta, alpha=alpha),
        torch.baddbmm(c[None], a[None], b[None], beta=beta, alpha=alpha),
        torch.addmv(c[:, 0], a, b[:, 0], beta=beta, alpha=alpha),
        torch.addbmm(c, a[None], b[None], beta=beta, alpha=alpha),
    )
    assert check(AddProducts, function, C, A, B, exact=False).count == 5


def test_a_factor_of_0_hides_nan():
    function = lambda c, a, b: torch.addmm(c, a, b, beta=0)
    check(AddProducts, function, SPOILT, A, B, exact=False)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves(dtype):
    c, a, b = (each.to(dtype) for each in (C, A * 300, B * 300))
    function = lambda c, a, b: torch.addmm(c, a, b, beta=2, alpha=0.01)
    check(AddProducts, function, c, a, b, exact=False, tolerance=2e-2)


def test_integers_and_no_columns():
    n, m = torch.arange(6).reshape(2, 3), torch.arange(6).reshape(3, 2)
    check(AddProducts, lambda n, m: torch.addmm(n[:, :2], n, m, beta=3, alpha=2), n, m)
    check(AddProducts, lambda c: torch.addmm(c, c[:, :0], c[:0], beta=2), torch.rand(3, 3))
