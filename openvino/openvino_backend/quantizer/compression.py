"""Weights alone in 8 or 4 bits; the layers read what the weights are multiplied out to.

    weight                                   [outputs, inputs], float
    q.to(float) * scale                      8 bits: q [outputs, inputs], scale [outputs, 1]
    (q.to(float) * scale).reshape(...)       4 bits: q [outputs, inputs / group, group]

These are plain operators, so such a program runs on any kernels. OpenVINO multiplies inside its
matrix products; 4-bit weights are int8 until they enter OpenVINO's model (narrowing.py).
"""

import operator
from typing import Any, NamedTuple

import nncf
import torch
from nncf.experimental.torch.fx.nncf_graph_builder import GraphConverter
from nncf.quantization.algorithms.weight_compression.algorithm import (
    WeightCompression,
    get_weight_compression_configuration,
)
from nncf.quantization.algorithms.weight_compression.weight_lowering import (
    do_integer_quantization,
)
from nncf.tensor import Tensor as NncfTensor
from torch import fx
from torch.export import ExportedProgram

aten = torch.ops.aten


class Compressed(NamedTuple):
    """quantized: int8 or uint8. scale, zero_point: broadcast to it."""

    quantized: torch.Tensor
    scale: torch.Tensor
    zero_point: torch.Tensor | None


def compress(
    model: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    *,
    bits: int,
    group_size: int,
    symmetric: bool,
    dynamic_shapes: Any = None,
) -> ExportedProgram:
    """Raises ValueError where `group_size` does not divide a layer's inputs.

    Embeddings and the last layer have 8 bits in any case: they cost the most accuracy.
    """
    modes = nncf.CompressWeightsMode
    mode = {
        (8, True): modes.INT8_SYM,
        (8, False): modes.INT8_ASYM,
        (4, True): modes.INT4_SYM,
        (4, False): modes.INT4_ASYM,
    }[bits, symmetric]
    backup = nncf.BackupMode.INT8_SYM if symmetric else nncf.BackupMode.INT8_ASYM
    four_bits = {"group_size": group_size, "backup_mode": backup} if bits == 4 else {}
    with torch.no_grad():
        captured = torch.export.export(
            model, example_inputs, dynamic_shapes=dynamic_shapes, strict=False
        ).module()
        for parameters in _chosen(captured, mode, **four_bits):
            _compress_weight(captured, parameters)
        captured.graph.eliminate_dead_code()
        captured.recompile()
        captured.delete_all_unused_submodules()
        return torch.export.export(
            captured, example_inputs, dynamic_shapes=dynamic_shapes, strict=False
        )


def _chosen(model: fx.GraphModule, mode: Any, **settings: Any) -> list[Any]:
    """The weights that NNCF would compress, and how."""
    graph = GraphConverter.create_nncf_graph(model)
    configuration = get_weight_compression_configuration(mode, **settings)
    algorithm = WeightCompression(**configuration, subset_size=1)
    algorithm.set_backend_entity(model)
    every, *_ = algorithm.get_weight_compression_parameters(model, graph)
    chosen = [weight for weight in every if weight.compression_config is not None]
    for weight in chosen:
        size = weight.compression_config.group_size
        inputs = [weight.weight_shape[axis] for axis in weight.reduction_axes]
        if size != -1 and inputs[-1] % size:
            raise ValueError(
                f"group_size {size} does not divide the {inputs[-1]} inputs of "
                f"{weight.node_with_weight.node_name} (weight {weight.weight_name}, "
                f"{list(weight.weight_shape)}); take a divisor, or -1 for a whole row"
            )
    return chosen


def _compress_weight(model: fx.GraphModule, parameters: Any) -> None:
    by_name = {node.name: node for node in model.graph.nodes}
    reader = by_name[parameters.node_with_weight.node_name]
    target = reader.all_input_nodes[parameters.weight_port_id].target
    weight = operator.attrgetter(target)(model).detach()
    found = do_integer_quantization(
        NncfTensor(weight),
        parameters.compression_config,
        reduction_axes=parameters.reduction_axes,
    )
    zero_point = None if found.zero_point is None else found.zero_point.data
    compressed = Compressed(found.tensor.data, found.scale.data, zero_point)
    for node in list(model.graph.nodes):
        if node.op == "get_attr" and node.target == target:
            _multiply_out(model, node, compressed, weight)


def _multiply_out(
    model: fx.GraphModule, node: fx.Node, compressed: Compressed, weight: torch.Tensor
) -> None:
    """In place of a weight, the operators that make it of its compressed form."""
    graph = model.graph
    prefix = str(node.target).replace(".", "_")

    def constant(name: str, value: torch.Tensor) -> fx.Node:
        model.register_buffer(f"{prefix}_{name}", value)
        return graph.get_attr(f"{prefix}_{name}")

    with graph.inserting_before(node):
        quantized = constant("quantized", compressed.quantized)
        wide = graph.call_function(aten.to.dtype, (quantized, weight.dtype))
        if compressed.zero_point is not None:
            zero = constant("zero_point", compressed.zero_point)
            zero = graph.call_function(aten.to.dtype, (zero, weight.dtype))
            wide = graph.call_function(aten.sub.Tensor, (wide, zero))
        scale = constant("scale", compressed.scale.to(weight.dtype))
        result = graph.call_function(aten.mul.Tensor, (wide, scale))
        if compressed.quantized.shape != weight.shape:
            shape = list(weight.shape)
            result = graph.call_function(aten.reshape.default, (result, shape))
    node.replace_all_uses_with(result)
    graph.erase_node(node)
