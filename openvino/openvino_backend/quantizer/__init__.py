"""Quantised models for the OpenVINO backend.

    from openvino_backend.quantizer import quantize

    exported = quantize(model, example_inputs, mode="int8", calibration=inputs)
    lowered = pte.lower(exported, backend="openvino")

NNCF decides where to quantise, and is imported when something is quantised, not before.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

    from openvino_backend.quantizer.annotation import OpenvinoQuantizer as OpenvinoQuantizer

# What is computed in 8 bits: weights and activations.
ACTIVATION_MODES = ("int8", "int8_mixed", "int8_transformer")
# What is stored in 8 or 4 bits: weights alone.
WEIGHT_MODES = ("int8_weights", "int4_weights")
MODES = (*ACTIVATION_MODES, *WEIGHT_MODES)

GROUP_SIZE = 128


def quantize(
    model: "torch.nn.Module",
    example_inputs: Sequence[Any],
    *,
    mode: str,
    calibration: Iterable[Sequence[Any]] = (),
    group_size: int | None = None,
    symmetric: bool = True,
    overflow_fix: Literal["auto"] | bool = "auto",
    device: str = "CPU",
    dynamic_shapes: Any = None,
) -> "ExportedProgram":
    """The model quantised, ready for `pte.lower`.

    mode: `int8` (weights and activations symmetric), `int8_mixed` (activations with a zero
        point), `int8_transformer` (as mixed, placed for attention), `int8_weights` and
        `int4_weights` (activations stay as they are).
    calibration: inputs that show the range of the activations; the modes that quantise
        activations need some, the others take none.
    group_size: of `int4_weights`, how many weights share a scale: 128 unless it is given, or -1
        for a whole row. It must divide the number of inputs of every layer.
    symmetric: of the modes for weights; False gives them zero points.
    overflow_fix: keep 8-bit weights within 7 bits, so that 16-bit sums of products cannot
        saturate on CPUs without VNNI. `auto` does it unless `device` is a GPU or an NPU.
    device: where it will run; a program for the CPU may meet any CPU.
    dynamic_shapes: as torch.export.export takes it.

    Raises ValueError for what does not fit together, naming both values, and ImportError, saying
    what to install, without NNCF.
    """
    _check(mode, calibration, group_size, symmetric, overflow_fix)
    require_nncf()
    if mode in WEIGHT_MODES:
        from openvino_backend.quantizer.compression import compress

        return compress(
            model,
            tuple(example_inputs),
            bits=8 if mode == "int8_weights" else 4,
            group_size=group_size or GROUP_SIZE,
            symmetric=symmetric,
            dynamic_shapes=dynamic_shapes,
        )
    from openvino_backend.quantizer.calibration import calibrate

    fix = not device.startswith(("GPU", "NPU")) if overflow_fix == "auto" else overflow_fix
    return calibrate(
        model, tuple(example_inputs), mode, calibration, fix, dynamic_shapes=dynamic_shapes
    )


def _check(
    mode: str, calibration: object, group_size: int | None, symmetric: bool, overflow_fix: object
) -> None:
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; it can be {', '.join(MODES)}")
    if group_size is not None and mode != "int4_weights":
        raise ValueError(f"group_size is {group_size}, and mode {mode!r} has no groups")
    if group_size is not None and group_size != -1 and group_size < 1:
        raise ValueError(f"group_size is {group_size}; it can be -1, for a whole row, or 1 and up")
    if not symmetric and mode not in WEIGHT_MODES:
        raise ValueError(
            f"symmetric is False, and mode {mode!r} has symmetric weights; "
            "int8_mixed gives activations a zero point"
        )
    if overflow_fix not in ("auto", True, False):
        raise ValueError(f"overflow_fix is {overflow_fix!r}; it can be 'auto', True or False")
    if mode in WEIGHT_MODES and calibration != ():
        raise ValueError(f"calibration is given, and mode {mode!r} quantises weights alone")


def require_nncf() -> None:
    """ImportError that says what to install, unless NNCF is there."""
    import importlib.util

    if importlib.util.find_spec("nncf") is None:
        raise ImportError(
            "openvino_backend.quantizer needs NNCF, and there is no module 'nncf': "
            "pip install nncf, or add //third_party:nncf to the target's deps"
        )


def __getattr__(name: str) -> object:
    if name == "OpenvinoQuantizer":
        require_nncf()
        from openvino_backend.quantizer.annotation import OpenvinoQuantizer

        return OpenvinoQuantizer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
