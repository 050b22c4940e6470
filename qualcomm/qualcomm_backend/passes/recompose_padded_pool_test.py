import pytest
import torch
import torch.nn.functional as F

from qualcomm_backend.passes.harness import INF, NAN, check
from qualcomm_backend.passes.pool_images import PoolImages
from qualcomm_backend.passes.recompose_padded_pool import RecomposePaddedPool

X = torch.randn(1, 2, 7, 8)
X[0, 0, 1, 1], X[0, 1, :3, :3] = NAN, -INF
BOTH = (PoolImages, RecomposePaddedPool)


def test_the_pool_pads_itself():
    function = lambda x: (
        F.max_pool2d(F.pad(x, (1, 1, 1, 1), value=-INF), 3, 2),
        F.max_pool2d(F.pad(x, (0, 0, 1, 1), value=-INF), 2),
        F.max_pool2d(F.pad(x, (1, 1), value=-INF), (1, 3), 1),
    )
    found = check(BOTH, function, X)
    assert not [name for name in found.operators if "pad" in name]


def test_zeros_around_a_relu():
    found = check(BOTH, lambda x: F.max_pool2d(F.pad(F.relu(x), (1, 1, 1, 1)), 3, 2), X)
    assert not [name for name in found.operators if "pad" in name]


WRONG = {
    "largest": lambda x: F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2),
    "same": lambda x: F.max_pool2d(F.pad(x, (1, 0, 1, 1), value=-INF), 3, 2),
    "half": lambda x: F.max_pool2d(F.pad(x, (2, 2, 2, 2), value=-INF), 3, 2),
    "its own": lambda x: F.max_pool2d(F.pad(x, (1, 1, 1, 1), value=-INF), 3, 2, 1),
    "dilated": lambda x: F.max_pool2d(F.pad(x, (1, 1, 1, 1), value=-INF), 3, 1, 0, 2),
    "height and width": lambda x: F.max_pool2d(F.pad(x, (1, 1, 1, 1, 1, 1), value=-INF), 3, 2),
    "places": lambda x: F.max_pool2d(F.pad(x, (1, 1, 1, 1), value=-INF), 3, 2, return_indices=True),
}


@pytest.mark.parametrize("reason", WRONG)
def test_other_paddings_stay(reason):
    found = check(BOTH, WRONG[reason], X)
    assert [name for name in found.operators if "pad" in name]
    assert reason in found.reasons


def test_rounded_up():
    function = lambda x: tuple(
        F.max_pool2d(F.pad(x, (1, 1, 1, 1), value=-INF), 3, stride, ceil_mode=True)
        for stride in (1, 2, 3, 4, 5)
    )
    check(BOTH, function, X)
