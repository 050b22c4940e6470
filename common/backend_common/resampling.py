"""Images of bytes resampled as eager does it: in integers, with tables of 16-bit weights.

Kernels and decompositions go through floating point instead, and differ by 1. Measured against
eager for sizes of 1 to 20 with and without antialiasing, corners aligned or not, scales or sizes.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import torch
from torch import fx
from torch._export.passes.lift_constants_pass import ConstantAttrMap, lift_constants_pass
from torch.export import ExportedProgram

from backend_common.diagnostics import source_line
from backend_common.errors import LoweringError
from backend_common.graph import Pass, graph_modules
from backend_common.operators import operator_name
from backend_common.report import Row

aten = torch.ops.aten

Filter: TypeAlias = Callable[[float], float]
Rows: TypeAlias = list[tuple[int, list[float]]]

_MOST_BITS = 22
_ORIGIN = ("stack_trace", "nn_module_stack")


def _refusal(method: str, node: fx.Node) -> Row | None:
    """The tables are made while the program is built, which takes sizes that are known."""
    sizes = (*cast(fx.Node, node.args[0]).meta["val"].shape[2:], *node.meta["val"].shape[2:])
    if all(isinstance(size, int) for size in sizes):
        return None
    reason = "images of uint8 are resampled with tables, and a height or width is not known"
    remedy = "fix the height and width in dynamic_shapes, or resample floating point"
    source = source_line(node)
    return Row(method, operator_name(node), node.name, source, False, "", reason, remedy)


def _triangle(x: float) -> float:
    return max(0.0, 1 - abs(x))


def _cubic(a: float) -> Filter:
    def value(x: float) -> float:
        x = abs(x)
        if x < 1:
            return ((a + 2) * x - (a + 3)) * x * x + 1
        return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0

    return value


def _neighbours(size: int, new: int, step: float, aligned: bool, reach: int, of: Filter) -> Rows:
    """For each new place, the first old one and the weights of those from it on; the weights of
    places outside go to the edge."""
    rows: Rows = []
    for place in range(new):
        real = step * place if aligned else step * (place + 0.5) - 0.5
        if reach == 2 and not aligned:
            real = max(real, 0.0)
        nearest = min(math.floor(real), size - 1)
        rest = min(max(real - nearest, 0.0), 1.0)
        start, half = nearest - reach // 2 + 1, reach // 2
        first = max(start, 0)
        weights, at = [0.0] * (min(nearest + half + 1, size) - first), 0
        for each in range(reach):
            if start + each <= 0:
                at = 0
            elif start + each >= size - 1:
                at = len(weights) - 1
            weights[at] += of(each + 1 - half - rest)
            at += 1
        rows.append((first, weights))
    return rows


def _windows(size: int, new: int, step: float, reach: int, of: Filter) -> Rows:
    """The same with a filter as wide as the step, so that nothing between is left out."""
    wide = max(step, 1.0)
    support = reach * 0.5 * wide
    most = math.ceil(support) * 2 + 1
    rows: Rows = []
    for place in range(new):
        centre = step * (place + 0.5)
        first = max(int(centre - support + 0.5), 0)
        count = max(0, min(min(int(centre + support + 0.5), size) - first, most))
        weights = [of((first + each - centre + 0.5) / wide) for each in range(count)]
        total = sum(weights) or 1.0
        rows.append((first, [weight / total for weight in weights]))
    return rows


def _bits(rows: Rows) -> int:
    """As many as leave the greatest weight below 2**15."""
    greatest = max(max(weights) for _, weights in rows)
    bits = 0
    while bits < _MOST_BITS and int(0.5 + greatest * 2 ** (bits + 1)) < 2**15:
        bits += 1
    return bits


class ResampleBytes(Pass):
    """
    Given:  y = aten.upsample_bilinear2d.vec(x, [7, 9], False, None)    of an x of uint8
    Result: for width, then for height: the sum of what index_select takes, times the weights
    """

    def match(self, node: fx.Node) -> Any:
        return _KINDS.get(node.target) if _of_bytes(node) else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        graph, value, x = node.graph, node.meta["val"], node.args[0]
        aligned, scales = _arguments(node)
        before = set(graph.nodes)
        with graph.inserting_before(node):
            call = graph.call_function
            result = call(aten.clone.default, (x,), {"memory_format": torch.contiguous_format})
            for dim in (3, 2):
                size, new = x.meta["val"].shape[dim], value.shape[dim]
                if size == new:
                    continue
                if aligned:
                    step = (size - 1) / (new - 1) if new > 1 else 0.0
                else:
                    step = 1 / scale if (scale := scales[dim - 2]) else size / new
                result = _along(node, result, dim, size, found.rows(size, new, step, aligned))
            if value.is_contiguous(memory_format=torch.channels_last):
                like = {"memory_format": torch.channels_last}
                result = call(aten.clone.default, (result,), like)
        for made in set(graph.nodes) - before:
            made.meta.update({key: node.meta[key] for key in _ORIGIN if key in node.meta})
        node.replace_all_uses_with(result)
        graph.erase_node(node)


def _along(node: fx.Node, x: Any, dim: int, size: int, rows: Rows) -> fx.Node:
    """Adds the nodes for one dimension in front of `node`; the tables are held by its module."""
    module, call = node.graph.owning_module, node.graph.call_function

    def held(values: list[int], dtype: torch.dtype, shape: list[int]) -> fx.Node:
        number = 0
        while hasattr(module, name := f"_resampling_{number}"):
            number += 1
        tensor = torch.tensor(values, dtype=dtype).reshape(shape)
        assert module is not None
        module.register_buffer(name, tensor, persistent=False)
        return node.graph.get_attr(name)

    bits = _bits(rows)
    shape = [-1 if each == dim else 1 for each in range(4)]
    wide = call(aten._to_copy.default, (x,), {"dtype": torch.int32})
    total: Any = 2 ** (bits - 1)  # what is cut off is rounded
    for at in range(max(len(weights) for _, weights in rows)):
        places = [min(first + at, size - 1) for first, _ in rows]
        parts = [weights[at] * 2**bits if at < len(weights) else 0.0 for _, weights in rows]
        weights = [int(part + math.copysign(0.5, part)) for part in parts]
        taken = call(aten.index_select.default, (wide, dim, held(places, torch.int64, [-1])))
        scaled = call(aten.mul.Tensor, (taken, held(weights, torch.int32, shape)))
        total = call(aten.add.Tensor, (scaled, total))
    cut = call(aten.bitwise_right_shift.Tensor_Scalar, (total, bits))
    bounded = call(aten.clamp.default, (cut, 0, 255))
    return call(aten._to_copy.default, (bounded,), {"dtype": torch.uint8})


@dataclasses.dataclass(frozen=True)
class _Kind:
    """How far a filter reaches, what it weighs, and whether it is as wide as the step."""

    reach: int
    weigh: Filter
    antialias: bool

    def rows(self, size: int, new: int, step: float, aligned: bool) -> Rows:
        if self.antialias:
            return _windows(size, new, step, self.reach, self.weigh)
        return _neighbours(size, new, step, aligned, self.reach, self.weigh)


_KINDS = {
    overload: kind
    for name, kind in {
        "upsample_bilinear2d": _Kind(2, _triangle, antialias=False),
        "upsample_bicubic2d": _Kind(4, _cubic(-0.75), antialias=False),
        "_upsample_bilinear2d_aa": _Kind(2, _triangle, antialias=True),
        "_upsample_bicubic2d_aa": _Kind(4, _cubic(-0.5), antialias=True),
    }.items()
    for overload in (getattr(aten, name).default, getattr(aten, name).vec)
}


def _of_bytes(node: fx.Node) -> bool:
    if node.target not in _KINDS or not isinstance(node.args[0], fx.Node):
        return False
    return bool(node.args[0].meta["val"].dtype is torch.uint8)


def _arguments(node: fx.Node) -> tuple[bool, Sequence[float | None]]:
    """Whether corners are aligned, and the scales of height and width where they are given."""
    names = [argument.name for argument in node.target._schema.arguments]  # type: ignore[union-attr]
    given: dict[str, Any] = dict(zip(names, node.args, strict=False)) | node.kwargs
    scales = given.get("scale_factors") or (given.get("scales_h"), given.get("scales_w"))
    return given["align_corners"], scales


def resample_bytes(name: str, program: ExportedProgram) -> None:
    """In place. LoweringError where a height or width that takes part is not known."""
    nodes = [
        node
        for module in graph_modules(program.graph_module)
        for node in module.graph.nodes
        if _of_bytes(node)
    ]
    rows = [row for node in nodes if (row := _refusal(name, node)) is not None]
    if rows:
        noun = "operator needs" if len(rows) == 1 else "operators need"
        raise LoweringError(f"{len(rows)} {noun} sizes that are known in '{name}':", rows)
    if nodes:
        ResampleBytes()(program.graph_module)
        signature = program.graph_signature
        tables = lift_constants_pass(program.graph_module, signature, ConstantAttrMap())
        program._constants = {**program.constants, **tables}
        program.graph_module.recompile()
