"""Quantising operators of PyTorch, in pairs, alone, and on constants."""

import backend_common
import pytest
import torch
from backend_common import program

quantized = torch.ops.quantized_decomposed
X = torch.randn(4, 8, generator=torch.Generator().manual_seed(0)) * 3


class Function(torch.nn.Module):
    def __init__(self, function, **buffers):
        super().__init__()
        self.function = function
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def check(tmp_path, module, *inputs):
    lowered = backend_common.lower(module.eval(), inputs, backend="openvino")
    assert all(row.delegated for row in lowered.report if row.operator), lowered.report
    lowered.save(tmp_path / "model.pte")
    outputs = program.load(tmp_path / "model.pte").forward(*inputs)
    expected = module(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for output, wanted in zip(outputs, expected, strict=True):
        assert output.dtype == wanted.dtype
        torch.testing.assert_close(output, wanted)
    return outputs


RANGES = [(0.05, 100, 0, 255, torch.uint8), (0.03, 0, -128, 127, torch.int8)]


@pytest.mark.parametrize("range_", RANGES)
def test_a_pair(tmp_path, range_):
    check(
        tmp_path,
        Function(
            lambda _, x: quantized.dequantize_per_tensor(
                quantized.quantize_per_tensor(x, *range_), *range_
            )
        ),
        X,
    )


@pytest.mark.parametrize("range_", RANGES)
def test_quantize_alone(tmp_path, range_):
    check(tmp_path, Function(lambda _, x: quantized.quantize_per_tensor(x, *range_)), X)


@pytest.mark.parametrize("range_", RANGES)
def test_dequantize_alone(tmp_path, range_):
    values = torch.arange(range_[2], range_[3] + 1, dtype=range_[4])
    check(tmp_path, Function(lambda _, q: quantized.dequantize_per_tensor(q, *range_)), values)


def test_a_pair_whose_middle_goes_out_too(tmp_path):
    def function(_, x):
        q = quantized.quantize_per_tensor(x, *RANGES[0])
        return q, quantized.dequantize_per_tensor(q, *RANGES[0])

    check(tmp_path, Function(function), X)


def test_a_pair_of_different_ranges_is_no_pair(tmp_path):
    def function(_, x):
        q = quantized.quantize_per_tensor(x, *RANGES[0])
        return quantized.dequantize_per_tensor(q, 0.1, 90, *RANGES[0][2:])

    check(tmp_path, Function(function), X)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("zero", [0, 3])
def test_weights_by_channel(tmp_path, axis, zero):
    weight = torch.randint(-100, 100, (6, 8), dtype=torch.int8)
    channels = weight.shape[axis]

    def function(module, x):
        weight = quantized.dequantize_per_channel(
            module.weight, module.scale, module.zero, axis, -128, 127, torch.int8
        )
        return torch.nn.functional.linear(x, weight)

    module = Function(
        function,
        weight=weight,
        scale=torch.rand(channels) * 0.1,
        zero=torch.full((channels,), zero),
    )
    check(tmp_path, module, X)
