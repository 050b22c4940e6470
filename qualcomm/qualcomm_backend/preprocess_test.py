import sys

import backend_common
import torch
from backend_common import Method
from torch import nn

from qualcomm_backend import preprocess, stock
from qualcomm_backend.conftest import Call, assert_equals_eager, delegated, left, lower

LINEAR = ["aten.permute_copy.default", "aten.addmm.default"]


def test_what_qnn_cannot_compile_is_given_back(monkeypatch):
    compile_part = preprocess.compile_part

    def fail_with_relu(whole, options):
        if any("relu" in node.name for node in whole.graph.nodes):
            raise stock.QnnError("no memory for it")
        return compile_part(whole, options)

    monkeypatch.setattr(preprocess, "compile_part", fail_with_relu)
    module = Call(lambda m, x: m.linear(x).relu(), linear=nn.Linear(8, 4))
    x = torch.randn(2, 8)
    lowered = lower(module, x)
    assert "aten.addmm.default" in delegated(lowered)
    assert left(lowered)["aten.relu.default"] == "no memory for it"
    assert_equals_eager(lowered, module, (x,))


def test_what_is_given_back_is_its_own_methods(monkeypatch):
    compile_part = preprocess.compile_part

    def fail_with_relu(whole, options):
        if any("relu" in node.name for node in whole.graph.nodes):
            raise stock.QnnError("no memory for it")
        return compile_part(whole, options)

    monkeypatch.setattr(preprocess, "compile_part", fail_with_relu)
    linear, x = nn.Linear(8, 4), torch.randn(2, 8)
    methods = {
        "plain": Method(linear, (x,)),
        "cut": Method(Call(lambda m, x: m.linear(x).relu(), linear=linear), (x,)),
    }
    lowered = backend_common.lower(methods, backend="qualcomm")
    left = {(row.method, row.operator) for row in lowered.report if not row.delegated}
    assert ("cut", "aten.relu.default") in left
    assert not any(method == "plain" for method, _ in left)


def test_one_failed_lowering_leaves_the_process_as_it_was(monkeypatch):
    def fail(whole, options):
        raise stock.QnnError("no memory for it")

    module = nn.Linear(8, 4)
    with monkeypatch.context() as broken:
        broken.setattr(preprocess, "compile_part", fail)
        assert not delegated(lower(module, torch.randn(2, 8)))
    assert delegated(lower(module, torch.randn(2, 8))) == LINEAR
    for name in ("executorch.backends.qualcomm.qnn_preprocess", "transformers"):
        assert name not in sys.modules
    assert range is __builtins__["range"]


def test_nothing_is_printed(capfd):
    lower(nn.Linear(8, 4), torch.randn(2, 8))
    assert capfd.readouterr() == ("", "")
