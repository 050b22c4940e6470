import pytest
import torch
import torch.nn.functional as F

from qualcomm_backend.passes.harness import check
from qualcomm_backend.passes.recompose_pixel_shuffle import RecomposePixelShuffle

X = torch.arange(2 * 4 * 4 * 4.0).reshape(2, 4, 4, 4)
UNSHUFFLES, SHUFFLES = (0, 1, 3, 5, 2, 4), (0, 1, 4, 2, 5, 3)


def moved(x, parts, order, result):
    return x.view(parts).permute(order).reshape(result)


def test_pixels_are_unshuffled():
    function = lambda x: moved(x, (2, 4, 2, 2, 2, 2), UNSHUFFLES, (2, 16, 2, 2)) + 1
    found = check(RecomposePixelShuffle, function, X)
    assert found.operators == ["aten.pixel_unshuffle.default", "aten.add.Tensor"]
    function = lambda x: moved(x, (2, 4, 1, 4, 1, 4), UNSHUFFLES, (2, 64, 1, 1))
    assert check(RecomposePixelShuffle, function, X).operators == ["aten.pixel_unshuffle.default"]


def test_pixels_are_shuffled():
    function = lambda x: moved(x, (2, 1, 2, 2, 4, 4), SHUFFLES, (2, 1, 8, 8))
    found = check(RecomposePixelShuffle, function, X)
    assert found.operators == ["aten.pixel_shuffle.default"]


def test_a_copy_may_stand_between():
    function = lambda x: x.view(2, 4, 2, 2, 2, 2).permute(UNSHUFFLES).contiguous().view(2, 16, 2, 2)
    assert check(RecomposePixelShuffle, function, X).operators == ["aten.pixel_unshuffle.default"]


# All sizes are 2 or the same, so that the order alone tells.
@pytest.mark.parametrize(
    "order", [(0, 3, 5, 1, 2, 4), (0, 1, 5, 3, 2, 4), (0, 1, 3, 5, 4, 2), (0, 5, 3, 1, 2, 4)]
)
def test_other_orders_stay(order):
    function = lambda x: moved(x, (2, 4, 2, 2, 2, 2), order, (2, 16, 2, 2))
    found = check(RecomposePixelShuffle, function, X)
    assert not found.count
    assert "no order" in found.reasons


def test_other_blocks_stay():
    function = lambda x: moved(x, (2, 4, 4, 1, 2, 2), UNSHUFFLES, (2, 8, 4, 2))
    found = check(RecomposePixelShuffle, function, X)
    assert "no squares" in found.reasons
    function = lambda x: moved(x, (2, 4, 2, 2, 2, 2), UNSHUFFLES, (2, 4, 8, 2))
    assert "is not what blocks" in check(RecomposePixelShuffle, function, X).reasons
    function = lambda x: moved(x, (4, 2, 2, 2, 2, 2), UNSHUFFLES, (4, 8, 2, 2))
    assert "is not what blocks" in check(RecomposePixelShuffle, function, X).reasons


def test_the_operators_themselves_stay():
    function = lambda x: (F.pixel_unshuffle(x, 2), F.pixel_shuffle(x, 2))
    assert not check(RecomposePixelShuffle, function, X).count
