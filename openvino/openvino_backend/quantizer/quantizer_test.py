"""Quantised models, before they are lowered; their accuracy is tests/quantization's subject."""

import subprocess
import sys

import pytest
import torch

from openvino_backend.quantizer import MODES, OpenvinoQuantizer, quantize


class TwoLayers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(48, 32)
        self.second = torch.nn.Linear(32, 8)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return TwoLayers().eval()


X = (torch.randn(4, 48, generator=torch.Generator().manual_seed(1)),)


def constants(exported, dtype):
    tensors = [*exported.state_dict.values(), *exported.constants.values()]
    return [t for t in tensors if isinstance(t, torch.Tensor) and t.dtype == dtype]


def operators(exported):
    return [str(n.target) for n in exported.graph.nodes if n.op == "call_function"]


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_importing_the_backend_or_the_quantizer_imports_no_nncf():
    result = run(
        "import sys, openvino_backend, openvino_backend.quantizer as q; q.MODES\n"
        "assert not {'nncf', 'torch', 'openvino'} & set(sys.modules)"
    )
    assert result.returncode == 0, result.stderr


def test_without_nncf_the_error_says_what_to_install():
    result = run(
        "import importlib.util as u, torch\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'nncf' else find(name, *a)\n"
        "from openvino_backend.quantizer import quantize\n"
        "quantize(torch.nn.Linear(4, 4), (torch.ones(1, 4),), mode='int8_weights')"
    )
    assert result.returncode == 1
    assert "ImportError: openvino_backend.quantizer needs NNCF" in result.stderr
    assert "pip install nncf" in result.stderr


@pytest.mark.parametrize("mode", ["int8", "int8_mixed", "int8_transformer"])
def test_weights_keep_within_seven_bits_unless_told_otherwise(model, mode):
    for options, largest in (({}, 63), ({"overflow_fix": False}, 127), ({"device": "GPU"}, 127)):
        exported = quantize(model, X, mode=mode, calibration=[X], **options)
        weights = constants(exported, torch.int8)
        assert [tuple(w.shape) for w in weights] == [(32, 48), (8, 32)]
        assert {int(w.abs().max()) for w in weights} <= {largest, largest + 1}


def test_symmetric_activations_have_no_zero_point_where_they_are_never_negative(model):
    exported = quantize(model, X, mode="int8", calibration=[X])
    zero_points = [
        node.args[2] for node in exported.graph.nodes if "quantize_per_tensor" in str(node.target)
    ]
    assert zero_points == [127, 127, 0, 0]  # the input, and what relu makes


@pytest.mark.parametrize("symmetric", [True, False])
def test_weights_alone_in_eight_bits(model, symmetric):
    exported = quantize(model, X, mode="int8_weights", symmetric=symmetric)
    assert not any("quantize" in name for name in operators(exported))
    dtype = torch.int8 if symmetric else torch.uint8
    assert [tuple(w.shape) for w in constants(exported, dtype) if w.numel() > 32] == [
        (32, 48),
        (8, 32),
    ]
    assert torch.allclose(exported.module()(*X), model(*X), atol=0.02)


@pytest.mark.parametrize(("group_size", "shape"), [(16, (32, 3, 16)), (48, (32, 1, 48))])
def test_four_bits_in_groups_and_eight_in_the_last_layer(model, group_size, shape):
    exported = quantize(model, X, mode="int4_weights", group_size=group_size)
    first, last = constants(exported, torch.int8)
    assert (tuple(first.shape), tuple(last.shape)) == (shape, (8, 32))
    assert first.min() >= -8 and first.max() <= 7 < last.max()


def test_four_bits_a_row(model):
    exported = quantize(model, X, mode="int4_weights", group_size=-1)
    assert tuple(constants(exported, torch.int8)[0].shape) == (32, 48)


def test_any_batch_stays_any_batch(model):
    batch = torch.export.Dim("batch", min=1, max=64)
    for mode in ("int8", "int8_weights"):
        calibration = {"calibration": [X]} if mode == "int8" else {}
        exported = quantize(model, X, mode=mode, dynamic_shapes=({0: batch},), **calibration)
        assert exported.module()(torch.ones(7, 48)).shape == (7, 8)


def test_shared_weights_are_compressed_once():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(50, 32)

        def forward(self, x):
            return torch.nn.functional.linear(self.words(x), self.words.weight)

    tied = Tied().eval()
    tokens = (torch.tensor([[3, 7, 49]]),)
    exported = quantize(tied, tokens, mode="int8_weights")
    assert [tuple(w.shape) for w in constants(exported, torch.int8)] == [(50, 32)]
    assert not any(w.shape == (50, 32) for w in constants(exported, torch.float32))


def test_the_quantizer_serves_pytorchs_own_flow(model):
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    captured = torch.export.export(model, X).module()
    prepared = prepare_pt2e(captured, OpenvinoQuantizer("int8_mixed"))
    prepared(*X)
    converted = convert_pt2e(prepared)
    assert any("quantize_per_tensor" in str(node.target) for node in converted.graph.nodes)
    with pytest.raises(ValueError, match="mode is 'int8_weights'; it can be int8, int8_mixed"):
        OpenvinoQuantizer("int8_weights")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"mode": "int3"}, f"mode is 'int3'; it can be {', '.join(MODES)}"),
        ({"mode": "int8"}, "mode 'int8' takes the range .* calibration has 0"),
        ({"mode": "int8", "group_size": 32}, "group_size is 32, and mode 'int8' has no groups"),
        ({"mode": "int4_weights", "group_size": 0}, "group_size is 0; it can be -1"),
        ({"mode": "int4_weights", "group_size": 32}, "group_size 32 does not divide the 48 inputs"),
        ({"mode": "int4_weights"}, "group_size 128 does not divide the 48 inputs of linear"),
        ({"mode": "int8", "symmetric": False}, "symmetric is False, and mode 'int8'"),
        ({"mode": "int8", "overflow_fix": "off"}, "overflow_fix is 'off'; it can be 'auto'"),
        ({"mode": "int8_weights", "calibration": [X]}, "'int8_weights' quantises weights alone"),
    ],
)
def test_what_does_not_fit_together_is_refused(model, options, text):
    with pytest.raises(ValueError, match=text):
        quantize(model, X, **options)
