"""Replace the operators of PyTorch's quantisation by what OpenVINO's frontend gets right.

The frontend skips `dequantize_per_tensor` and takes `quantize_per_tensor` for both: right for a
pair, wrong where one of them is alone in a partition or reads a constant.
"""

from typing import Any, cast

import torch
from torch import fx

from openvino_backend import operators
from openvino_backend.passes.builder import Builder

aten = torch.ops.aten
quantized_decomposed = torch.ops.quantized_decomposed

QUANTIZE = "quantized_decomposed.quantize_per_tensor.default"
DEQUANTIZE = "quantized_decomposed.dequantize_per_tensor.default"
DEQUANTIZE_CHANNELS = "quantized_decomposed.dequantize_per_channel.default"


def write_quantization_out(graph: fx.Graph) -> None:
    """
    Given:  y = dequantize_per_tensor(quantize_per_tensor(x, s, z, low, high), s, z, low, high)
    Result: y = quantize_per_tensor(x, s, z, low, high), a FakeQuantize in OpenVINO

    Given:  w = dequantize_per_channel(q, s, z, axis=0)
    Result: w = (q.to(float32) - z.view(-1, 1)) * s.view(-1, 1)

    Alone, each of the first two becomes such arithmetic too.
    """
    written_out = {node for node in graph.nodes if operators.name_of(node) == QUANTIZE}
    for node in list(graph.nodes):
        name = operators.name_of(node)
        if name == DEQUANTIZE:
            source = cast(fx.Node, node.args[0])
            if operators.name_of(source) == QUANTIZE and source.args[1:] == node.args[1:]:
                # Here, and to the frontend, this operator is the pair.
                _replace(node, quantized_decomposed.quantize_per_tensor.default, source.args)
            else:
                _write_dequantize(graph, node, *node.args[1:3])
        elif name == DEQUANTIZE_CHANNELS:
            _write_dequantize_channels(graph, node)
    for node in reversed(graph.nodes):
        if node in written_out:
            if node.users:
                _write_quantize(graph, node)
            else:
                graph.erase_node(node)


def _replace(node: fx.Node, target: Any, arguments: tuple[Any, ...]) -> None:
    node.target, node.args, node.kwargs = target, arguments, {}


def _write_quantize(graph: fx.Graph, node: fx.Node) -> None:
    x, scale, zero_point, low, high = node.args[:5]
    with graph.inserting_before(node):
        build = Builder(node)
        steps = build.call(aten.round.default, build.call(aten.mul.Tensor, x, 1.0 / scale))
        moved = build.call(aten.add.Tensor, steps, zero_point)
        kept = build.call(aten.clamp.default, moved, low, high)
    _replace(node, aten._to_copy.default, (kept,))
    node.kwargs = {"dtype": node.meta["val"].dtype}


def _write_dequantize(graph: fx.Graph, node: fx.Node, scale: Any, zero_point: Any) -> None:
    with graph.inserting_before(node):
        build = Builder(node)
        wide = build.call(aten._to_copy.default, node.args[0], dtype=node.meta["val"].dtype)
        if not (isinstance(zero_point, int) and zero_point == 0):
            wide = build.call(aten.sub.Tensor, wide, zero_point)
    _replace(node, aten.mul.Tensor, (wide, scale))


def _write_dequantize_channels(graph: fx.Graph, node: fx.Node) -> None:
    scale, zero_point, axis = node.args[1:4]
    value = node.meta["val"]
    shape = [-1 if index == axis else 1 for index in range(value.dim())]
    with graph.inserting_before(node):
        build = Builder(node)
        broadcast = build.call(aten.view.default, scale, shape)
        zero: Any = 0
        if zero_point is not None and not _is_zero(cast(fx.Node, zero_point)):
            zero = build.call(aten._to_copy.default, zero_point, dtype=value.dtype)
            zero = build.call(aten.view.default, zero, shape)
    _write_dequantize(graph, node, broadcast, zero)


def _is_zero(constant: fx.Node) -> bool:
    if constant.op != "get_attr" or constant.graph.owning_module is None:
        return False
    return not bool(constant.graph.owning_module.get_buffer(str(constant.target)).any())
