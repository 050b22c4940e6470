"""What partitioners say about the nodes that they leave, and where the user wrote them."""

import contextlib
import dataclasses
import re
import traceback
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any, cast

from torch import fx

# Frames of the libraries between the user's line and the operator.
_LIBRARY = re.compile(
    r"[\\/](?:torch|executorch|torchao|functorch)[\\/]"
    r"|[\\/](?:backend_common|(?:aoti|openvino|qualcomm)_backend)[\\/](?!\w+_test\.py)"
    r"|<frozen |<string>|<eval_with_key>"
)
_FRAME = re.compile(
    r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in [^\n]*)?\n?(?P<code>[^\n]*)',
    re.MULTILINE,
)


def library_frame(file_name: str) -> bool:
    """Whether a frame of this file is not the user's code."""
    return _LIBRARY.search(file_name) is not None


def source_line(node: Any) -> str:
    """`policy.py:41  loss.scatter_add_(0, idx, src)`: the innermost frame of the user's code.

    Empty when the node has no stack trace, as a node that a pass made.
    """
    trace = node.meta.get("stack_trace") or ""
    frames = list(_FRAME.finditer(trace))
    users = [frame for frame in frames if not library_frame(frame["file"])] or frames
    if not users:
        return ""
    innermost = users[-1]
    code = innermost["code"].strip()
    place = f"{PurePath(innermost['file']).name}:{innermost['line']}"
    return f"{place}  {code}" if code and not code.startswith("File ") else place


@contextlib.contextmanager
def keep_user_frames() -> Iterator[None]:
    """While exporting, stack traces keep what `forward` calls, not `forward` alone.

    torch drops the frames of functions that forward calls; theirs is the line that a user
    looks for.
    """
    tracer = fx.proxy.TracerBase
    original = tracer._filter_traceback_frames

    def keep(self: Any, frames: traceback.StackSummary) -> traceback.StackSummary:
        first = next((i for i, frame in enumerate(frames) if frame.name == "forward"), None)
        if first is None:
            return cast(traceback.StackSummary, original(self, frames))
        return traceback.StackSummary.from_list(
            [frame for frame in list(frames)[first:] if not library_frame(frame.filename)]
        )

    tracer._filter_traceback_frames = keep
    try:
        yield
    finally:
        tracer._filter_traceback_frames = original


@dataclasses.dataclass(frozen=True)
class Rejection:
    reason: str
    remedy: str


class Diagnostics:
    """Reasons by node name, for one method."""

    def __init__(self) -> None:
        self._rejections: dict[str, Rejection] = {}

    def reject(self, node: Any, reason: str, remedy: str = "") -> None:
        """Say why a node is not delegated; the last word on a node counts."""
        self._rejections[node.name] = Rejection(reason, remedy)

    def accept(self, nodes: Iterable[Any]) -> None:
        """Take back what was said of these nodes."""
        for node in nodes:
            self._rejections.pop(node.name, None)

    def of(self, node: Any) -> Rejection:
        return self._rejections.get(node.name, Rejection("", ""))
