"""A roll of nothing is nothing, and of anything else eager's."""

import pytest
import torch
from torch.export import Dim

from backend_common import load, lower


class Roll(torch.nn.Module):
    def forward(self, x):
        return x.roll(1, 0) * 2, x.roll((-5, 1), (0, 1)), x.roll(3), x.roll(-2, -1)


@pytest.mark.parametrize("least", [0, 1])
def test_result_equals_eager_for_every_size(least):
    rows = Dim("rows", min=least, max=8)
    lowered = lower(Roll(), (torch.randn(3, 4),), dynamic_shapes=({0: rows},), backend="portable")
    program = load(lowered.buffer)
    for size in (3, 0, 1, 8) if least == 0 else (3, 1, 8):
        x = torch.randn(size, 4)
        for output, wanted in zip(program.forward(x), Roll()(x), strict=True):
            assert torch.equal(output, wanted)
