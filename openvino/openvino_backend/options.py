"""The options of `backend="openvino"`, checked before anything is lowered."""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

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

_HINTS = ("latency", "throughput", "cumulative_throughput")

# A compile spec is a text, and so is what the delegate keeps of an option.
_MOST_CHARACTERS = 255


@dataclass(frozen=True)
class Options:
    """device: OpenVINO's name of a device, which need not be on this machine.
    nan: `exact` as PyTorch, `fast` as OpenVINO.
    precompile: whether the program carries the model compiled, too. It then loads faster where
        OpenVINO's version and the CPU are the same; everywhere else its IR is compiled.

    Defaults for the delegate, which the options of `load` override:
    performance_hint: `latency`, `throughput` or `cumulative_throughput`; None: OpenVINO's own.
    threads, streams: None: as many as OpenVINO likes.
    cache_dir: a folder for what is compiled at load; None: nothing is cached.
    """

    device: str = "CPU"
    nan: str = "exact"
    precompile: bool = False
    performance_hint: str | None = None
    threads: int | None = None
    streams: int | None = None
    cache_dir: str | None = None

    def compile_specs(self) -> list[CompileSpec]:
        """`device`, and what differs from its default, as texts."""
        given = {key: value for key, value in asdict(self).items() if value != _DEFAULTS[key]}
        return [
            CompileSpec(key, _text(value).encode())
            for key, value in {"device": self.device, **given}.items()
        ]


_MOST = 2**31 - 1

_DEFAULTS = asdict(Options())

_Check = Callable[[Any], bool]


def _one_of(names: tuple[str, ...]) -> _Check:
    return lambda value: isinstance(value, str) and value in names


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST


_CHECKS: dict[str, tuple[_Check, str]] = {
    "device": (
        lambda value: isinstance(value, str) and bool(_DEVICES.fullmatch(value)),
        "CPU, GPU or NPU, one of several as GPU.1, or a choice as AUTO:GPU,CPU or HETERO:GPU,CPU",
    ),
    "nan": (_one_of(_NAN), "exact or fast"),
    "precompile": (lambda value: isinstance(value, bool), "True or False"),
    "performance_hint": (_one_of(_HINTS), "latency, throughput or cumulative_throughput"),
    "threads": (_count, f"a number from 1 to {_MOST}"),
    "streams": (_count, f"a number from 1 to {_MOST}"),
    "cache_dir": (
        lambda value: isinstance(value, str) and 0 < len(value.encode()) <= _MOST_CHARACTERS,
        f"a folder's name of 1 to {_MOST_CHARACTERS} bytes",
    ),
}


def parse(options: Mapping[str, object]) -> Options:
    """LoweringError names the option that is wrong and what it accepts."""
    checked = check_options("openvino", options, _DEFAULTS)
    for name, value in checked.items():
        accepts, accepted = _CHECKS[name]
        if value is None and _DEFAULTS[name] is None:
            continue
        if not accepts(value):
            raise option_error(
                "openvino", name, f"openvino's option '{name}' is {value!r}; it can be {accepted}"
            )
    return Options(**checked)  # type: ignore[arg-type]  # checked above


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def from_compile_specs(specs: list[CompileSpec]) -> Options:
    given: dict[str, object] = {}
    for spec in specs:
        text = bytes(spec.value).decode().rstrip("\0")
        if spec.key == "precompile":
            given[spec.key] = {"true": True, "false": False}.get(text, text)
        elif spec.key in ("threads", "streams") and text.isdecimal():
            given[spec.key] = int(text)
        else:
            given[spec.key] = text
    return parse(given)
