"""Control flow equals eager whatever its operands share, or is refused with a row."""

import pytest
import torch
from functorch.experimental.control_flow import map as map_over
from torch._higher_order_ops.scan import scan
from torch.export import Dim

from backend_common import LoweringError, load, lower


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def assigned(x):
    y = x.clone()
    y[:, 0] = 1.0
    y[0] = 3
    return y


BRANCHES = {
    "transposed": (lambda x: x.T @ x, lambda x: x.mT @ x * 2),
    "transposed_twice": (lambda x: (x.mT * 2).contiguous(), lambda x: (x.T + x.mT).contiguous()),
    "assigned": (assigned, lambda x: x * 2),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_equals_eager(name):
    yes, no = BRANCHES[name]
    module = Call(lambda x: torch.cond(x.sum() > 0, yes, no, (x,)))
    x = torch.randn(3, 4).abs()
    program = load(lower(module, (x,), backend="portable").buffer)
    for given, branch in ((x, yes), (-x, no)):
        torch.testing.assert_close(program.forward(given)[0], branch(given))


def test_a_constant_of_several_numbers_in_a_branch_is_refused_by_name():
    def yes(x):
        return x + torch.tensor([1.0, 2.0, 3.0, 4.0])

    module = Call(lambda x: torch.cond(x.sum() > 0, yes, lambda x: x * 2, (x,)))
    with pytest.raises(LoweringError, match="constant of several numbers"):
        lower(module, (torch.randn(3, 4),), backend="portable")


STACKS = {
    "map": lambda x: map_over(lambda a: a.relu(), x),
    "scan": lambda x: scan(lambda c, a: (c * 2, a + c.sum()), x[0, :1] * 1, x, dim=0)[1],
}


@pytest.mark.parametrize("name", STACKS)
def test_steps_whose_results_have_a_dynamic_size_are_refused(name):
    module, x = Call(STACKS[name]), torch.randn(4, 3)
    shapes = (({1: Dim("size", min=2, max=8)},),)
    with pytest.raises(LoweringError, match="each step's result has a dynamic size"):
        lower(module, (x,), dynamic_shapes=shapes, backend="portable")
