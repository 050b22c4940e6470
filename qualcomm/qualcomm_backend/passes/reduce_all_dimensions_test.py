import pytest
import torch

from qualcomm_backend.passes.harness import EDGES, check
from qualcomm_backend.passes.reduce_all_dimensions import ReduceAllDimensions

X = torch.randn(3, 4)
TIES = torch.tensor([[1.0, 3.0], [3.0, 0.0]])


@pytest.mark.parametrize("operator", [torch.argmax, torch.argmin])
@pytest.mark.parametrize("x", [X, TIES, EDGES, torch.tensor(1.0), torch.arange(6).reshape(2, 3)])
def test_the_rank_is_kept_where_it_is_to_be_kept(operator, x):
    function = lambda x: (
        operator(x),
        operator(x, None, True),
        operator(x, 0, True),
        operator(x, -1),
    )
    assert check(ReduceAllDimensions, function, x).count == 2


@pytest.mark.parametrize("x", [X, EDGES, torch.tensor(2.0), torch.arange(6), X.to(torch.float16)])
def test_extremes_of_all(x):
    found = check(ReduceAllDimensions, lambda x: (x.max(), x.min(), x.amax(), x.amin()), x)
    assert not {"aten.max.default", "aten.min.default"} & set(found.operators)


def test_reductions_of_dimensions_stay():
    function = lambda x: (x.amax(1, True), x.argmax(1, True))
    assert not check(ReduceAllDimensions, function, X).count
