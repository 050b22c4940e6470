"""Where the delegate and OpenVINO itself are, for programs that run from Python."""

import ctypes
import importlib.util
import os
import re
from pathlib import Path

from backend_common import libraries

DELEGATE = "libexecutorch_backend_openvino.so"

# The delegate reads it each time it looks for OpenVINO.
LIBRARY_VARIABLE = "OPENVINO_LIB_PATH"

_LIBRARY = re.compile(r"libopenvino_c\.so(\.\d+)*")


def delegate_library() -> Path:
    """Our delegate. Loaded before ExecuTorch's Python bindings it takes the place of theirs."""
    return libraries.find(DELEGATE, __file__)


def openvino_library() -> Path | None:
    """The C library of the installed wheel, found without importing the wheel; None without it."""
    try:
        found = importlib.util.find_spec("openvino")
    except (ImportError, ValueError):
        return None
    for folder in (found.submodule_search_locations or ()) if found else ():
        names = sorted(Path(folder, "libs").glob("libopenvino_c.so*"))
        if names := [name for name in names if _LIBRARY.fullmatch(name.name)]:
            return names[0]
    return None


def name_openvino_library() -> None:
    """Tell the delegate where the wheel's library is, unless the user named one."""
    if LIBRARY_VARIABLE not in os.environ and (library := openvino_library()) is not None:
        os.environ[LIBRARY_VARIABLE] = str(library)


class DelegateError(RuntimeError):
    """Our delegate cannot run programs in this process; the text says why."""


def load() -> ctypes.CDLL:
    """Load the delegate into this process, for programs that run on ExecuTorch's own bindings.

    Before `executorch.extension.pybindings` is imported: that brings the wheel's delegate, and
    the first one to register an id keeps it.
    """
    from backend_common.program import executorch_library

    name_openvino_library()
    # The runtime that the bindings will use; the delegate need not be installed beside it.
    ctypes.CDLL(str(executorch_library("libexecutorch.so")))
    library = ctypes.CDLL(str(delegate_library()))
    error = int(library.executorch_backends_openvino_registration_error())
    if error:
        raise DelegateError(
            f"another delegate runs 'OpenvinoBackend' in this process (ExecuTorch error {error}); "
            "call openvino_backend.runtime.load() before importing executorch's Python bindings"
        )
    return library
