"""Each rewrite equals eager on NaN, infinities, zeros and ordinary numbers, on OpenVINO."""

import backend_common
import pytest
import torch
import torch.nn.functional as F

from openvino_backend.conftest import lower

NAN, INF = float("nan"), float("inf")
EDGES = torch.tensor([NAN, -1.0, 2.0, 0.0, INF, -INF, 100.0, -100.0, 1e30, -1e30, 0.5, -0.5])
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
    "minimum": lambda x: torch.minimum(x.flip(0), x),
}


class All(torch.nn.Module):
    """All of them in one program, so that they are lowered and compiled once."""

    def forward(self, x):
        return tuple(function(x) for function in UNARY.values())


@pytest.fixture(scope="module", params=[torch.float32, torch.bfloat16, torch.float16])
def run(request):
    x = EDGES.to(request.param)
    lowered = lower(All(), x)
    outputs = backend_common.load(lowered.buffer).forward(x)
    return lowered, dict(zip(UNARY, zip(All()(x), outputs, strict=True), strict=True))


@pytest.mark.parametrize("name", UNARY)
def test_equals_eager(run, name):
    expected, actual = run[1][name]
    tolerance = 1e-3 if EDGES.dtype == expected.dtype else 2e-2
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def test_all_of_it_is_delegated(run):
    left = {row.operator for row in run[0].report if not row.delegated}
    assert not left


def test_the_fast_form_is_openvinos_own():
    lowered = lower(torch.nn.ReLU(), EDGES, options={"nan": "fast"})
    (output,) = backend_common.load(lowered.buffer).forward(EDGES)
    assert output[0] == 0  # what the option is for
    assert torch.equal(output[1:], F.relu(EDGES)[1:])
