"""Weights and activations in 8 bits, with ranges from calibration inputs."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from openvino_backend.quantizer.annotation import OpenvinoQuantizer


def calibrate(
    model: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    mode: str,
    calibration: Iterable[Sequence[Any]],
    overflow_fix: bool,
    *,
    dynamic_shapes: Any = None,
) -> ExportedProgram:
    """Raises ValueError without a calibration input."""
    with torch.no_grad():
        captured = torch.export.export(
            model, example_inputs, dynamic_shapes=dynamic_shapes, strict=False
        ).module()
        prepared = prepare_pt2e(captured, OpenvinoQuantizer(mode, overflow_fix=overflow_fix))
        count = 0
        for inputs in calibration:
            prepared(*inputs)
            count += 1
        if not count:
            raise ValueError(
                f"mode {mode!r} takes the range of activations from calibration inputs, "
                "and calibration has 0"
            )
        quantized = convert_pt2e(prepared, fold_quantize=True)
        return torch.export.export(
            quantized, example_inputs, dynamic_shapes=dynamic_shapes, strict=False
        )
