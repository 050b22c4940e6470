"""Lower PyTorch programs to ExecuTorch backends, run them, and compare.

    import pte
    lowered = pte.lower(module, example_inputs, backend="openvino")
    lowered.save("model.pte")
    outputs = pte.load("model.pte").forward(*inputs)

The command of the same name is in `pte.command`.
"""

from typing import TYPE_CHECKING, Any

import backend_common

if TYPE_CHECKING:
    from backend_common import (
        ExecutionError,
        Lowered,
        LoweringError,
        Method,
        Program,
        Row,
        load,
        lower,
    )

__all__ = [
    "ExecutionError",
    "Lowered",
    "LoweringError",
    "Method",
    "Program",
    "Row",
    "load",
    "lower",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(backend_common, name)
    raise AttributeError(f"module 'pte' has no attribute '{name}'")
