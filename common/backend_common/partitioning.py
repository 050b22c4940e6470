"""What every partitioner does alike."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from executorch.exir.backend.backend_details import BackendDetails
from torch import fx
from torch.export import ExportedProgram
from torch.fx.passes.operator_support import OperatorSupportBase

from backend_common.diagnostics import Rejection


class Reject(Protocol):
    """Receives why a node is not delegated and what to do about it."""

    def __call__(self, node: fx.Node, reason: str, remedy: str) -> None: ...


def ignore(node: fx.Node, reason: str, remedy: str) -> None:
    """For a plain user of a partitioner, who asks for no report."""


NONE_WITHDRAWN: Mapping[str, Rejection] = MappingProxyType({})


class Kept:
    """The operators that a user wants to keep: `aten.relu` for all of its overloads."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(name.replace("::", ".") for name in names)

    def __bool__(self) -> bool:
        return bool(self._names)

    def __contains__(self, operator: str) -> bool:
        return any(operator == name or operator.startswith(name + ".") for name in self._names)


class AllBut(OperatorSupportBase):
    """Supports every operator that is not objected to, nor another delegate's already."""

    def __init__(self, objections: Collection[fx.Node]) -> None:
        self._objections = objections

    def is_node_supported(self, submodules: Mapping[str, Any], node: fx.Node) -> bool:
        return (
            node.op == "call_function"
            and node not in self._objections
            and node.meta.get("delegation_tag") is None
        )


def leave_constants_that_are_returned(program: ExportedProgram) -> None:
    """A constant that goes into one delegate moves into it, unless others need it, too."""
    for node in program.graph.nodes:
        tag = node.meta.get("delegation_tag")
        elsewhere = any(user.meta.get("delegation_tag") != tag for user in node.users)
        if node.op == "placeholder" and tag is not None and elsewhere:
            del node.meta["delegation_tag"]


def refuse_a_second_backend(backend_id: str, module: str) -> None:
    """RuntimeError: ExecuTorch looks a backend's class up by its name, and takes the first one."""
    for other in BackendDetails.__subclasses__():
        if other.__name__ == backend_id and other.__module__ != module:
            raise RuntimeError(
                f"two backends are called {backend_id}: {other.__module__} and {module}; "
                "import only one of them"
            )
