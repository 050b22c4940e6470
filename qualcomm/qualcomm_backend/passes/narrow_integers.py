"""Compute integers of 64 bits in 32, where no value can be out of their range."""

import itertools
from collections.abc import Callable
from operator import getitem
from typing import Any, TypeAlias

import torch
from backend_common.diagnostics import Diagnostics
from backend_common.graph import Reject, propagate_metadata
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from qualcomm_backend.passes.constants import add_constant, constant_of
from qualcomm_backend.passes.form import ProgramPass

aten = torch.ops.aten

Range: TypeAlias = tuple[int, int]

_NARROW = torch.iinfo(torch.int32)

# They move elements of their first operand, or choose among those of a list.
_MOVES = frozenset(
    {
        *(aten.view.default, aten.reshape.default, aten.permute.default, aten.transpose.int),
        *(aten.expand.default, aten.slice.Tensor, aten.select.int, aten.squeeze.default),
        *(aten.squeeze.dim, aten.squeeze.dims, aten.unsqueeze.default, aten.clone.default),
        *(aten.flip.default, aten.repeat.default, aten.t.default, aten.flatten.using_ints),
        *(aten.amax.default, aten.amin.default, aten.unflatten.int, aten.alias.default),
    }
)
_LISTS = frozenset({aten.cat.default, aten.stack.default})
_COMPARISONS = frozenset(
    getattr(getattr(aten, name), overload)
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for overload in ("Tensor", "Scalar")
)
_CAST = aten._to_copy.default


def _sum(x: Range, y: Range) -> Range:
    return x[0] + y[0], x[1] + y[1]


def _difference(x: Range, y: Range) -> Range:
    return x[0] - y[1], x[1] - y[0]


def _product(x: Range, y: Range) -> Range:
    corners = [a * b for a, b in itertools.product(x, y)]
    return min(corners), max(corners)


_ARITHMETIC: dict[Any, Callable[[Range, Range], Range]] = {
    aten.add.Tensor: _sum,
    aten.add.Scalar: _sum,
    aten.sub.Tensor: _difference,
    aten.sub.Scalar: _difference,
    aten.mul.Tensor: _product,
    aten.mul.Scalar: _product,
    aten.maximum.default: lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    aten.minimum.default: lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
}


class NarrowIntegers(ProgramPass):
    """
    Given:  y = aten.add(aten._to_copy(b: bool, dtype=int64), 3)
    Result: y = aten._to_copy(aten.add(aten._to_copy(b, dtype=int32), 3), dtype=int64)

    Ranges start at what is narrow already: casts, constants, places in a dimension. What may be
    out of 32 bits stays as it is, inputs of 64 bits and all that is computed of them among it.
    """

    def __call__(self, graph_module: fx.GraphModule, diagnostics: Diagnostics | None = None) -> int:
        """Ranges before the nodes: what a pass over single nodes does not know."""
        if graph_module is not self.program.graph_module:
            return 0
        self._ranges: dict[fx.Node, Range] = {}
        self._narrow: dict[fx.Node, fx.Node] = {}
        for node in graph_module.graph.nodes:
            known = self._range(node)
            if known is not None and _is_long(node):
                self._ranges[node] = known
        self._changed: list[fx.Node] = []
        count = super().__call__(graph_module, diagnostics)
        if count:
            propagate_metadata(graph_module, self._changed)
        return count

    def match(self, node: fx.Node) -> Any:
        if node.op != "call_function" or not self._can_be_narrow(node):
            return None
        long = [each for each in node.all_input_nodes if _is_long(each)]
        if not long:
            return None
        unknown = [each for each in long if not _fits(self._ranges.get(each))]
        if _is_long(node) and not _fits(self._ranges.get(node)):
            unknown.append(node)
        for number in node.args:
            if type(number) is int and not _fits((number, number)):
                return Reject(node, f"32 bits do not hold {number}")
        if unknown:
            return Reject(node, f"{unknown[0].name} may have values that 32 bits do not hold")
        return True

    def rewrite(self, node: fx.Node, found: Any) -> None:
        graph, value = node.graph, node.meta["val"]
        for each in list(node.all_input_nodes):
            if _is_long(each):
                node.replace_input_with(each, self._narrowed(each))
        self._changed.append(node)
        if not _is_long(node):
            return
        with graph.inserting_after(node):
            wide = graph.call_function(_CAST, (node,), {"dtype": torch.int64})
        wide.meta = dict(node.meta)
        self._changed.append(wide)
        node.replace_all_uses_with(wide, delete_user_cb=lambda user: user is not wide)
        node.meta = dict(node.meta) | {"val": _as_narrow(value)}
        self._narrow[wide] = node
        self._ranges[wide] = self._ranges[node]

    def _narrowed(self, wide: fx.Node) -> fx.Node:
        if wide in self._narrow:
            return self._narrow[wide]
        held = constant_of(self.program, wide)
        if held is not None and not isinstance(held, FakeTensor):
            made = add_constant(self.program, f"{wide.name}_narrow", held.to(torch.int32))
        else:
            source = wide.args[0] if wide.target is _CAST else None
            if isinstance(source, fx.Node) and source.meta["val"].dtype is torch.int32:
                return source
            # Behind the value itself, whoever reads it first.
            with wide.graph.inserting_before(_place_behind(wide)):
                made = wide.graph.call_function(_CAST, (wide,), {"dtype": torch.int32})
            made.meta = dict(wide.meta) | {"val": _as_narrow(wide.meta["val"])}
            self._changed.append(made)
        self._narrow[wide] = made
        return made

    def _can_be_narrow(self, node: fx.Node) -> bool:
        target = node.target
        if target is _CAST:
            return not _is_long(node) and node.meta["val"].dtype is not torch.int32
        if target in _ARITHMETIC:
            return _is_long(node) and _alpha(node) == 1
        return target in _MOVES or target in _LISTS or target in _COMPARISONS

    def _range(self, node: fx.Node) -> Range | None:
        """The least and the greatest value; None where they are not known."""
        if (held := constant_of(self.program, node)) is not None:
            return _range_of_values(held)
        target: Any = node.target
        if node.op != "call_function" or not node.args:
            return None
        if target is getitem:
            return _range_of_places(node.args[0], node.args[1])
        if target in (aten.argmax.default, aten.argmin.default):
            return _range_of_places(node, 1)
        if target is _CAST:
            source: Any = node.args[0]
            return self._ranges.get(source, _range_of_dtype(source.meta["val"].dtype))
        if target in _LISTS:
            return self._range_of_all(list(node.args[0]))  # type: ignore[arg-type]
        if target in _MOVES:
            return self._operand(node.args[0])
        if target in _ARITHMETIC and _alpha(node) == 1:
            operands = [self._operand(each) for each in node.args[:2]]
            if None not in operands:
                return _ARITHMETIC[target](*operands)  # type: ignore[arg-type]
        return None

    def _operand(self, value: Any) -> Range | None:
        if isinstance(value, fx.Node):
            noted = value.meta.get("val")
            dtype = noted.dtype if isinstance(noted, torch.Tensor) else None
            return self._ranges.get(value, _range_of_dtype(dtype))
        return (value, value) if type(value) is int else None

    def _range_of_all(self, nodes: list[fx.Node]) -> Range | None:
        ranges = [self._operand(each) for each in nodes]
        if not ranges or None in ranges:
            return None
        return min(each[0] for each in ranges), max(each[1] for each in ranges)  # type: ignore[index]


def _range_of_dtype(dtype: torch.dtype | None) -> Range | None:
    """Of what 32 bits hold."""
    if dtype is torch.bool:
        return 0, 1
    if dtype in (torch.uint8, torch.int8, torch.int16, torch.int32):
        return torch.iinfo(dtype).min, torch.iinfo(dtype).max
    return None


def _range_of_values(held: torch.Tensor) -> Range | None:
    # While ExecuTorch traces, parameters have no values.
    if isinstance(held, FakeTensor) or held.dtype is not torch.int64 or not held.numel():
        return None
    return int(held.min()), int(held.max())


def _range_of_places(node: Any, result: Any) -> Range | None:
    """Of the places that a node finds along a dimension."""
    finds = (aten.argmax.default, aten.argmin.default, aten.max.dim, aten.min.dim)
    sorts = (aten.topk.default, aten.sort.default, aten.sort.stable)
    if not isinstance(node, fx.Node) or node.target not in (*finds, *sorts) or result != 1:
        return None
    x: Any = node.args[0]
    shape = x.meta["val"].shape
    if not all(isinstance(size, int) for size in shape):
        return None
    return 0, max(0, x.meta["val"].numel() - 1)


def _alpha(node: fx.Node) -> Any:
    return node.args[2] if len(node.args) > 2 else node.kwargs.get("alpha", 1)


def _is_long(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype is torch.int64


def _fits(known: Range | None) -> bool:
    return known is not None and known[0] >= _NARROW.min and known[1] <= _NARROW.max


def _as_narrow(value: torch.Tensor) -> torch.Tensor:
    return value.to(torch.int32)


def _place_behind(node: fx.Node) -> fx.Node:
    """A node behind it, and behind all placeholders."""
    if node.op != "placeholder":
        return node.next
    return next(each for each in node.graph.nodes if each.op != "placeholder")
