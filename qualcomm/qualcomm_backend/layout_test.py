import pytest
import torch
from torch import nn
from torch.nn import functional as F

from qualcomm_backend.conftest import Call, assert_equals_eager, left, lower


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: m.a(x).relu() + x,
        lambda m, x: m.b(m.a(x).relu()) * m.a(x),
        lambda m, x: m.a(x).mean((2, 3)),
        lambda m, x: F.max_pool2d(m.a(x), 2).flatten(1),
        lambda m, x: F.avg_pool2d(F.max_pool2d(x, 3, 1, 1) + 1, 2),
        lambda m, x: m.a(x) * x.mean((2, 3), keepdim=True),
        lambda m, x: (m.a(x), m.a(x).relu()),
        lambda m, x: torch.cat([m.a(x), x], 1).softmax(-1),
    ],
)
def test_images_and_what_follows_them_equal_eager(function):
    torch.manual_seed(0)
    parts = {"a": nn.Conv2d(4, 4, 3, padding=1), "b": nn.Conv2d(4, 4, 1, groups=2)}
    module = Call(function, **parts)
    x = torch.randn(2, 4, 6, 6)
    lowered = lower(module, x)
    assert not left(lowered)
    assert_equals_eager(lowered, module, (x,))


def test_channels_that_are_last_in_memory():
    torch.manual_seed(0)
    module = Call(lambda m, x: m.a(x).relu(), a=nn.Conv2d(4, 4, 3))
    x = torch.randn(2, 4, 6, 5).to(memory_format=torch.channels_last)
    lowered = lower(module, x)
    assert not left(lowered)
    assert_equals_eager(lowered, module, (x,))
