"""Indices that a program is given are checked before OpenVINO writes where they point."""

from typing import Any

import torch
from backend_common.graph import Pass, users_that_mutate
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

aten = torch.ops.aten

# What is indexed, by a list with an entry for each of the first dimensions.
_BY_LIST = (aten.index_put.default, aten.index_put_.default)
# What is indexed along one dimension: (x, dim, index, ...).
_BY_DIMENSION = (
    aten.index_copy.default,
    aten.index_copy_.default,
    aten.index_add.default,
    aten.index_add_.default,
    aten.index_fill.int_Scalar,
    aten.index_fill_.int_Scalar,
    aten.index_fill.int_Tensor,
    aten.index_fill_.int_Tensor,
)
# Their results are bounded whatever they are of, or the partitioner finds out that they are not.
_BOUNDED = frozenset({"clamp", "clamp_", "remainder", "arange", "argmax", "argmin", "topk", "sort"})


class CheckWrittenPlaces:
    """
    Given:  cache[:, :, position] = x    with a cache of n places and a position that is an input
    Result: cache[:, :, arange(n)[position]] = x

    The portable kernel of `index` raises where a position is out of range, as eager does, and what
    it returns is provably within it. OpenVINO's CPU device checks no index that it writes at. A
    program has one such check for each position and n, however many caches it has.
    """

    def __call__(self, program: ExportedProgram) -> ExportedProgram:
        _Check(_changing_integers(program))(program.graph_module)
        return program


class _Check(Pass):
    def __init__(self, inputs: frozenset[str]) -> None:
        self._inputs = inputs
        self._checked: dict[tuple[fx.Node, int], fx.Node] = {}

    def match(self, node: fx.Node) -> Any:
        found = [
            (index, size)
            for index, size in _indices(node)
            if isinstance(size, int) and size > 0 and _depends_on(index, self._inputs)
        ]
        return found or None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        checked = {index: self._check(node, index, size) for index, size in found}
        # Only the indices: what is written may be the index itself.
        at = 1 if node.target in _BY_LIST else 2
        mapped = fx.node.map_arg(node.args[at], lambda item: checked.get(item, item))
        node.update_arg(at, mapped)

    def _check(self, node: fx.Node, index: fx.Node, size: int) -> fx.Node:
        if (index, size) not in self._checked:
            graph = node.graph
            with graph.inserting_after(index):
                count = graph.call_function(aten.arange.default, (size,), {"dtype": torch.int64})
            at, place = index, count
            if index.meta["val"].dtype != torch.int64:
                with graph.inserting_after(count):
                    at = place = graph.call_function(
                        aten._to_copy.default, (index,), {"dtype": torch.int64}
                    )
            with graph.inserting_after(place):
                checked = graph.call_function(aten.index.Tensor, (count, [at]))
            for made in {count, at, checked} - {index}:
                made.meta["stack_trace"] = node.meta.get("stack_trace", "")
            self._checked[index, size] = checked
        return self._checked[index, size]


def _indices(node: fx.Node) -> list[tuple[fx.Node, Any]]:
    """The integer indices of a write, each with the size of what it points into."""
    if node.target in _BY_LIST:
        sizes = node.args[0].meta["val"].shape  # type: ignore[union-attr]
        pairs = list(zip(node.args[1], sizes, strict=False))  # type: ignore[arg-type]
    elif node.target in _BY_DIMENSION:
        sizes = node.args[0].meta["val"].shape  # type: ignore[union-attr]
        pairs = [(node.args[2], sizes[node.args[1]])] if sizes else []
    else:
        return []
    integers = (torch.int64, torch.int32)
    return [
        (index, size)
        for index, size in pairs
        if isinstance(index, fx.Node) and index.meta["val"].dtype in integers
    ]


def _changing_integers(program: ExportedProgram) -> frozenset[str]:
    """The integer tensors that differ between calls: inputs, and buffers that are written to."""
    kinds = {
        spec.arg.name: spec.kind
        for spec in program.graph_signature.input_specs
        if hasattr(spec.arg, "name")
    }
    written = set(program.graph_signature.buffers_to_mutate.values())
    names = program.graph_signature.inputs_to_buffers
    return frozenset(
        node.name
        for node in program.graph.nodes
        if node.op == "placeholder"
        and _is_integer(node)
        and (
            kinds.get(node.name) is InputKind.USER_INPUT
            or (
                kinds.get(node.name) is InputKind.BUFFER
                and (names.get(node.name) in written or users_that_mutate(node) is not None)
            )
        )
    )


def _is_integer(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and not value.dtype.is_floating_point


def _depends_on(index: fx.Node, inputs: frozenset[str]) -> bool:
    todo, seen = [index], {index}
    for node in todo:
        if node.name in inputs:
            return True
        if getattr(getattr(node.target, "_schema", None), "name", "")[6:] in _BOUNDED:
            continue
        new = [item for item in node.all_input_nodes if item not in seen and _is_integer(item)]
        todo += new
        seen.update(new)
    return False
