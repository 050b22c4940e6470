"""Every cause for which torch.export refuses a module; it raises at the first one."""

import contextlib
import copy
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch._logging.structured import INTERN_TABLE

from backend_common.diagnostics import library_frame
from backend_common.report import Row
from backend_common.stages import remedy_of, what_is_wrong

# What draft_export can step over, and so tell all of: control flow and sizes that depend on
# values, and operators without a fake kernel.
_KINDS = {
    "DATA_DEPENDENT_ERROR": "depends on values, which a program cannot ask for while it is built",
    "MISSING_FAKE_KERNEL": "has no fake kernel, so that its result's shape is unknown",
}
_MISSING_FAKE_KERNEL = "register one with torch.library.register_fake"


def every_cause(
    error: Exception,
    name: str,
    module: torch.nn.Module,
    inputs: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    dynamic_shapes: Any,
) -> list[Row]:
    """Rows for all the causes of the kind that stopped torch.export; empty for other kinds.

    Works on copies of the module and its inputs, since draft_export computes real values.
    """
    if type(error).__name__ not in ("GuardOnDataDependentSymNode", "UnsupportedOperatorException"):
        return []
    try:
        with _quiet(), torch.no_grad():
            program = torch.export.draft_export(
                copy.deepcopy(module),
                copy.deepcopy(inputs),
                copy.deepcopy(dict(kwargs)),
                dynamic_shapes=dynamic_shapes,
            )
        failures = program._report.failures
    except Exception:
        return []  # the first cause is known anyhow
    return [
        _row(failure, error, name) for failure in failures if failure.failure_type.name in _KINDS
    ]


def _row(failure: Any, error: Exception, method: str) -> Row:
    kind = failure.failure_type.name
    operator = str(failure.data.get("op", ""))
    subject = operator or f"the condition {failure.data.get('expr', '')}"
    return Row(
        method=method,
        operator=operator,
        node="torch.export",
        source=_source(failure.data.get("user_stack") or failure.data.get("stack") or []),
        delegated=False,
        backend="",
        reason=what_is_wrong(f"{subject} {_KINDS[kind]}"),
        remedy=_MISSING_FAKE_KERNEL if kind == "MISSING_FAKE_KERNEL" else remedy_of(error),
    )


def _source(frames: list[dict[str, Any]]) -> str:
    """The innermost frame of the user's code, as diagnostics.source_line writes it."""
    # Frames name files by number. The report's own table has the files that were new to it.
    files = {number: path for path, number in INTERN_TABLE.items()}
    for frame in reversed(frames):
        path = files.get(frame["filename"], str(frame["filename"]))
        if not library_frame(path):
            return f"{path.rpartition('/')[2]}:{frame['line']}  {frame.get('loc') or ''}".rstrip()
    return ""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """draft_export's warnings say what the rows will say."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


_LOGGERS = ("torch.export._draft_export", "torch.fx.experimental.symbolic_shapes")
