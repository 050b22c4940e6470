import os

import pytest
import torch
from torch import nn

from qualcomm_backend import emulator
from qualcomm_backend.conftest import Call, assert_equals_eager, delegated, left, lower
from qualcomm_backend.quantization import PRECISIONS, Quantize

INTEGERS = {"precision": "8a8w"}


def quantized(module, *inputs, precision="8a8w"):
    from qualcomm_backend.passes import run_aten_passes

    exported = torch.export.export(module.eval(), inputs, strict=False)
    return Quantize(precision)(run_aten_passes(exported))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_network_in_integers_is_delegated_whole(precision):
    torch.manual_seed(0)
    module = nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()),
        *(nn.Conv2d(8, 8, 3, groups=8), nn.Flatten(), nn.Linear(288, 10)),
    ).eval()
    x = torch.randn(1, 3, 8, 8)
    lowered = lower(module, x, options={"precision": precision})
    assert not left(lowered)
    assert_equals_eager(lowered, quantized(module, x, precision=precision).module(), (x,))


@pytest.mark.parametrize("precision", ["8a8w", "16a8w"])
def test_a_transformer_in_integers_is_right_however_it_is_cut(precision):
    torch.manual_seed(0)
    module = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()
    x = torch.randn(1, 8, 32)
    lowered = lower(module, x, options={"precision": precision})
    assert "aten.addmm.default" in delegated(lowered)
    with torch.no_grad():
        wanted, ((found,),) = module(x), emulator.run(lowered.buffer, [(x,)])
    noise = (found - wanted).square().mean().sqrt() / wanted.square().mean().sqrt()
    assert noise < {"8a8w": 0.03, "16a8w": 0.005}[precision]


def test_an_lstm_in_integers_lowers():
    torch.manual_seed(0)
    module = Call(lambda m, x: m.lstm(x)[0], lstm=nn.LSTM(8, 16, batch_first=True)).eval()
    x = torch.randn(1, 5, 8)
    lowered = lower(module, x, options=INTEGERS)
    assert "aten.sigmoid.default" in delegated(lowered)
    assert_equals_eager(lowered, module, (x,))


def test_what_is_left_computes_between_delegates():
    torch.manual_seed(0)
    module = Call(
        lambda m, x: torch.sin(m.a(x).relu()) + m.b(x), a=nn.Linear(8, 4), b=nn.Linear(8, 4)
    )
    x = torch.randn(2, 8)
    lowered = lower(module.eval(), x, options=INTEGERS)
    assert "aten.sin.default" in left(lowered)
    assert_equals_eager(lowered, module, (x,))


def test_a_quantized_program_is_not_quantized_again():
    module = nn.Linear(8, 4)
    program = quantized(module, torch.randn(2, 8))
    assert Quantize("8a8w")(program) is program


def test_quantizing_leaves_the_process_as_it_was():
    before = dict(os.environ), torch.backends.mkldnn.enabled
    quantized(nn.Linear(8, 4), torch.randn(2, 8))
    assert (dict(os.environ), torch.backends.mkldnn.enabled) == before
