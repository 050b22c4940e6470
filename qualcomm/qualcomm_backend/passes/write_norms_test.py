import pytest
import torch
import torch.nn.functional as F

from qualcomm_backend.passes.harness import INF, NAN, check
from qualcomm_backend.passes.write_norms import WriteNorms

X = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
STRANGE = torch.tensor([[0.0, -0.0, 3.0], [NAN, 1.0, 0.0], [INF, 1.0, -2.0], [-INF, INF, 0.0]])
ORDERS = [0, 1, 2, 3, 0.5, -1, -2, INF, -INF]


DIMS = [None, 1, -1, (0, 2), (0, 1, 2)]


@pytest.mark.parametrize("order", ORDERS)
def test_a_norm_equals_eager(order):
    function = lambda x: tuple(
        torch.linalg.vector_norm(x, order, dim, keep) for dim in DIMS for keep in (False, True)
    )
    assert check(WriteNorms, function, X, exact=False).count == 10


@pytest.mark.parametrize("order", ORDERS)
def test_special_values(order):
    check(WriteNorms, lambda x: torch.linalg.vector_norm(x, order, 1), STRANGE, exact=False)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_added_up_in_32_bits(dtype):
    x = (X * 100).to(dtype)
    check(WriteNorms, lambda x: torch.linalg.vector_norm(x, 2, 1), x, exact=False, tolerance=1e-2)
    function = lambda x: torch.linalg.vector_norm(x, 2, dtype=torch.float32)
    check(WriteNorms, function, x, exact=False)


def test_a_scalar_has_a_norm():
    check(WriteNorms, lambda x: torch.linalg.vector_norm(x, 2), torch.tensor(-3.0))


def test_without_elements_it_stays():
    found = check(WriteNorms, lambda x: torch.linalg.vector_norm(x, 2, 1), torch.ones(3, 0))
    assert not found.count
    assert "nothing" in found.reasons


@pytest.mark.parametrize("order", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF])
def test_distances_equal_eager(order):
    x, y = X, torch.randn(3, 6, 5)
    found = check(
        WriteNorms, lambda x, y: torch.cdist(x, y, p=order), x, y, exact=False, tolerance=1e-4
    )
    assert "aten.cdist.default" not in found.operators
    found = check(WriteNorms, lambda x: F.pdist(x, order), X[0], exact=False, tolerance=1e-4)
    assert "aten.pdist.default" not in found.operators


def test_distances_of_batches_that_broadcast():
    check(WriteNorms, lambda x, y: torch.cdist(x, y, p=1.0), X, torch.rand(1, 2, 5), exact=False)


def test_distances_of_equal_points_are_0():
    check(WriteNorms, lambda x: torch.cdist(x, x, p=2.0), X, exact=False, tolerance=1e-3)


def test_very_many_points_stay():
    found = check(WriteNorms, lambda x: F.pdist(x, 1.0), torch.rand(80, 2))
    assert "80 points" in found.reasons
