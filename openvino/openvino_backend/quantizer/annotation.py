"""Where NNCF would quantise, said in the terms of PyTorch's PT2E quantisation."""

from typing import Any, TypeAlias

import torch
from nncf import IgnoredScope
from nncf.common.quantization.structs import QuantizationPreset, QuantizationScheme
from nncf.experimental.torch.fx.nncf_graph_builder import GraphConverter
from nncf.parameters import ModelType
from nncf.quantization.algorithms.min_max.algorithm import MinMaxQuantization
from nncf.torch.model_graph_manager import get_weight_tensor_port_ids
from torch import fx
from torchao.quantization.pt2e import HistogramObserver, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationSpec,
    QuantizationSpecBase,
    Quantizer,
    SharedQuantizationSpec,
)

from openvino_backend.quantizer.observers import OverflowSafeWeights, SymmetricActivations

# The place of a value: what a node makes, or what one of its readers reads.
Place: TypeAlias = fx.Node | tuple[fx.Node, fx.Node]

_ANNOTATION = "quantization_annotation"  # torchao's key
_EPSILON = 1e-16

_PLACEMENT: dict[str, dict[str, Any]] = {
    "int8": {"preset": QuantizationPreset.PERFORMANCE},
    "int8_mixed": {"preset": QuantizationPreset.MIXED},
    "int8_transformer": {"model_type": ModelType.TRANSFORMER},
}
# OpenVINO computes norms in floating point: 8 bits there cost accuracy and gain nothing.
_IGNORED = IgnoredScope(types=["layer_norm", "group_norm"], validate=False)


class OpenvinoQuantizer(Quantizer):
    """For `prepare_pt2e` and `convert_pt2e`: 8-bit weights and activations as OpenVINO runs them.

    mode: `int8`, `int8_mixed` or `int8_transformer`.
    overflow_fix: weights within 7 bits, for CPUs without VNNI.
    """

    def __init__(self, mode: str = "int8", *, overflow_fix: bool = True) -> None:
        super().__init__()
        if mode not in _PLACEMENT:
            raise ValueError(f"mode is {mode!r}; it can be {', '.join(_PLACEMENT)}")
        self._placement = MinMaxQuantization(**_PLACEMENT[mode], ignored_scope=_IGNORED)
        self._overflow_fix = overflow_fix

    def annotate(self, model: fx.GraphModule) -> fx.GraphModule:
        nncf_graph = GraphConverter.create_nncf_graph(model)
        self._placement._set_backend_entity(model)
        setup = self._placement.find_quantization_setup(model, nncf_graph)
        nodes = {node.name: node for node in model.graph.nodes}

        def reader(point: Any) -> fx.Node:
            return nodes[point.insertion_point.target_node_name]

        def place(point: Any) -> Place:
            node = reader(point)
            if point.is_weight_quantization_point():
                nncf_node = nncf_graph.get_node_by_name(node.name)
                port = get_weight_tensor_port_ids(nncf_node, nncf_graph)[0]
            else:
                port = point.insertion_point.input_port_id
            return node if port is None else (node.all_input_nodes[port], node)

        points = setup.quantization_points
        for point in points.values():
            _annotate(place(point), self._specification(point))
        order = {node: index for index, node in enumerate(model.graph.nodes)}
        for group in setup.unified_scale_groups.values():
            # The others take the range of the one that the graph comes to first.
            first, *rest = sorted((points[i] for i in group), key=lambda p: order[reader(p)])
            for point in rest:
                _annotate(place(point), SharedQuantizationSpec(place(first)))
        return model

    def validate(self, model: fx.GraphModule) -> None:
        """Whatever NNCF places, OpenVINO runs."""

    def _specification(self, point: Any) -> QuantizationSpec:
        symmetric = point.qconfig.mode is QuantizationScheme.SYMMETRIC
        if point.is_weight_quantization_point():
            observer = OverflowSafeWeights if self._overflow_fix else PerChannelMinMaxObserver
            return QuantizationSpec(
                dtype=torch.int8,
                observer_or_fake_quant_ctr=observer.with_args(eps=_EPSILON),
                quant_min=-128,
                quant_max=127,
                qscheme=torch.per_channel_symmetric,
                ch_axis=0,
            )
        observer = SymmetricActivations if symmetric else HistogramObserver
        return QuantizationSpec(
            dtype=torch.uint8,
            observer_or_fake_quant_ctr=observer.with_args(eps=_EPSILON),
            quant_min=0,
            quant_max=255,
            qscheme=torch.per_tensor_symmetric if symmetric else torch.per_tensor_affine,
        )


def _annotate(place: Place, specification: QuantizationSpecBase) -> None:
    node = place if isinstance(place, fx.Node) else place[1]
    annotation = node.meta.setdefault(_ANNOTATION, QuantizationAnnotation(_annotated=True))
    if isinstance(place, fx.Node):
        annotation.output_qspec = specification
    else:
        annotation.input_qspec_map[place[0]] = specification
