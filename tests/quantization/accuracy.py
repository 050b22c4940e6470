"""How far quantised programs are from the models they came from."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import models
import torch
from backend_common import Lowered, load, lower
from openvino_backend.quantizer import ACTIVATION_MODES, quantize
from torch import Tensor


@dataclass(frozen=True)
class Accuracy:
    """of_program, of_graph: dB against float32, of the program and of the quantised graph in eager.

    saturated: dB of the graph on a CPU that adds pairs of u8 × s8 products in 16 bits.
    bytes: size of the program; bytes_float: of the model's own.
    """

    of_program: float
    of_graph: float
    saturated: float | None
    bytes: int
    bytes_float: int
    lowered: Lowered


def decibels(wanted: Tensor, found: Tensor) -> float:
    """Signal to quantisation noise."""
    return float(10 * torch.log10(wanted.square().sum() / (wanted - found).square().sum()))


@torch.no_grad()
def measure(name: str, mode: str, **options: Any) -> Accuracy:
    module, inputs, calibration = models.make(name)
    wanted = module(*inputs)
    shown = {"calibration": calibration} if mode in ACTIVATION_MODES else {}
    exported = quantize(module, inputs, mode=mode, **shown, **options)
    lowered = lower(exported, backend="openvino")
    graph = exported.module()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pte"
        lowered.save(path)
        (found,) = load(path).forward(*inputs)
    saturated = None
    if mode in ACTIVATION_MODES:
        saturating = Saturating(graph, garbage_collect_values=False)
        saturated = decibels(wanted, saturating.run(*inputs))
    return Accuracy(
        decibels(wanted, found),
        decibels(wanted, graph(*inputs)),
        saturated,
        len(lowered.buffer),
        len(lower(module, inputs, backend="openvino").buffer),
        lowered,
    )


class Saturating(torch.fx.Interpreter):
    """Runs a quantised graph as a CPU without VNNI does.

    `vpmaddubsw` multiplies unsigned activations by signed weights and adds neighbours in pairs,
    in 16 bits that saturate; the pairs are then added exactly.
    """

    def run_node(self, node: torch.fx.Node) -> Any:
        if node.target in (torch.ops.aten.linear.default, torch.ops.aten.conv2d.default):
            source, weight = node.args[0], node.args[1]
            if _is(source, "dequantize_per_tensor") and _is(weight, "dequantize_per_channel"):
                return self._saturated(node, source, weight)
        return super().run_node(node)

    def _saturated(self, node: Any, source: Any, weight: Any) -> Tensor:
        activations = self.env[source.args[0]].to(torch.int64)
        weights = self._value(weight.args[0]).to(torch.int64)
        zero_point = source.args[2]
        # Arguments at their default values are left out.
        given = [self._value(argument) for argument in node.args[2:]]
        bias, stride, padding = (*given, *(None, [1, 1], [0, 0])[len(given) :])[:3]
        if node.target == torch.ops.aten.linear.default:
            # Without the zero point, whose share the CPU subtracts afterwards.
            total = _pairs(activations.unsqueeze(-2) * weights)
            shares = weights.sum(-1)
            shape = [-1]
        else:
            padded = torch.nn.functional.pad(
                activations, (padding[1],) * 2 + (padding[0],) * 2, value=zero_point
            )
            height, width = weights.shape[2:]
            windows = padded.unfold(2, height, stride[0]).unfold(3, width, stride[1])
            # Channels are innermost in memory: neighbours are channels of one place.
            windows = windows.permute(0, 2, 3, 4, 5, 1).flatten(3).unsqueeze(3)
            total = _pairs(windows * weights.permute(0, 2, 3, 1).flatten(1)).movedim(-1, 1)
            shares = weights.flatten(1).sum(1)
            shape = [-1, 1, 1]
        total = total - zero_point * shares.view(shape)
        scale = source.args[1] * self._value(weight.args[1])
        result = total * scale.view(shape)
        return (result if bias is None else result + bias.view(shape)).to(torch.float32)

    def _value(self, argument: Any) -> Any:
        return self.env[argument] if isinstance(argument, torch.fx.Node) else argument


def _pairs(products: Tensor) -> Tensor:
    """Sums over the last dimension, in pairs of 16 bits first."""
    odd = products.shape[-1] % 2
    products = torch.nn.functional.pad(products, (0, odd))
    return products.unflatten(-1, (-1, 2)).sum(-1).clamp(-(2**15), 2**15 - 1).sum(-1)


def _is(node: Any, name: str) -> bool:
    return isinstance(node, torch.fx.Node) and name in str(node.target)
