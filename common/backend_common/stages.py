"""A stage of lowering turns whatever it raises into one LoweringError."""

import contextlib
import re
import traceback
from collections.abc import Iterator

from backend_common.diagnostics import library_frame
from backend_common.errors import LoweringError
from backend_common.report import Row

# `SpecViolationError: Operator torch._ops.aten.cummax.default is not …`, `aten::cummax`
_OPERATOR = re.compile(
    r"\b(?:torch\._ops\.|torch\.ops\.)?(aten|dim_order_ops|quantized_decomposed)(?:::|\.)(\w+(?:\.\w+)?)"
)


@contextlib.contextmanager
def stage(name: str, method: str = "") -> Iterator[None]:
    """Runs one stage; its failure becomes a LoweringError with the operator and line it names."""
    try:
        yield
    except LoweringError:
        raise
    except Exception as error:
        text = _first_lines(str(error)) or type(error).__name__
        operator = _OPERATOR.search(text)
        row = Row(
            method=method,
            operator=f"{operator[1]}.{operator[2]}" if operator else "",
            node=name,
            source=_source_of(error),
            delegated=False,
            backend="",
            reason=text,
            remedy="",
        )
        where = f"{name} of '{method}'" if method else name
        raise LoweringError(f"{where} failed ({type(error).__name__}):", [row]) from error


def _first_lines(text: str, count: int = 6) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return " ".join(lines[:count])


def _source_of(error: BaseException) -> str:
    """The user's innermost line on the way to the error, `policy.py:41  code`, or ""."""
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if not library_frame(frame.filename)]
    if not users:
        return ""
    frame = users[-1]
    return f"{frame.filename.rpartition('/')[2]}:{frame.lineno}  {frame.line or ''}".rstrip()
