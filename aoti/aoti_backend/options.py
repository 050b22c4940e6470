"""The options of `backend="aoti-cpu"`, checked before anything is lowered."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from backend_common.options import check_options, option_error
from executorch.exir.backend.compile_spec_schema import CompileSpec

# What to do about operators without a kernel.
_MISSING_KERNELS = ("leave", "refuse")


@dataclass(frozen=True)
class Options:
    """isa: what the program's code needs of a CPU: `avx2`, `avx512`, or `native` for all that
        this one has.
    missing_kernels: `leave` operators without a kernel to the portable ones, or `refuse`.
    """

    isa: str = "avx2"
    missing_kernels: str = "leave"

    def compile_specs(self) -> list[CompileSpec]:
        return [CompileSpec(key, value.encode()) for key, value in asdict(self).items()]


_DEFAULTS = asdict(Options())


def parse(backend: str, isas: Mapping[str, object], options: Mapping[str, object]) -> Options:
    """LoweringError names the option that is wrong and what it accepts."""
    accepted = {"isa": tuple(isas), "missing_kernels": _MISSING_KERNELS}
    checked = check_options(backend, options, _DEFAULTS)
    for name, value in checked.items():
        if not isinstance(value, str) or value not in accepted[name]:
            names = ", ".join(accepted[name][:-1])
            known = f"{names} or {accepted[name][-1]}" if names else accepted[name][-1]
            raise option_error(
                backend, name, f"{backend}'s option '{name}' is {value!r}; it can be {known}"
            )
    return Options(**checked)  # type: ignore[arg-type]  # checked above


def from_compile_specs(specs: list[CompileSpec]) -> Options:
    given = {spec.key: bytes(spec.value).decode().rstrip("\0") for spec in specs}
    return Options(**{key: given[key] for key in _DEFAULTS if key in given})
