"""Arithmetic of dynamic sizes gives what Python gives."""

import math

import pytest
import torch

from backend_common import load, lower

CASES = {
    "root": lambda x: x / x.size(0) ** 0.5,
    "inverse_root": lambda x: x * x.size(0) ** -0.5,
    "root_of_a_product": lambda x: x * (x.size(0) * x.size(1)) ** 0.5,
    "arithmetic_with_a_root": lambda x: x * (1 - 2 / (x.size(0) ** 0.5 + 1)),
    "root_by_torch": lambda x: x * torch.sym_sqrt(x.size(0)),
    "cube": lambda x: x * x.size(0) ** 3,
    "power_of_two": lambda x: x * 2 ** x.size(0),
    "power_of_sizes": lambda x: x * x.size(0) ** x.size(1),
    "attention": lambda x: torch.softmax(x @ x.T / x.size(0) ** 0.5, -1) @ x,
    "full": lambda x: x + torch.full((1, 4), x.size(0) ** 0.5),
    "alpha": lambda x: torch.add(x, x, alpha=x.size(0) ** 0.5),
    "integers_and_a_root": lambda x: x.int() + x.size(0) ** 0.5,
    "floor": lambda x: x * math.floor(x.size(0) / 3),
    "sum": lambda x: x * torch.sym_sum([x.size(0), x.size(0) * 2, 1]),
}


class Each(torch.nn.Module):
    def forward(self, x):
        return [function(x) for function in CASES.values()]


@pytest.fixture(scope="module")
def program():
    rows = torch.export.Dim("rows", min=2, max=16)
    lowered = lower(Each(), (torch.ones(3, 4),), backend="portable", dynamic_shapes=({0: rows},))
    return load(lowered.buffer)


@pytest.mark.parametrize("rows", [3, 2, 7, 16])
def test_result_equals_eager(program, rows):
    x = torch.randn(rows, 4, generator=torch.Generator().manual_seed(0))
    outputs = program.forward(x)
    for (name, function), output in zip(CASES.items(), outputs, strict=True):
        torch.testing.assert_close(output, function(x), msg=lambda text, name=name: name + text)
