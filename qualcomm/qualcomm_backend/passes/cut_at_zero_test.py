import pytest
import torch

from qualcomm_backend.passes.cut_at_zero import CutAtZero
from qualcomm_backend.passes.harness import EDGES, check


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_equals_eager_on_special_values(dtype):
    found = check(CutAtZero, torch.trunc, torch.cat([EDGES, -EDGES]).to(dtype))
    assert "aten.trunc.default" not in found.operators


def test_integers_are_whole():
    x = torch.tensor([-3, 0, 2**62 + 1])
    found = check(
        CutAtZero, lambda x: (x.trunc() + 1, x.floor() + 1, x.ceil() + 1, x.round() + 1), x
    )
    assert set(found.operators) == {"aten.clone.default", "aten.add.Tensor"}


def test_floors_of_floats_stay():
    assert not check(CutAtZero, lambda x: x.floor(), EDGES).count
