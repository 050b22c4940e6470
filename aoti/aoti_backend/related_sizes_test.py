"""Sizes of several inputs that belong together: refused where they do not, equal to eager else."""

import re

import pytest
import torch
from backend_common import ExecutionError, load, lower
from torch.export import Dim

N, M = Dim("n", min=1, max=16), Dim("m", min=1, max=16)


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def twice_as_many(x, y):
    return y.view(-1, 2, 4)[:, 0] * x, torch.cat([x, y])


def as_many(x, y):
    return torch.cat([x, y]).sin() * 2, x + y


def one_less(x, y):
    return torch.cat([x[1:], y]).sin()


def a_sum(x, y, z):
    return torch.cat([x, y]) * z


def in_parts(x, y):
    return torch.cumsum(x.sin(), 0).cos().sum(0), torch.cat([x, torch.cumsum(y, 0)]).tanh()


def rows(*numbers):
    return tuple(torch.randn(number, 4) for number in numbers)


@pytest.mark.parametrize(
    ("function", "sizes", "right", "wrong"),
    [
        (twice_as_many, (N, 2 * N), [(1, 2), (16, 32), (3, 6)], [(4, 9), (2, 32), (16, 30)]),
        (as_many, (N, N), [(1, 1), (16, 16)], [(4, 5), (1, 16), (16, 1)]),
        (one_less, (N + 1, N), [(2, 1), (17, 16)], [(2, 2), (17, 3)]),
        (in_parts, (N, N), [(1, 1), (5, 5)], [(5, 4), (1, 16)]),
    ],
)
def test_sizes_that_do_not_belong_together_are_refused(function, sizes, right, wrong):
    shapes = (tuple({0: size} for size in sizes),)
    example = rows(*((7, 6) if function is one_less else (4, 8 if sizes[1] is not N else 4)))
    program = load(
        lower(
            *(Program(function), example),
            backend="aoti-cpu",
            dynamic_shapes=shapes,
            keep=("aten.cumsum.default",) if function is in_parts else (),
        ).buffer
    )
    for numbers in right:
        inputs = rows(*numbers)
        expected = torch.utils._pytree.tree_leaves(function(*inputs))
        for is_, wanted in zip(program.forward(*inputs), expected, strict=True):
            torch.testing.assert_close(is_, wanted, rtol=1e-5, atol=1e-5)
    for numbers in wrong:
        with pytest.raises(ExecutionError, match=r"is \d+, where .* sizes make it -?\d+") as found:
            program.forward(*rows(*numbers))
        said = re.search(r"is (\d+), where", str(found.value))
        assert said and int(said[1]) in numbers
    program.forward(*rows(*right[0]))  # a refusal leaves it as it was
