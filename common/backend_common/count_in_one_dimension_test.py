"""Places of what is not zero, in any number of dimensions, none among them included."""

import pytest
import torch
from torch.utils import _pytree as pytree

from backend_common import load, lower

X = torch.tensor([[1.0, -1.0, 0.0], [2.0, 0.0, 3.0]])


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize(
    "function",
    [
        torch.nonzero,
        torch.argwhere,
        lambda x: torch.nonzero(x > 0, as_tuple=True),
        lambda x: torch.where(x > 0),
        lambda x: torch.nonzero(x.reshape(1, 2, 3)),
        lambda x: torch.nonzero(x[0]),
        lambda x: x[x > 0],
    ],
)
def test_equals_eager_whatever_is_there(function):
    program = load(lower(Call(function), (X,), backend="portable").buffer)
    for x in (X, -X, X * 0, torch.ones(2, 3)):
        expected = pytree.tree_leaves(function(x))
        for one, other in zip(program.forward(x), expected, strict=True):
            assert torch.equal(one, other)


def test_of_a_size_that_changes():
    columns = torch.export.Dim("columns", min=1, max=8)
    lowered = lower(Call(torch.nonzero), (X,), backend="portable", dynamic_shapes=({1: columns},))
    program = load(lowered.buffer)
    for x in (X, torch.ones(2, 8), torch.zeros(2, 1)):
        assert torch.equal(program.forward(x)[0], torch.nonzero(x))
