"""Programs in integers: calibrated by PT2E with ExecuTorch's rules for QNN."""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import fx
from torch.export import ExportedProgram

# Bits of activations and of weights.
PRECISIONS = ("8a8w", "16a8w", "16a4w", "16a16w")

_MARK = "quantized_decomposed"


@dataclass(frozen=True)
class Quantize:
    """Given:  a program of floats
    Result: one with quantize and dequantize around its operators, and weights of integers

    precision: bits of activations and of weights, as `8a8w`.
    calibration: inputs to run it on; None: those that it was exported with.
    A program that is quantized already stays as it is.
    """

    precision: str
    calibration: Sequence[Sequence[Any]] | None = None

    def __call__(self, exported: ExportedProgram) -> ExportedProgram:
        if any(_MARK in str(node.target) for node in exported.graph.nodes):
            return exported
        args, kwargs = cast(tuple[Any, Any], exported.example_inputs)
        calls: list[tuple[Any, Any]] = [(tuple(call), {}) for call in self.calibration or ()]
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        from qualcomm_backend import stock

        # Observers count in buffers; those of the program are not theirs.
        module = copy.deepcopy(exported).module(check_guards=False)
        with stock.undisturbed(), warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            prepared = prepare_pt2e(module, _quantizer(self.precision))
            for positional, keyword in calls or [(args, kwargs)]:
                prepared(*copy.deepcopy(positional), **copy.deepcopy(keyword))
            quantized = convert_pt2e(prepared)
            return torch.export.export(quantized, args, kwargs, strict=False)


def _quantizer(precision: str) -> Any:
    from executorch.backends.qualcomm.quantizer.quantizer import QnnQuantizer, QuantDtype

    class Quantizer(QnnQuantizer):
        """With ExecuTorch's rules and without its passes: ours have run."""

        def transform_for_annotation(self, model: fx.GraphModule) -> fx.GraphModule:
            return model

    made = Quantizer()
    made.set_default_quant_config(
        QuantDtype[f"use_{precision}"], is_conv_per_channel=True, is_linear_per_channel=True
    )
    return made
