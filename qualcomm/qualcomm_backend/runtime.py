"""The delegate that runs programs: the one of ExecuTorch's wheel, and QNN under it."""

from pathlib import Path

from backend_common.program import executorch_library

from qualcomm_backend import sdk

DELEGATE = "libexecutorch_backend_qnn.so"


def delegate_libraries() -> tuple[Path, ...]:
    """The wheel's delegate; QNN's own libraries are opened, since it looks for them by name."""
    sdk.load()
    return (executorch_library(DELEGATE),)
