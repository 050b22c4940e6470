import pytest
import torch

from qualcomm_backend.passes.fill_with_numbers import FillWithNumbers
from qualcomm_backend.passes.harness import check


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int32, torch.uint8, torch.bool]
)
def test_keeps_the_dtype(dtype):
    function = lambda x, v: (*(torch.fill(x, 2.7), torch.fill(x, 1), torch.fill(x, v), x.fill_(3)),)
    found = check(FillWithNumbers, function, torch.ones(2, 3, dtype=dtype), torch.tensor(0.3))
    assert found.count == 4
