"""What differs between the devices that a program can be compiled for."""

import contextlib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Isa:
    """name: as payloads have it. vectors: bits of a register. flags: the compiler's."""

    name: str
    vectors: int
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Device:
    """name: as in `aoti-cpu`, and as torch calls it.
    backend_id: the delegate's id in programs.
    shims: file name, and SONAME, of the library whose C functions a program calls.
    kernels: file name of the list of what that library exports.
    delegate: file name of the delegate's library.
    isas: what makes an instruction set, by the names that the option `isa` knows.
    inductor: options of Inductor, over those that all devices have.
    numerics: what of PyTorch's state must hold while Inductor looks at operators.
    """

    name: str
    backend_id: str
    shims: str
    kernels: str
    delegate: str
    isas: Mapping[str, Callable[[], Isa]]
    inductor: Mapping[str, object]
    numerics: Callable[[], contextlib.AbstractContextManager[object]]


def named(name: str) -> Device:
    """The device of this name; imports no other."""
    module = importlib.import_module(f"aoti_backend.devices.{name}")
    device: Device = getattr(module, name.upper())
    return device
