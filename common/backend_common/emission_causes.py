"""What a program cannot say: ExecuTorch's emitter raises at the first such node, without a name."""

from collections.abc import Iterator
from typing import Any, cast

import torch
from executorch.exir.passes.executorch_prim_ops_registry import is_sym_op
from torch import fx
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from backend_common.diagnostics import source_line
from backend_common.graph import graph_modules
from backend_common.operators import operator_name
from backend_common.report import Row
from backend_common.sizes import UNBOUNDED, bounds

aten = torch.ops.aten


def causes(method: str, program: ExportedProgram) -> Iterator[Row]:
    """Rows for nodes with effects, loops without an end that is known, and sizes without one."""
    unbounded: set[Any] = set()
    for module in graph_modules(program.graph_module):
        for node in module.graph.nodes:
            if node.op != "call_function":
                continue
            if (found := _cause(node, unbounded)) is not None:
                subject, reason, remedy = found
                name = operator_name(subject) or getattr(subject.target, "__name__", "")
                line = source_line(subject) or source_line(node)
                yield Row(method, name, subject.name, line, False, "", reason, remedy)


def _cause(node: fx.Node, unbounded: set[Any]) -> tuple[fx.Node, str, str] | None:
    name = getattr(node.target, "__name__", "")
    if name == "with_effects":
        # (token, operator, operands …); the check of what another operator says of its success.
        checked = [each for each in node.args[2:] if isinstance(each, fx.Node)]
        subject = _producer(checked[0]) if checked else node
        reason = f"{node.args[1]} follows it, an effect that ExecuTorch cannot emit"
        return subject, reason, "compute it outside of the program"
    if name == "while_loop":
        reason = "ExecuTorch has no loop whose end depends on values"
        remedy = "write its steps one after the other, or call a program for one step repeatedly"
        return node, reason, remedy
    schema = getattr(node.target, "_schema", None)
    if schema is not None and schema.is_mutable and not schema.returns:
        reason = "it writes to a tensor and returns nothing, and a program's operators return one"
        return node, reason, "declare and call one that returns the new tensor and writes to none"
    if (told := _of_sizes_without_instruction(node)) is not None:
        return told
    for leaf in pytree.tree_leaves(node.meta.get("val")):
        for size in leaf.shape if isinstance(leaf, torch.Tensor) else ():
            if isinstance(size, torch.SymInt) and bounds(size)[1] == UNBOUNDED:
                new = size.node.expr.free_symbols - unbounded
                unbounded |= new
                if new:
                    reason = "the size of its result depends on values, and has no maximum"
                    remedy = (
                        "state one with torch._check(y.shape[0] <= …), or compute it outside of "
                        "the program"
                    )
                    return node, reason, remedy
    return None


def _of_sizes_without_instruction(node: fx.Node) -> tuple[fx.Node, str, str] | None:
    """Such as the root of a dynamic head size, by which attention divides its scores."""
    value = node.meta.get("val")
    if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return None
    if isinstance(node.target, torch._ops.OpOverload) or is_sym_op(node.target):
        return None
    name = getattr(node.target, "__name__", str(node.target))
    operands = ", ".join(
        str(each.meta.get("val", each.name)) if isinstance(each, fx.Node) else str(each)
        for each in node.args
    )
    reason = (
        f"it needs {name}({operands}) of a dynamic size, for which programs have no instruction"
    )
    return node, reason, "fix this size in dynamic_shapes, or pass the number that it is needed for"


def _producer(node: fx.Node) -> fx.Node:
    """The operator, of one of its results."""
    while not operator_name(node) and node.args and isinstance(node.args[0], fx.Node):
        node = cast(fx.Node, node.args[0])
    return node
