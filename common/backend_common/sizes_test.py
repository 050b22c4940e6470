"""Dynamic sizes: what the user allowed, and a limit where there is none."""

import warnings

import pytest
import torch
from torch.export import Dim

from backend_common import LoweringError, load, lower
from backend_common.sizes import UNBOUNDED, UnboundedSizeWarning, bounds, settle_sizes


class Doubled(torch.nn.Module):
    def forward(self, x):
        return x * 2 + 1


def exported(dimension, rows=3):
    shapes = ({0: dimension},)
    return torch.export.export(Doubled(), (torch.ones(rows, 8),), dynamic_shapes=shapes)


def size_of(program):
    return next(n for n in program.graph.nodes if n.op == "placeholder").meta["val"].shape[0]


@pytest.mark.parametrize(
    ("dimension", "expected"),
    [
        (Dim("rows", min=2, max=16), (2, 16)),
        (Dim("rows", min=1, max=16), (1, 16)),
        (Dim("rows", max=16), (0, 16)),
    ],
)
def test_bounds_are_the_users(dimension, expected):
    program = exported(dimension)
    settle_sizes(program)
    assert bounds(size_of(program)) == expected
    assert bounds(size_of(program) * 2) == (expected[0] * 2, expected[1] * 2)


@pytest.mark.parametrize("dimension", [Dim("rows", min=1), Dim.AUTO, Dim.DYNAMIC])
@pytest.mark.parametrize(("rows", "limit"), [(3, 256), (100, 400)])
def test_a_size_without_a_maximum_gets_one_and_a_warning(dimension, rows, limit):
    program = exported(dimension, rows)
    assert bounds(size_of(program))[1] == UNBOUNDED
    with pytest.warns(UnboundedSizeWarning, match=f"dimension 0 of input 'x'.* up to {limit}"):
        settle_sizes(program)
    assert bounds(size_of(program)) == (1, limit)


def test_a_bounded_size_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnboundedSizeWarning)
        settle_sizes(exported(Dim("rows", max=16)))


def test_a_number_is_its_own_bounds():
    assert bounds(5) == (5, 5)


@pytest.mark.filterwarnings("ignore::backend_common.sizes.UnboundedSizeWarning")
@pytest.mark.parametrize(
    ("dimension", "sizes"), [(Dim("rows", min=1, max=8), (1, 8)), (Dim.AUTO, (1, 200))]
)
def test_a_program_takes_the_sizes_it_allows(dimension, sizes):
    x = torch.ones(3, 8)
    program = load(
        lower(Doubled(), (x,), backend="portable", dynamic_shapes=({0: dimension},)).buffer
    )
    for rows in sizes:
        assert torch.equal(program.forward(torch.ones(rows, 8))[0], torch.full((rows, 8), 3.0))


def test_a_size_that_lowering_fixes_is_refused_whatever_the_inputs_name():
    class Fixed(torch.nn.Module):
        def forward(self, input):
            return torch.ops.aten._pad_circular(input, [1, 1])

    x, rows = torch.ones(1, 2, 5), Dim("rows", min=2, max=8)
    with pytest.raises(LoweringError, match="2 to 8 and became 5"):
        lower(Fixed(), (x,), backend="portable", dynamic_shapes=({2: rows},))
