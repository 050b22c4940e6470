"""Where our libraries are, for programs that run from Python and for lowering."""

from pathlib import Path

from backend_common import libraries

from aoti_backend.devices import Device


def delegate_library(device: Device) -> Path:
    return libraries.find(device.delegate, __file__)


def shim_library(device: Device) -> Path:
    """The functions that programs call; to be loaded before the delegate."""
    return libraries.find(device.shims, __file__, room="shims")


def kernel_list(device: Device) -> Path:
    """The names of what the shim library exports, as JSON."""
    return libraries.find(device.kernels, __file__, room="shims")
