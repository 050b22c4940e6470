"""What partitioners say about the nodes that they leave, and where the user wrote them."""

import dataclasses
import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

# Frames of the libraries between the user's line and the operator.
_LIBRARY = re.compile(
    r"[\\/](?:torch|executorch|torchao|functorch)[\\/]|[\\/](?:backend_common|\w+_backend)[\\/]"
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
