"""What partitioners say about the nodes that they leave, and where the user wrote them."""

import contextlib
import dataclasses
import functools
import importlib.util
import os
import re
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, cast

from torch import fx

# Frames of these lie between the user's line and the operator.
_PACKAGES = (
    *("torch", "executorch", "torchao", "functorch"),
    *("backend_common", "aoti_backend", "openvino_backend", "qualcomm_backend"),
)
_PYTHON = sysconfig.get_path("stdlib") + os.sep  # where users' packages are installed, too
_NO_FILE = ("<frozen ", "<string>", "<eval_with_key>")
# A trace that was recorded on another machine.
_INSTALLED = re.compile(rf"[\\/](?:site|dist)-packages[\\/](?:{'|'.join(_PACKAGES)})[\\/]")

_FRAME = re.compile(
    r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in [^\n]*)?\n?(?P<code>[^\n]*)',
    re.MULTILINE,
)


@functools.cache
def _library_folders() -> tuple[str, ...]:
    """Where the packages are that are there; a folder's name alone would say too little."""
    folders = []
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        folders += [folder + os.sep for folder in (spec and spec.submodule_search_locations) or ()]
    return tuple(folders)


def library_frame(file_name: str) -> bool:
    """Whether a frame of this file is not the user's code."""
    return (
        file_name.startswith(_NO_FILE)
        or _INSTALLED.search(file_name) is not None
        or (file_name.startswith(_library_folders()) and not file_name.endswith("_test.py"))
        or (file_name.startswith(_PYTHON) and "-packages" + os.sep not in file_name)
    )


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
    """Reasons by node name, for one method.

    withdrawn: nodes that the backend gave back at an earlier attempt, and why.
    """

    def __init__(self, withdrawn: Mapping[str, Rejection] | None = None) -> None:
        self._rejections: dict[str, Rejection] = {}
        self.withdrawn: Mapping[str, Rejection] = dict(withdrawn or {})

    def reject(self, node: Any, reason: str, remedy: str = "") -> None:
        """Say why a node is not delegated; the last word on a node counts."""
        self._rejections[node.name] = Rejection(reason, remedy)

    def accept(self, nodes: Iterable[Any]) -> None:
        """Take back what was said of these nodes."""
        for node in nodes:
            self._rejections.pop(node.name, None)

    def of(self, node: Any) -> Rejection:
        return self._rejections.get(node.name, Rejection("", ""))
