"""The QNN SDK: found, asked for its version, and made known to this process.

It is the folder that `QNN_SDK_ROOT` names, or the libraries of the wheel `onnxruntime-qnn`, where
they lie. ExecuTorch opens them by name alone; those that this process has opened by path are
found under that name.
"""

import ctypes
import functools
import importlib.util
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from backend_common.errors import ExecutionError

VARIABLE = "QNN_SDK_ROOT"
WHEEL = "onnxruntime-qnn"
_PACKAGE = "onnxruntime_qnn"

# QAIRT's version by the wheel that brings it. ExecuTorch 1.5.1 is built with the headers of this
# one; before and after it a structure of the device's configuration has another layout, and no
# device can be created.
WORKING = {"2.49": "onnxruntime-qnn 2.5.0"}

_HTP, _SYSTEM = "libQnnHtp.so", "libQnnSystem.so"
_HOST = "x86_64-linux-clang"
_SECONDS = 120


class SdkError(ExecutionError):
    """There is no QNN SDK, or one that cannot work; the text says which does."""


@dataclass(frozen=True)
class Sdk:
    """folder: where its libraries for this host are. source: who named it."""

    folder: Path
    source: str


def find() -> Sdk:
    """The SDK of `QNN_SDK_ROOT`, else the wheel's. SdkError when there is none."""
    if root := os.environ.get(VARIABLE):
        return _checked(Sdk(Path(root) / "lib" / _HOST, f"{VARIABLE}={root}"))
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        return _checked(Sdk(Path(folder), f"the wheel {WHEEL}"))
    raise SdkError(
        f"Qualcomm: there is no QNN SDK here.\n  Install {_remedy()}, or name an SDK's folder in "
        f"{VARIABLE}."
    )


def _remedy() -> str:
    return " or ".join(f"{wheel} (QAIRT {version})" for version, wheel in WORKING.items())


def _checked(sdk: Sdk) -> Sdk:
    missing = [name for name in (_HTP, _SYSTEM) if not (sdk.folder / name).is_file()]
    if missing:
        raise SdkError(
            f"Qualcomm: {sdk.source} has no {' and no '.join(missing)} in {sdk.folder}.\n"
            f"  Install {_remedy()}, or name another SDK in {VARIABLE}."
        )
    return sdk


# In a process of its own: a library that cannot be loaded may abort the one that asks.
_ASK = """
import ctypes, sys
import executorch.backends.qualcomm.python.PyQnnManagerAdaptor as adaptor
print(adaptor.GetQnnSdkBuildId(sys.argv[1]), flush=True)
"""


@functools.cache
def version(sdk: Sdk) -> str:
    """QAIRT's version, such as `2.49.40`. SdkError when the library cannot be loaded."""
    command = [sys.executable, "-c", _ASK, str(sdk.folder / _HTP)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=_SECONDS, check=False
    )
    if found := re.search(r"v?(\d+\.\d+\.\d+)", child.stdout):
        return found[1]
    if child.returncode < 0:
        ending = f"killed by {signal.Signals(-child.returncode).name}"
    else:
        ending = f"status {child.returncode}"
    words = (child.stderr or child.stdout).strip().splitlines()
    raise SdkError(
        f"Qualcomm: {_HTP} of {sdk.source} cannot be asked for its version ({ending}): "
        f"{words[-1] if words else 'it says nothing'}\n  Install {_remedy()}."
    )


def refuse_other_versions(sdk: Sdk) -> None:
    """SdkError where ExecuTorch cannot create a device with this SDK."""
    found = version(sdk)
    if found.rpartition(".")[0] not in WORKING:
        raise SdkError(
            f"Qualcomm: {sdk.source} is QAIRT {found}, with which ExecuTorch 1.5.1 creates no "
            f"device.\n  Install {_remedy()}, or name another SDK in {VARIABLE}."
        )


@functools.cache
def load() -> tuple[ctypes.CDLL, ...]:
    """Opens the SDK's libraries in this process, once. SdkError as `find`, or for its version."""
    sdk = find()
    refuse_other_versions(sdk)
    try:
        return tuple(ctypes.CDLL(str(sdk.folder / name)) for name in (_SYSTEM, _HTP))
    except OSError as error:
        raise SdkError(f"Qualcomm: {sdk.source} cannot be loaded: {error}") from error
