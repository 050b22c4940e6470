import re

import pytest
import torch
from torch import nn

from qualcomm_backend import spell_out
from qualcomm_backend.conftest import Call, assert_equals_eager, delegated, left, lower


def test_an_operator_that_qnn_compiles_wrong_among_others_is_given_back(monkeypatch):
    monkeypatch.delitem(spell_out._REWRITES, "aten.native_layer_norm.default")
    torch.manual_seed(0)
    module = Call(
        lambda m, x, z: m.linear(m.norm(x.relu() + z)).sigmoid(),
        norm=nn.LayerNorm(384),
        linear=nn.Linear(384, 8),
    )
    inputs = torch.randn(5, 32, 384), torch.randn(1, 32, 384)
    lowered = lower(module, *inputs)
    assert list(left(lowered)) == ["aten.native_layer_norm.default"]
    assert "otherwise than eager" in left(lowered)["aten.native_layer_norm.default"]
    assert {"aten.add.Tensor", "aten.addmm.default"} <= set(delegated(lowered))
    assert_equals_eager(lowered, module, inputs)
    untried = lower(module, *inputs, options={"trial_run": False})
    with pytest.raises(AssertionError):
        assert_equals_eager(untried, module, inputs)


def test_two_faults_of_one_delegate_are_found_in_one_trial(monkeypatch):
    monkeypatch.delitem(spell_out._REWRITES, "aten.native_layer_norm.default")
    torch.manual_seed(0)
    module = Call(
        lambda m, x, z: m.second(m.first(x + z).tanh() * z),
        first=nn.LayerNorm(384),
        second=nn.LayerNorm(384),
    )
    inputs = torch.randn(5, 32, 384), torch.randn(1, 32, 384)
    stages = []
    lowered = lower(module, *inputs, progress=stages.append)
    assert stages.count("lower to qualcomm") == 2
    assert set(left(lowered)) == {"aten.native_layer_norm.default"}
    assert_equals_eager(lowered, module, inputs)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (torch.tensor([1.0, float("nan")]), "NaN or infinity"),
        (torch.tensor([1.0, -float("inf")]), "NaN or infinity"),
        (torch.tensor([1.0, 1e30]), "the noise is"),
    ],
)
def test_what_a_16_bit_float_does_not_hold_stays_with_other_kernels(x, text):
    module = Call(lambda m, x: x.relu() + x)
    lowered = lower(module, x)
    assert any(re.search(text, reason) for reason in left(lowered).values())
    assert_equals_eager(lowered, module, (x,))


def test_a_mask_of_infinities_may_end_in_a_softmax():
    torch.manual_seed(0)
    module = Call(lambda m, x, mask: torch.softmax(x + mask, -1))
    mask = torch.zeros(4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), -float("inf"))
    inputs = torch.randn(2, 4, 4), mask
    lowered = lower(module, *inputs)
    assert not left(lowered)
    assert_equals_eager(lowered, module, inputs)


def test_a_quantized_program_is_held_against_itself_in_eager():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
    lowered = lower(module, torch.randn(4, 16), options={"precision": "8a8w"})
    assert not any("otherwise" in reason for reason in left(lowered).values())
    assert "aten.addmm.default" in delegated(lowered)


def test_the_state_that_a_trial_writes_is_not_the_programs():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("count", torch.zeros(4))

        def forward(self, x):
            self.count += 1
            return self.linear(x) + self.count

    torch.manual_seed(0)
    module = Counts()
    x = torch.randn(2, 4)
    with torch.no_grad():
        first = module(x)
    module.count.zero_()
    lowered = lower(module, x)
    module.count.zero_()
    assert_equals_eager(lowered, module, (x,))
    torch.testing.assert_close(first, module(x) - 1)
