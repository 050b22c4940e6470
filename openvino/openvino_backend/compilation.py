"""Models compiled for the devices of this machine."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

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
