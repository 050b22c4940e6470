"""What the partitioner takes, and what it asks to keep whole."""

import pytest
import torch
import torch.nn.functional as F
from backend_common import LoweringError, lower
from backend_common.diagnostics import Rejection

from aoti_backend.devices import named
from aoti_backend.partitioner import AotiPartitioner

aten = torch.ops.aten


class Masks(torch.nn.Module):
    def forward(self, x):
        return (x > 0) & (x < 1), torch.where(x > 0, x, 2.0)


def test_what_was_given_back_is_decomposed():
    program = torch.export.export(Masks(), (torch.randn(3),))
    whole, _ = AotiPartitioner(named("cpu")).ops_to_not_decompose(program)
    assert {aten.__and__.Tensor, aten.where.ScalarOther} <= set(whole)
    withdrawn = {
        "aten_and_tensor_1": Rejection("no kernel", ""),
        "aten_where_scalar_other": Rejection("no kernel", ""),
    }
    rest, _ = AotiPartitioner(named("cpu"), withdrawn=withdrawn).ops_to_not_decompose(program)
    assert set(whole) - set(rest) == {aten.__and__.Tensor, aten.where.ScalarOther}


class SamplesVolumes(torch.nn.Module):
    def forward(self, x, grid):
        return F.grid_sample(x, grid, mode="nearest", align_corners=False)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_volumes_of_16_bits_are_refused_at_lowering(dtype):
    inputs = (torch.randn(1, 2, 3, 4, 5, dtype=dtype), torch.zeros(1, 2, 2, 2, 3, dtype=dtype))
    with pytest.raises(LoweringError) as caught:
        lower(SamplesVolumes(), inputs, backend="aoti-cpu")
    assert any("float32 and float64" in row.reason for row in caught.value.rows)
