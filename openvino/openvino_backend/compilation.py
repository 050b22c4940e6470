"""Models compiled for the devices of this machine."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from openvino_backend.conversion import ConversionError, brief


def available_devices() -> list[str]:
    """OpenVINO's names of the devices that are here."""
    import openvino

    return list(openvino.Core().available_devices)


def device_here(device: str) -> str | None:
    """The device itself if it is here; for a choice among several, the first that is.

    None: a program for it cannot be compiled here. It is when it is loaded.
    """
    there = available_devices()
    named = re.findall(r"(?<!-)\b(?:CPU|GPU|NPU)(?:\.\d+)?", device)
    # AUTO without names chooses among all; the CPU device is the one that takes everything.
    for name in named or ["CPU"]:
        if _is_there(name, there):
            return str(name)
    return None


def _is_there(name: str, there: Sequence[str]) -> bool:
    """GPU stands for GPU.0, and GPU.0 for a single GPU."""
    return any(name in (have, have.partition(".")[0], have + ".0") for have in there)


def compile_model(model: Any, device: str) -> Any:
    """The model compiled, with the arithmetic that PyTorch would have used."""
    import openvino

    core = openvino.Core()
    # Without the hint a CPU with bf16 instructions computes float32 models in bfloat16.
    settings: Mapping[str, object] = {"INFERENCE_PRECISION_HINT": "f32"}
    try:
        return core.compile_model(model, device, settings if device == "CPU" else {})
    except Exception as error:
        raise ConversionError(brief(error)) from error


def export(compiled: Any) -> bytes:
    stream = io.BytesIO()
    compiled.export_model(stream)
    return stream.getvalue()


def difference_after_import(compiled: Any, blob: bytes, device: str) -> str:
    """How a blob differs from the model it was exported from; "" when it does not.

    Both run once on the same inputs: some of OpenVINO's internal operators lose attributes in a
    blob (RoPE with tables of half the width reads beyond them).
    """
    import openvino

    core = openvino.Core()
    if device == "CPU":
        core.set_property(device, {"INFERENCE_PRECISION_HINT": "f32"})
    inputs = [_example(port) for port in compiled.inputs]
    try:
        imported = core.import_model(io.BytesIO(blob), device)
        expected, actual = compiled(inputs), imported(inputs)
    except Exception as error:
        return f"its trial run failed: {brief(error)}"
    for index in range(len(compiled.outputs)):
        one, other = (_comparable(results[index]) for results in (expected, actual))
        if one.shape != other.shape or not numpy.allclose(
            one, other, rtol=1e-3, atol=1e-3, equal_nan=True
        ):
            return f"output {index} of the model read back from its blob differs"
    return ""


def _example(port: Any) -> Any:
    """Small numbers of the port's type, in its least shape, with sizes of 2 where it has choice."""
    shape = []
    for size in port.partial_shape:
        least, greatest = size.get_min_length(), size.get_max_length()
        shape.append(
            least if size.is_static else max(least, 2 if greatest == -1 else min(2, greatest))
        )
    kind = port.element_type
    if kind.is_real():
        values = numpy.random.default_rng(0).standard_normal(shape)
    else:
        values = numpy.zeros(shape)
    import openvino

    tensor = openvino.Tensor(kind, openvino.Shape(shape))
    if kind.get_type_name() == "bf16":
        bits = values.astype(numpy.float32).view(numpy.uint32) >> 16
        tensor.data.view(numpy.uint16)[...] = bits.astype(numpy.uint16)
    else:
        tensor.data[...] = values
    return tensor


def _comparable(result: Any) -> Any:
    return numpy.asarray(result).astype(numpy.float64)


def installed_version() -> str:
    import openvino

    return version(openvino.__version__)


def version(text: str) -> str:
    """2026.4.1 of 2026.4.1-22063-9e3ffe1adae-releases/2026/4."""
    return text.split("-", 1)[0]


def isa(blob: bytes) -> str:
    """The instruction set that the blob's header names; "any" before OpenVINO 2026.4.

    The header's text, `ov=…;isa=… support`, is followed by a length whose bytes may be printable.
    """
    found = re.search(rb"isa=([ -:<-~]+?)(?: support|[^ -~]|;)", blob[:4096])
    return found.group(1).decode().strip() if found else "any"
