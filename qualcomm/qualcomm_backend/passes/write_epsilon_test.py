import pytest
import torch
import torch.nn.functional as F

from qualcomm_backend.passes.harness import check
from qualcomm_backend.passes.write_epsilon import WriteEpsilon


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_is_the_one_that_eager_takes(dtype):
    x = (torch.randn(4, 8) * 1e-3).to(dtype)
    found = check(WriteEpsilon, lambda x: F.rms_norm(x, (8,)), x)
    (node,) = (n for n in found.program.graph.nodes if n.op == "call_function")
    assert node.args[3] == torch.finfo(torch.float32).eps


def test_a_weight_that_is_computed_stands_outside():
    function = lambda x, w: F.rms_norm(x, (8,), w, 1e-5)
    found = check(WriteEpsilon, function, torch.rand(4, 8), torch.rand(8), exact=False)
    assert found.operators == ["aten.rms_norm.default", "aten.mul.Tensor"]


def test_a_constant_weight_stays_inside():
    found = check(
        WriteEpsilon, lambda m, x: F.rms_norm(x, (8,), m.w), torch.rand(4, 8), w=torch.rand(8)
    )
    assert found.operators == ["aten.rms_norm.default"]


def test_what_is_written_stays():
    assert not check(
        WriteEpsilon, lambda x: F.rms_norm(x, (8,), None, 1e-5), torch.rand(4, 8)
    ).count
