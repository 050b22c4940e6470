"""Compute what depends on nothing."""

from typing import Any

import torch
from backend_common.diagnostics import Diagnostics
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from qualcomm_backend.passes.constants import add_constant
from qualcomm_backend.passes.form import ProgramPass

aten = torch.ops.aten

_MOST_BYTES = 1 << 24

# A number for every element costs less than a constant.
_FULL = (aten.full.default, aten.zeros.default, aten.ones.default)
_MOST_FILLED = 64


class FoldConstants(ProgramPass):
    """
    Given:  m = aten.tril(aten.ones([64, 64]))
    Result: a constant m

    QNN's operators read what a delegate holds, or is given; a mask, an index or a number that
    another kernel computes at each call would be given.
    """

    def __call__(self, graph_module: fx.GraphModule, diagnostics: Diagnostics | None = None) -> int:
        """In the program's own graph: bodies have no constants."""
        if graph_module is not self.program.graph_module:
            return 0
        values: dict[fx.Node, torch.Tensor] = {}
        for node in graph_module.graph.nodes:
            if not _depends_on_nothing(node, values):
                continue
            try:
                value = _value(node, values)
            except Exception as error:  # a division by 0, say: as the program would, at run
                if diagnostics is not None:
                    diagnostics.reject(node, f"{type(error).__name__} when computed: {error}")
                continue
            if isinstance(value, torch.Tensor) and value.nbytes <= _MOST_BYTES:
                values[node] = value
        read = [node for node in values if _is_worth_it(node, values)]
        for node in read:
            # Memory of its own: a slice would take what it is a slice of along.
            value = values[node].clone(memory_format=torch.contiguous_format)
            constant = add_constant(self.program, f"folded_{node.name}", value)
            node.replace_all_uses_with(constant)
        return len(read)


def _depends_on_nothing(node: fx.Node, values: dict[fx.Node, torch.Tensor]) -> bool:
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
        return False
    if target._schema.is_mutable or torch.Tag.nondeterministic_seeded in target.tags:
        return False
    if target._schema.name.startswith("aten::empty"):
        return False
    return all(operand in values for operand in node.all_input_nodes)


def _value(node: fx.Node, values: dict[fx.Node, torch.Tensor]) -> Any:
    args, kwargs = fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
    with unset_fake_temporarily(), torch.no_grad():
        return node.target(*args, **kwargs)  # type: ignore[operator]


def _is_worth_it(node: fx.Node, values: dict[fx.Node, torch.Tensor]) -> bool:
    """Whether something that is computed reads it, and the program does not return it."""
    if any(user.op == "output" for user in node.users):
        return False
    if node.target in _FULL and values[node].numel() > _MOST_FILLED:
        return False
    return any(user not in values for user in node.users)
