"""Lower PyTorch programs to ExecuTorch backends, and run them.

`lower(module, example_inputs, backend="openvino").save("model.pte")` writes a program, and
`load("model.pte").forward(*inputs)` runs it.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backend_common.errors import ExecutionError, LoweringError
    from backend_common.lowering import Lowered, lower
    from backend_common.methods import Method
    from backend_common.program import Program, load
    from backend_common.report import Row

# Where each name lives; torch is imported when one that needs it is asked for.
_HOMES = {
    "ExecutionError": "backend_common.errors",
    "Lowered": "backend_common.lowering",
    "LoweringError": "backend_common.errors",
    "Method": "backend_common.methods",
    "Program": "backend_common.program",
    "Row": "backend_common.report",
    "lower": "backend_common.lowering",
    "load": "backend_common.program",
}

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
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'backend_common' has no attribute '{name}'")
