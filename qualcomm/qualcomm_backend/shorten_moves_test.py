import pytest
import torch

from qualcomm_backend.conftest import Call, assert_equals_eager, delegated, lower


def test_a_product_written_by_einsum():
    module = Call(lambda m, x, y: torch.einsum("ij,jk->ik", x, y))
    x, y = torch.randn(3, 4), torch.randn(4, 5)
    lowered = lower(module, x, y)
    assert delegated(lowered)
    assert_equals_eager(lowered, module, (x, y))


def turned_twice(x):
    return x.unsqueeze(2).permute(0, 2, 1).permute(0, 2, 1).reshape(1, 3, 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x, y: torch.bmm(turned_twice(x), y.reshape(1, 4, 5)).reshape(3, 1, 5),
        lambda m, x, y: (x.t().unsqueeze(0).permute(2, 1, 0).squeeze(2) @ y).reshape(5, 3),
        lambda m, x, y: x.unsqueeze(0).permute(1, 2, 0).permute(2, 1, 0).relu(),
        lambda m, x, y: (x.reshape(2, 6).reshape(4, 3).permute(1, 0) @ y).unsqueeze(1),
    ],
)
def test_chains_of_moves_around_arithmetic(function):
    module = Call(function)
    x, y = torch.randn(3, 4), torch.randn(4, 5)
    lowered = lower(module, x, y)
    assert delegated(lowered)
    assert_equals_eager(lowered, module, (x, y))
