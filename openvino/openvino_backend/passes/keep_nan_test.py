"""Each rewrite equals eager on NaN, infinities, zeros and ordinary numbers, on OpenVINO."""

import backend_common
import pytest
import torch
import torch.nn.functional as F
from torch.utils import _pytree as pytree

from openvino_backend.conftest import lower

NAN, INF = float("nan"), float("inf")
EDGES = torch.tensor([NAN, -1.0, 2.0, 0.0, INF, -INF, 88.5, -100.0, 1e30, -1e30, 0.5, -0.5])
UNARY = {
    "relu": F.relu,
    "clamp": lambda x: x.clamp(-1, 2),
    "clamp_from_below": lambda x: x.clamp(min=-1),
    "clamp_from_above": lambda x: x.clamp(max=0.25),
    "clamp_crossed": lambda x: x.clamp(2, -1),
    "hardtanh": F.hardtanh,
    "relu6": F.relu6,
    "hardsigmoid": F.hardsigmoid,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "sign": torch.sign,
    "greater_than_a_number": lambda x: x > 0.5,
    "greater_or_equal": lambda x: x >= x.flip(0),
    "softmax": lambda x: torch.softmax(x.reshape(3, 4), 1),
    "log_softmax": lambda x: torch.log_softmax(x.reshape(3, 4), 0),
    "max_pool": lambda x: F.max_pool2d(x.reshape(1, 1, 3, 4), 2, 1),
    "maximum": lambda x: torch.maximum(x, x.flip(0)),
    "largest": lambda x: x.reshape(3, 4).amax(1),
    "smallest_of_all": lambda x: x.amin(),
    "largest_of_infinities": lambda x: torch.where(x < INF, -INF, -INF).reshape(3, 4).amax(1),
    "largest_and_its_place": lambda x: tuple(x.reshape(3, 4).max(0)),
    "place_of_the_smallest": lambda x: x.reshape(3, 4).argmin(1, keepdim=True),
    "place_of_the_largest_of_all": lambda x: x.argmax(),
    "largest_of_ties": lambda x: x.sign().argmax(),
    "minimum": lambda x: torch.minimum(x.flip(0), x),
}


class All(torch.nn.Module):
    """All of them in one program, so that they are lowered and compiled once."""

    def forward(self, x):
        return tuple(pytree.tree_leaves([function(x) for function in UNARY.values()]))


@pytest.fixture(scope="module", params=[torch.float32, torch.bfloat16, torch.float16])
def run(request):
    x = EDGES.to(request.param)
    lowered = lower(All(), x)
    outputs = iter(backend_common.load(lowered.buffer).forward(x))
    expected = {name: pytree.tree_leaves(function(x)) for name, function in UNARY.items()}
    return lowered, {
        name: (leaves, [next(outputs) for _ in leaves]) for name, leaves in expected.items()
    }


@pytest.mark.parametrize("name", UNARY)
def test_equals_eager(run, name):
    expected, actual = run[1][name]
    halves = {leaf.dtype for leaf in expected} & {torch.float16, torch.bfloat16}
    tolerance = 2e-2 if halves else 1e-3
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def test_all_of_it_is_delegated(run):
    left = {row.operator for row in run[0].report if not row.delegated}
    assert not left


def test_the_fast_form_is_openvinos_own():
    lowered = lower(torch.nn.ReLU(), EDGES, options={"nan": "fast"})
    (output,) = backend_common.load(lowered.buffer).forward(EDGES)
    assert output[0] == 0  # what the option is for
    assert torch.equal(output[1:], F.relu(EDGES)[1:])
