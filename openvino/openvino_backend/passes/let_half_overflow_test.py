"""float16 between two operators overflows where it does in eager, and nowhere else."""

import backend_common
import pytest
import torch
import torch.nn.functional as F

from openvino_backend.conftest import lower

LEAST = torch.finfo(torch.float16).min
X = torch.tensor([[300.0, 10.0, -300.0, 12.0]], dtype=torch.float16)
FUNCTIONS = {
    "product": lambda x: x * x / 300,
    "difference_of_infinities": lambda x: x * x - x * x,
    "sum": lambda x: (x * x).sum() / 1000,
    "exponential": lambda x: torch.exp(x) / torch.exp(x),
    "root_mean_square": lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6),
    "matrix_product": lambda x: (x.t() @ x) / 1000,
    "linear": lambda x: F.linear(x, x).softmax(-1),
    "rounded_to_the_greatest": lambda x: (x / 30 + LEAST) / 2,
    "masked_rows": lambda x: (x.t() / 100 + LEAST).softmax(0),
    "stays_finite": lambda x: (x * 200) / 200,
}


class All(torch.nn.Module):
    def forward(self, x):
        return tuple(function(x) for function in FUNCTIONS.values())


@pytest.fixture(scope="module")
def outputs():
    lowered = lower(All(), X)
    assert all(row.delegated for row in lowered.report)
    return dict(zip(FUNCTIONS, backend_common.load(lowered.buffer).forward(X), strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equals_eager(outputs, name):
    expected = FUNCTIONS[name](X)
    torch.testing.assert_close(outputs[name], expected, rtol=2e-2, atol=2e-2, equal_nan=True)


def test_the_fast_form_keeps_the_range_of_float32():
    module = torch.nn.Module()
    module.forward = FUNCTIONS["product"]
    lowered = lower(module, X, options={"nan": "fast"})
    assert backend_common.load(lowered.buffer).forward(X)[0].isfinite().all()
