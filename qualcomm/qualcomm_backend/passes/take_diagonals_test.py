import pytest
import torch

from qualcomm_backend.passes.harness import check
from qualcomm_backend.passes.take_diagonals import TakeDiagonals


@pytest.mark.parametrize("dims", [(0, 1), (0, 2), (2, 0), (-1, 1), (1, -3)])
def test_equals_eager(dims):
    x = torch.arange(60).reshape(3, 4, 5)
    function = lambda x: tuple(torch.diagonal(x, offset, *dims) for offset in range(-5, 6))
    found = check(TakeDiagonals, function, x)
    assert "aten.diagonal.default" not in found.operators


def test_traces_and_diagonals_of_matrices():
    x = torch.arange(12.0).reshape(3, 4)
    found = check(
        TakeDiagonals, lambda x: (x.trace(), torch.diag(x, 1), x.to(torch.int32).trace()), x
    )
    assert found.count == 3


def test_a_matrix_of_a_diagonal_stays():
    assert not check(TakeDiagonals, torch.diag, torch.rand(3)).count
