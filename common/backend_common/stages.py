"""A stage of lowering turns whatever it raises into one LoweringError."""

import contextlib
import re
import traceback
from collections.abc import Iterator

from torch import fx

from backend_common.diagnostics import library_frame, source_line
from backend_common.errors import LoweringError
from backend_common.operators import operator_name
from backend_common.report import Row

# `SpecViolationError: Operator torch._ops.aten.cummax.default is not …`, `aten::cummax`
_OPERATOR = re.compile(
    r"\b(?:torch\._ops\.|torch\.ops\.)?(aten|dim_order_ops|quantized_decomposed)(?:::|\.)(\w+(?:\.\w+)?)"
)

# Where torch's and ExecuTorch's texts turn from what is wrong to how they found out.
_HOW = re.compile(
    r"\s*(?:While executing %|Original traceback:|Here is the node in the graph module:"
    r"|Caused by: \(|Suggested fixes:|The error above occurred"
    r"|For more information, run with TORCH_LOGS|The following call raised)"
)

# What comes between torch's first words and what it found out about a size.
_ASIDE = re.compile(r" For more information, run with TORCH_LOGS=\"\+dynamic\"\.(?=\n  - )")

# By the exception's type, which is more stable than its text.
_REMEDIES = {
    "GuardOnDataDependentSymNode": "choose with torch.where or torch.cond, or state what is known "
    "of the size with torch._check",
}

_FIXED_SIZE = (
    "leave the size out of dynamic_shapes, give it the bounds that the text names, or write what "
    "made it a number otherwise: n ** 0.5 for math.sqrt(n)"
)


@contextlib.contextmanager
def stage(name: str, method: str = "") -> Iterator[None]:
    """Runs one stage; its failure becomes a LoweringError with the operator and line it names."""
    try:
        yield
    except LoweringError:
        raise
    except Exception as error:
        where = f"{name} of '{method}'" if method else name
        row = _cause(error, name, method)
        raise LoweringError(f"{where} failed ({type(error).__name__}):", [row]) from error


def _cause(error: Exception, name: str, method: str) -> Row:
    text = str(error)
    node = _node_of(error)
    operator = operator_name(node) if node is not None else ""
    if not operator and (found := _OPERATOR.search(text)):
        operator = f"{found[1]}.{found[2]}"
    return Row(
        method=method,
        operator=operator,
        node=node.name if node is not None else name,
        source=(source_line(node) if node is not None else "") or _source_of(error),
        delegated=False,
        backend="",
        reason=what_is_wrong(text) or type(error).__name__,
        remedy=remedy_of(error),
    )


def what_is_wrong(text: str) -> str:
    """The text in one line, without its account of how the library came to it."""
    text = _ASIDE.sub("", text)
    if how := _HOW.search(text):
        text = text[: how.start()] or text
    return " ".join(text.removeprefix("Failed with error:").split())


def remedy_of(error: Exception) -> str:
    if str(error).startswith("Constraints violated"):
        return _FIXED_SIZE
    return _REMEDIES.get(type(error).__name__, "")


def _node_of(error: BaseException) -> fx.Node | None:
    """The node that an interpreter was at: passes, decompositions and the emitter are ones."""
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        node = frame.f_locals.get("n")
        if frame.f_code.co_name == "run_node" and isinstance(node, fx.Node):
            found = node
    return found


def _source_of(error: BaseException) -> str:
    """The user's innermost line on the way to the error, `policy.py:41  code`, or ""."""
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if not library_frame(frame.filename)]
    if not users:
        return ""
    frame = users[-1]
    return f"{frame.filename.rpartition('/')[2]}:{frame.lineno}  {frame.line or ''}".rstrip()
