import pytest
import torch

from qualcomm_backend.passes.harness import check
from qualcomm_backend.passes.roll_by_slices import RollBySlices


@pytest.mark.parametrize(
    ("shifts", "dims"),
    [
        (1, -1),
        (1, 0),
        (-3, 1),
        (7, -2),
        (0, 0),
        (5, 1),
        ((1, 2), (0, -1)),
        ((1, 2), (0, 0)),
        (3, None),
    ],
)
def test_equals_eager(shifts, dims):
    x = torch.arange(20).reshape(4, 5)
    found = check(RollBySlices, lambda x: torch.roll(x, shifts, dims) + 1, x)
    assert "aten.roll.default" not in found.operators


def test_nothing_rolls_in_place():
    check(RollBySlices, lambda x: torch.roll(x, 1, 1), torch.ones(3, 0))
    check(RollBySlices, lambda x: torch.roll(x, 3), torch.tensor(1.0))
