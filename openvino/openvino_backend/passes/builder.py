"""Adds operators in front of a node, with the values that fake tensors tell."""

import contextlib
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

aten = torch.ops.aten


class Builder:
    """In the graph of `node`, before it. `number` makes constants of the first operand's dtype."""

    def __init__(self, node: fx.Node) -> None:
        self._graph = node.graph
        first = node.args[0]
        self.like = first.meta["val"] if isinstance(first, fx.Node) else node.meta["val"]

    def call(self, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
        made = self._graph.call_function(target, args, kwargs)
        values, named = fx.node.map_arg((args, kwargs), lambda node: node.meta["val"])
        mode = (
            self.like.fake_mode if isinstance(self.like, FakeTensor) else contextlib.nullcontext()
        )
        with mode:
            made.meta = {"val": _value_of(target, *values, **named)}
        return made

    def number(self, value: float) -> fx.Node:
        return self.call(aten.full.default, [], value, dtype=self.like.dtype)

    def less(self, left: Any, right: Any) -> fx.Node:
        return self.call(aten.lt.Tensor, left, right)

    def is_nan(self, value: Any) -> fx.Node:
        return self.call(aten.ne.Tensor, value, value)

    def where(self, condition: fx.Node, yes: Any, no: Any) -> fx.Node:
        return self.call(aten.where.self, condition, yes, no)


def _value_of(target: Any, *values: Any, **named: Any) -> Any:
    """torch's own kernels for fake copies of views fix the sizes that are not known."""
    if target is aten.view_copy.default:
        return aten.reshape.default(*values).clone(memory_format=torch.contiguous_format)
    if target is aten.permute_copy.default:
        return aten.permute.default(*values).clone(memory_format=torch.contiguous_format)
    return target(*values, **named)
