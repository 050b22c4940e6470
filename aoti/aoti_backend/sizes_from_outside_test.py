"""Parts of programs with dynamic sizes, cut where one operator is kept: equal to eager."""

import pytest
import sympy
import torch
import torch.nn.functional as F
from backend_common import load, lower
from torch.export import Dim
from torch.utils._sympy.functions import Max, Mod

from aoti_backend.sizes_from_outside import _holds_from_two_on

ROWS, COLUMNS = Dim("rows", min=4, max=16), Dim("columns", min=2, max=16)
KEPT = "aten.cumsum.default"
H, W = sympy.symbols("h w", positive=True, integer=True)
M, N = Max(1, H - 2), Max(1, W - 2)


def sizes_of_the_whole_input(x):
    rows = x.shape[0]
    flat = torch.cumsum(x.relu().reshape(-1), 0)
    return (flat.sin() + rows).reshape(x.shape) * torch.arange(rows * 3).sum(), flat * (rows - 5)


def a_product_of_sizes_alone(x):
    return torch.cumsum(x.sin().reshape(-1), 0).cos() + 1


def halves_and_squares(x):
    rows = x.shape[0]
    half, square = torch.arange(rows // 2), torch.arange(rows * rows)
    return torch.cumsum(half, 0) * (rows // 2), torch.cumsum(square, 0).sin().reshape(rows, rows)


def sizes_that_are_operands(x):
    y = torch.cumsum(x.sin(), 0)
    resized = F.interpolate(y[None, None].cos(), size=(x.shape[0] * 2, x.shape[1] + 1))
    return resized, F.pad(y.exp(), (0, x.shape[0])), y.repeat(x.shape[0], 1).tanh()


def sizes_in_bodies(x):
    y, rows = torch.cumsum(x.sin(), 0), x.shape[0]
    return torch.cond(y.sum() > 0, lambda y: y.sin() * rows, lambda y: y.cos() + rows, (y,))


def fractions_of_sizes(x):
    rows = x.shape[0]
    return torch.cumsum(x.sin(), 0).cos() * (rows * 0.5) / (rows**0.5), x.clamp(max=rows / 9)


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def lowered(function, keep=(KEPT,)):
    example = torch.randn(6, 3)
    shapes = ({0: ROWS, 1: COLUMNS},)
    return lower(
        *(Program(function), (example,)),
        backend="aoti-cpu",
        dynamic_shapes=shapes,
        keep=keep,
    )


@pytest.mark.parametrize(
    "function",
    [
        sizes_of_the_whole_input,
        a_product_of_sizes_alone,
        halves_and_squares,
        sizes_that_are_operands,
        sizes_in_bodies,
    ],
)
def test_all_but_the_kept_operator_is_delegated(function):
    program = lowered(function)
    assert {row.operator for row in program.report if not row.delegated} == {KEPT}
    same_as_eager(program, function)


def test_fractions_stay_outside_where_a_delegate_would_take_or_give_them():
    program = lowered(fractions_of_sizes)
    assert "no integer" in " ".join(row.reason for row in program.report)
    assert {"aten.sin.default", "aten.clamp.default"} <= {
        row.operator for row in program.report if row.delegated
    }
    same_as_eager(program, fractions_of_sizes)


def pooled_to_a_fixed_size(x):
    return F.adaptive_avg_pool2d(x[None], 3), x.sin()


def test_code_for_the_examples_sizes_alone_is_not_taken():
    program = lowered(pooled_to_a_fixed_size, keep=())
    (left,) = (row for row in program.report if row.operator == "aten._adaptive_avg_pool2d.default")
    assert not left.delegated
    assert "its code would be for Eq(input 0's size" in left.reason
    assert any(row.delegated for row in program.report)
    same_as_eager(program, pooled_to_a_fixed_size)


class Images(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(2, 3, 3)
        self.back = torch.nn.ConvTranspose2d(3, 2, 3, padding=1)

    def forward(self, x):
        y = self.convolution(x)
        return y + 1, F.max_pool2d(x, 3, 2, 1), self.back(y) * 2, F.max_pool2d(y, 2, 2, 1)


def test_images_that_come_out_with_one_pixel_are_no_assumption():
    module, auto = Images().eval(), Dim.AUTO(min=3, max=40)
    shapes = ({2: auto, 3: auto},)
    program = lower(
        *(module, (torch.randn(2, 2, 9, 11),)), backend="aoti-cpu", dynamic_shapes=shapes
    )
    assert all(row.delegated for row in program.report)
    loaded = load(program.buffer)
    for sizes in ((9, 11), (3, 3), (3, 20), (21, 3), (4, 5)):
        x = torch.randn(2, 2, *sizes)
        for is_, wanted in zip(loaded.forward(x), module(x), strict=True):
            torch.testing.assert_close(is_, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("guard", "harmless"),
    [
        (sympy.Gt(M, 1), True),
        (sympy.Lt(M, M * N), True),
        (sympy.Ne(M, 1), True),
        (sympy.Gt(M, 2), False),
        (sympy.Lt(M, 2**31), False),
        (sympy.Ne(M, 5), False),
        (sympy.Ne(Mod(M, 8), 0), False),
        (sympy.Lt(M, N), False),
        (sympy.Ne(M, N), False),
        (sympy.Gt(H, 1), False),
        (sympy.Ne(H - W, 0), False),
    ],
)
def test_what_a_guard_may_say_of_sizes(guard, harmless):
    assert _holds_from_two_on(guard) is harmless


def same_as_eager(program, function):
    loaded = load(program.buffer)
    for sizes in ((6, 3), (5, 2), (16, 7), (4, 16)):
        x = torch.randn(sizes)
        expected, found = function(x), loaded.forward(x)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for is_, wanted in zip(found, expected, strict=True):
            torch.testing.assert_close(is_, wanted, rtol=1e-4, atol=1e-4)
