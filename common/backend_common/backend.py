"""What a backend is, and how one is found by its name.

Backends name themselves in entry points of the group `executorch_backends`; nothing here
imports one before it is asked for.
"""

import importlib.metadata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from backend_common.diagnostics import Diagnostics
from backend_common.errors import LoweringError
from backend_common.report import Row

GROUP = "executorch_backends"


class Backend(Protocol):
    """What an entry point of the group resolves to.

    name: `openvino`, as users write it.
    backend_id: the delegate's id in a program, `OpenvinoBackend`; empty for `portable`.
    """

    name: str
    backend_id: str

    def parse_options(self, options: Mapping[str, object]) -> Mapping[str, object]:
        """Checked options with their defaults; LoweringError names an option that is none."""
        ...

    def partitioners(
        self,
        options: Mapping[str, object],
        *,
        keep: frozenset[str],
        method: str,
        diagnostics: Diagnostics,
    ) -> list[Any]:
        """ExecuTorch partitioners for one method; they say to `diagnostics` what they leave."""
        ...

    def edge_compile_config(self, options: Mapping[str, object]) -> Any | None:
        """An executorch.exir.EdgeCompileConfig, or None for ours."""
        ...

    def passes(self, options: Mapping[str, object]) -> Sequence[Any]:
        """Functions from ExportedProgram to ExportedProgram, run in order before Edge."""
        ...

    def try_delegates(
        self,
        options: Mapping[str, object],
        programs: Mapping[str, Any],
        example_inputs: Mapping[str, Any],
    ) -> None:
        """Lowered Edge programs and ExportedProgram.example_inputs, by method.

        A chance to run the delegates before they are kept.
        WithdrawalError names the nodes that are to be given back.
        """
        ...

    def delegate_libraries(self) -> Sequence[Path]:
        """Shared libraries to load before a program runs; they register the delegate."""
        ...


def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group=GROUP)}


def names() -> list[str]:
    """The backends that are installed, or among the deps of the Bazel target that runs."""
    return sorted(_entry_points())


def find(name: str) -> Backend:
    """The backend of this name.

    Raises LoweringError with the names that are there and what to add, or with what its
    import raised.
    """
    points = _entry_points()
    if name not in points:
        there = ", ".join(sorted(points)) or "none"
        remedy = (
            f"add its package (pip install executorch-backends-{name}, or the Bazel target "
            "that declares its entry point) or name one of those"
        )
        reason = f"no backend is called '{name}'; there are: {there}"
        row = Row("", "", "backend", "", False, name, reason, remedy)
        raise LoweringError("the backend is not there:", [row])
    try:
        return cast(Backend, points[name].load())
    except Exception as error:
        reason = f"importing {points[name].value} raised {type(error).__name__}: {error}"
        row = Row("", "", "backend", "", False, name, reason, "install what it needs")
        raise LoweringError(f"the backend '{name}' is broken:", [row]) from error


def find_by_id(backend_id: str) -> Backend | None:
    """The installed backend whose delegate has this id, or None; broken ones are passed over."""
    for name in names():
        try:
            backend = find(name)
        except LoweringError:
            continue  # another backend's trouble
        if backend.backend_id == backend_id:
            return backend
    return None
