"""The options of `backend="openvino"`, checked before anything is lowered."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from backend_common.options import check_options, option_error
from executorch.exir.backend.compile_spec_schema import CompileSpec

# GPU, GPU.1, AUTO, AUTO:GPU,CPU, HETERO:GPU.0,CPU. Whether the device is there is another
# question, which arises where something is compiled.
_DEVICE = r"(?:CPU|GPU|NPU)(?:\.\d+)?"
_DEVICES = re.compile(
    rf"{_DEVICE}|AUTO(?::-?{_DEVICE}(?:,-?{_DEVICE})*)?|HETERO:{_DEVICE}(?:,{_DEVICE})*"
)

# What to do about operators that treat NaN otherwise than PyTorch does.
_NAN = ("exact", "fast")


@dataclass(frozen=True)
class Options:
    """device: OpenVINO's name of a device. nan: `exact` as PyTorch, `fast` as OpenVINO."""

    device: str = "CPU"
    nan: str = "exact"

    def compile_specs(self) -> list[CompileSpec]:
        specs = [CompileSpec("device", self.device.encode())]
        if self.nan != "exact":
            specs.append(CompileSpec("nan", self.nan.encode()))
        return specs


def parse(options: Mapping[str, object]) -> Options:
    """LoweringError names the option that is wrong and what it accepts."""
    checked = check_options("openvino", options, {"device": "CPU", "nan": "exact"})
    device, nan = checked["device"], checked["nan"]
    if not isinstance(device, str) or not _DEVICES.fullmatch(device):
        raise option_error(
            "openvino",
            "device",
            f"openvino's option 'device' is {device!r}; it can be CPU, GPU or NPU, one of "
            "several as GPU.1, or a choice as AUTO:GPU,CPU or HETERO:GPU,CPU",
        )
    if not isinstance(nan, str) or nan not in _NAN:
        raise option_error(
            "openvino", "nan", f"openvino's option 'nan' is {nan!r}; it can be exact or fast"
        )
    return Options(device, nan)


def from_compile_specs(specs: list[CompileSpec]) -> Options:
    return parse({spec.key: bytes(spec.value).decode().rstrip("\0") for spec in specs})
