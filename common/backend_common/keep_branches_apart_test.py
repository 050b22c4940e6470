"""Several calls of control flow in a program each keep their results."""

import pytest
import torch
from functorch.experimental.control_flow import map as map_rows

from backend_common import load, lower


def chosen(x, limit):
    return torch.cond(x.sum() > limit, lambda x: x + 1, lambda x: -x, (x,))


def two(x):
    return chosen(x, 0), torch.cond(x.max() > 9, lambda x: x.sin(), lambda x: x.cos(), (x,))


def one_after_the_other(x):
    y = chosen(x, 0)
    z = chosen(y, 1)
    return y, z, y + z


def within_a_branch(x):
    def several(x):
        y, z = chosen(x, -1), chosen(x * 2, 3)
        return y - z, y

    y, z = torch.cond(x.sum() > -9, several, lambda x: (x * 3, x * 1), (x,))
    return y, z, chosen(x, 2)


def several_results(x):
    y, z = torch.cond(x.sum() > 0, lambda x: (x + 1, x * 2), lambda x: (-x, x / 2), (x,))
    w = torch.cond(x.sum() > 1, lambda x: x.exp(), lambda x: x.abs(), (x,))
    return y, z, w


def beside_a_map(x):
    rows = map_rows(lambda row: row.cumsum(0), x)
    return rows, chosen(x, 0), map_rows(lambda row: row.flip(0), x)


def beside_a_scan(x):
    state, rows = torch._higher_order_ops.scan(lambda c, r: (c + r, c * r), x[0] * 1, x)
    return chosen(x, 0), state, rows, chosen(x, 1)


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize(
    "function",
    [two, one_after_the_other, within_a_branch, several_results, beside_a_map, beside_a_scan],
)
def test_each_result_equals_eager(function):
    torch.manual_seed(0)
    x = torch.randn(5, 4)
    program = load(lower(Program(function), (x,), backend="portable").buffer)
    for call in (x, -x, x.abs(), -x.abs(), x * 9):
        for actual, expected in zip(program.forward(call), function(call), strict=True):
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)
