import pytest
import torch
from torch import nn
from torch.nn import functional as F

from qualcomm_backend.conftest import Call, assert_equals_eager, delegated, left, lower


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: x * 2.5 + 1,
        lambda m, x: 3 - x / 4,
        lambda m, x: x.pow(2) + x.pow(3),
        lambda m, x: x.mean((1, 2)) + x.sum((1, 2)),
        lambda m, x: F.pad(x, (1, 2)) * 2,
        lambda m, x: m.linear(x),
        lambda m, x: x[0] @ m.linear.weight.t(),
        lambda m, x: torch.addmm(x[0, 0, :4], x[0], m.linear.weight.t(), beta=1),
    ],
)
def test_what_builders_do_not_read_is_written_otherwise(function):
    torch.manual_seed(0)
    module = Call(function, linear=nn.Linear(8, 4))
    x = torch.randn(2, 3, 8)
    lowered = lower(module, x)
    assert delegated(lowered)
    assert not any("builder" in reason for reason in left(lowered).values())
    assert_equals_eager(lowered, module, (x,))


@pytest.mark.parametrize("shape", [(1, 32, 384), (32, 384), (5, 1, 384), (384,)])
@pytest.mark.parametrize("join", [torch.add, torch.mul])
def test_what_a_layer_norm_reads_may_be_joined_by_broadcasting(join, shape):
    torch.manual_seed(0)
    module = Call(lambda m, x, z: m.norm(join(x, z)), norm=nn.LayerNorm(384))
    inputs = torch.randn(5, 32, 384), torch.randn(shape)
    lowered = lower(module, *inputs)
    assert not left(lowered)
    assert_equals_eager(lowered, module, inputs)
