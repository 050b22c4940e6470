"""Passes applied to programs, which stay as they were; what a pass leaves becomes a row."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from backend_common.diagnostics import source_line
from backend_common.graph import Pass, graph_modules
from backend_common.operators import operator_name
from backend_common.report import Row
from executorch.exir.pass_base import PassResult
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import SymIntArgument, TensorArgument

OnRow = Callable[[Row], None]


class Rows:
    """What passes tell of the nodes that they leave, as rows; each goes to `on_row`."""

    def __init__(self, on_row: OnRow | None = None) -> None:
        self._on_row = on_row

    def reject(self, node: fx.Node, reason: str, remedy: str = "") -> None:
        if self._on_row is not None:
            operator, source = operator_name(node), source_line(node)
            row = Row("", operator, node.name, source, False, "qualcomm", reason, remedy)
            self._on_row(row)


def own(program: ExportedProgram) -> ExportedProgram:
    """A copy with a graph, a signature and tables of its own; tensors are shared.

    Without what export asserts of dtypes, which rewrites change and assertions keep alive.
    """
    made = copy.copy(program)
    made._graph_module = copy.deepcopy(program.graph_module)
    made._graph_signature = copy.deepcopy(program.graph_signature)
    made._state_dict = dict(program.state_dict)
    made._constants = dict(program.constants)
    for module in graph_modules(made.graph_module):
        for node in list(module.graph.nodes):
            if node.target is torch.ops.aten._assert_tensor_metadata.default:
                module.graph.erase_node(node)
        module.recompile()
    return made


def apply(kind: type[Any], program: ExportedProgram, rows: Rows) -> int:
    """Runs one pass on the program, in place; returns how many nodes it rewrote."""
    count: int = kind(program)(program.graph_module, rows)
    if count:
        program.graph.eliminate_dead_code()
        name_outputs(program)
        program.graph.lint()
        program.graph_module.recompile()
    return count


def name_outputs(program: ExportedProgram) -> None:
    """The signature names what the graph returns; a rewritten node has another name."""
    results = program.graph.output_node().args[0]
    for spec, result in zip(program.graph_signature.output_specs, results, strict=True):
        if isinstance(spec.arg, (TensorArgument, SymIntArgument)) and isinstance(result, fx.Node):
            spec.arg = type(spec.arg)(result.name)


class EdgePass:
    """A pass in the form that ExecuTorch runs on Edge graphs."""

    def __init__(self, rewrite: Pass, rows: Rows) -> None:
        self.rewrite = rewrite
        self.__name__ = type(rewrite).__name__
        self._rows = rows

    def __call__(self, graph_module: fx.GraphModule) -> PassResult:
        count = self.rewrite(graph_module, self._rows)  # type: ignore[arg-type]  # it rejects alike
        if count:
            graph_module.graph.eliminate_dead_code()
            graph_module.graph.lint()
            graph_module.recompile()
        return PassResult(graph_module, bool(count))
