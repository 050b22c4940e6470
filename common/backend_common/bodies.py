"""What the bodies of control flow take, hold and return, as ExecuTorch wants it."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import fx
from torch.export import ExportedProgram

from backend_common.diagnostics import source_line
from backend_common.errors import LoweringError
from backend_common.graph import Pass, attribute, graph_modules
from backend_common.operators import operator_name
from backend_common.report import Row

aten = torch.ops.aten
higher_order = torch.ops.higher_order

# What puts results of one call of the body after the other, and how many others come before.
_STACKING: dict[object, Callable[[fx.Node], int]] = {
    higher_order.map_impl: lambda node: 0,
    higher_order.scan: lambda node: len(cast(Any, node.args[1])),
}


class KeepOperandsApart(Pass):
    """
    Given:  cond(p, yes, no, (x, aten.mT(x)))           which torch refuses to decompose
    Result: cond(p, yes, no, (x, aten.clone(aten.mT(x))))
    """

    def match(self, node: fx.Node) -> Any:
        if not isinstance(node.target, torch._ops.HigherOrderOperator):
            return None
        roots: set[fx.Node] = set()
        found = []
        # The roots themselves first: what is no view needs no copy.
        for operand in sorted(_tensors(node), key=lambda operand: _root(operand) is not operand):
            if _root(operand) in roots and _root(operand) is not operand:
                found.append(operand)
            roots.add(_root(operand))
        return found or None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        for operand in found:
            with node.graph.inserting_before(node):
                own = node.graph.call_function(
                    aten.clone.default, (operand,), {"memory_format": torch.contiguous_format}
                )
            node.replace_input_with(operand, own)


def _tensors(node: fx.Node) -> list[fx.Node]:
    return [x for x in node.all_input_nodes if isinstance(x.meta.get("val"), torch.Tensor)]


def _root(node: fx.Node) -> fx.Node:
    """What this is a view of, and that of; itself where it is none."""
    while node.op == "call_function" and (schema := getattr(node.target, "_schema", None)):
        first = schema.arguments[0].alias_info if schema.arguments else None
        if first is None or first.is_write or not isinstance(node.args[0], fx.Node):
            break
        node = node.args[0]
    return node


class FillConstants(Pass):
    """
    Given:  aten.lift_fresh_copy(constant)     of one number, in a body: y[0] = 1.0
    Result: aten.full([], 1.0)

    torch.export makes no inputs of constants in bodies, and torch's decompositions fail on them.
    """

    def match(self, node: fx.Node) -> Any:
        found = _constant_in_body(node)
        return found if found is not None and found.numel() == 1 else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        source, graph = node.args[0], node.graph
        node.target = aten.full.default
        node.args, node.kwargs = (list(found.shape), found.item()), {"dtype": found.dtype}
        if not source.users:
            graph.erase_node(source)
        # What is left in the module counts as a buffer of the program.
        if not graph.find_nodes(op="get_attr", target=source.target):
            delattr(graph.owning_module, str(source.target))


def _constant_in_body(node: fx.Node) -> torch.Tensor | None:
    if node.target is not aten.lift_fresh_copy.default or node.args[0].op != "get_attr":
        return None
    found = attribute(node.graph.owning_module, str(node.args[0].target))
    return found if isinstance(found, torch.Tensor) else None


def _refusals(name: str, node: fx.Node) -> list[Row]:
    def row(reason: str, remedy: str) -> Row:
        source = source_line(node)
        return Row(name, operator_name(node), node.name, source, False, "", reason, remedy)

    if _constant_in_body(node) is not None:
        return [
            row(
                "it makes a constant of several numbers in the body of a control-flow operator",
                "make it outside, or register it as a buffer, and pass it as an operand",
            )
        ]
    if node.target not in _STACKING:
        return []
    results = node.meta["val"]
    results = results if isinstance(results, (tuple, list)) else [results]
    stacked = results[_STACKING[node.target](node) :]
    if all(isinstance(size, int) for each in stacked for size in each.shape[1:]):
        return []
    return [
        row(
            "each step's result has a dynamic size, and programs stack results of one size only",
            "fix the size in dynamic_shapes, or compute with all steps at once",
        )
    ]


def prepare_bodies(name: str, program: ExportedProgram) -> None:
    """In place; LoweringError names what ExecuTorch has no place for."""
    KeepOperandsApart()(program.graph_module)
    FillConstants()(program.graph_module)
    rows = [
        row
        for module in graph_modules(program.graph_module)
        for node in module.graph.nodes
        if node.op == "call_function"
        for row in _refusals(name, node)
    ]
    if rows:
        noun = "operator" if len(rows) == 1 else "operators"
        raise LoweringError(f"'{name}' has {len(rows)} {noun} that no program can hold:", rows)
