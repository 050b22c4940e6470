"""The values that integers can take, as far as the graph alone tells.

OpenVINO's CPU device computes int64 in 32 bits and saturates narrow integers. Both are exact as
long as no value leaves the range, so an integer is delegated where this module can prove that.
"""

import math
from collections.abc import Callable

import torch
from backend_common import sizes, subgraph
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram

from openvino_backend import float_ranges, operators
from openvino_backend.float_ranges import FloatRange

Range = tuple[int, int]

INT32 = (-(2**31), 2**31 - 1)


def limits(dtype: torch.dtype) -> Range:
    """What OpenVINO can hold in this integer or boolean dtype."""
    if dtype == torch.bool:
        return 0, 1
    info = torch.iinfo(dtype)
    return max(info.min, INT32[0]), min(info.max, INT32[1])


def inside(inner: Range | None, outer: Range) -> bool:
    return inner is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


class Ranges:
    """Looks the ranges of a program's nodes up, each computed once."""

    def __init__(self, program: ExportedProgram) -> None:
        self._program = program
        self._known: dict[fx.Node, Range | None] = {}
        self._floats: dict[fx.Node, FloatRange | None] = {}
        # In order, so that an operand is known when its user asks.
        for node in program.graph.nodes:
            self._known[node] = self._compute(node)
            self._floats[node] = self._compute_float(node)

    def of(self, value: object) -> Range | None:
        """None: unknown, or not an integer."""
        if isinstance(value, fx.Node):
            return self._known.get(value)
        if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
            return int(value), int(value)
        return None

    def of_float(self, value: object) -> FloatRange | None:
        """The finite numbers that floating point takes; None: unknown, or not floating point."""
        if isinstance(value, fx.Node):
            return self._floats.get(value)
        finite = isinstance(value, float) and math.isfinite(value)
        return (value, value) if finite else None  # type: ignore[return-value]

    def _compute_float(self, node: fx.Node) -> FloatRange | None:
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or not value.dtype.is_floating_point:
            return None
        constant = subgraph.constant_of(self._program, node)
        if constant is None:
            return float_ranges.range_of(self, node)
        return None if isinstance(constant, FakeTensor) else float_ranges.extent(constant)

    def _compute(self, node: fx.Node) -> Range | None:
        value = node.meta.get("val")
        if isinstance(value, (int, torch.SymInt)):
            return _size_range(value)
        name = operators.name_of(node)
        if isinstance(value, (tuple, list)) and name in operators.MOVES:
            return _operands(self, node)
        if not isinstance(value, torch.Tensor) or value.dtype.is_floating_point:
            return None
        if value.dtype.is_complex:
            return None
        constant = subgraph.constant_of(self._program, node)
        if constant is not None:
            return _extent(constant)
        rule = _RULES.get(name)
        found = rule(self, node) if rule else None
        if value.dtype == torch.int64:
            return found
        # A value of a narrow dtype cannot leave it; arithmetic that would, wraps around.
        return found if inside(found, limits(value.dtype)) else limits(value.dtype)

    def arithmetic(self, node: fx.Node) -> Range | None:
        """The exact result of an addition, subtraction or multiplication, before it wraps."""
        rule = _ARITHMETIC.get(operators.name_of(node))
        return rule(self, node) if rule else None


def _size_range(size: int | torch.SymInt) -> Range | None:
    try:
        low, high = sizes.bounds(size)
    except (AttributeError, TypeError, ValueError):
        return None
    return None if high == sizes.UNBOUNDED else (low, high)


def _extent(constant: torch.Tensor) -> Range | None:
    if isinstance(constant, FakeTensor):
        return None  # its values are not there yet
    if constant.numel() == 0:
        return 0, 0
    return int(constant.min()), int(constant.max())


def _union(*ranges: Range | None) -> Range | None:
    known = [item for item in ranges if item is not None]
    if not known or len(known) < len(ranges):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _operands(ranges: Ranges, node: fx.Node) -> Range | None:
    """A result that holds only values of the tensor operands."""
    return _union(*(ranges.of(operand) for operand in operators.tensors(node)))


def _of_cast(ranges: Ranges, node: fx.Node) -> Range | None:
    found = ranges.of_float(node.args[0])
    return _operands(ranges, node) if found is None else (int(found[0]), int(found[1]))


def _of_full(ranges: Ranges, node: fx.Node) -> Range | None:
    return ranges.of(node.args[1])


def _of_scalar(ranges: Ranges, node: fx.Node) -> Range | None:
    return ranges.of(node.args[0])


def _of_pad(ranges: Ranges, node: fx.Node) -> Range | None:
    fill = node.args[2] if len(node.args) > 2 else 0
    return _union(ranges.of(node.args[0]), ranges.of(fill))


def _of_arange(ranges: Ranges, node: fx.Node) -> Range | None:
    ends = [ranges.of(end) for end in node.args[:2]]
    step = node.args[2] if len(node.args) > 2 else 1
    if len(ends) == 1:
        ends.insert(0, (0, 0))
    if not isinstance(step, int) or ends[0] is None or ends[1] is None:
        return None
    # The end itself cannot be reached, nor what lies beyond it, whatever the step.
    (low, high), end = ends[0], ends[1]
    return (low, max(low, end[1] - 1)) if step > 0 else (min(high, end[0] + 1), high)


def _of_where(ranges: Ranges, node: fx.Node) -> Range | None:
    return _union(ranges.of(node.args[1]), ranges.of(node.args[2]))


def _combine(ranges: Ranges, node: fx.Node, combine: Callable[[int, int], int]) -> Range | None:
    left, right = ranges.of(node.args[0]), ranges.of(node.args[1])
    if left is None or right is None or node.kwargs.get("alpha", 1) != 1:
        return None
    corners = [combine(a, b) for a in left for b in right]
    return min(corners), max(corners)


def _of_pad_or_zero(ranges: Ranges, node: fx.Node) -> Range | None:
    return _union(ranges.of(node.args[0]), (0, 0))


def _of_total(ranges: Ranges, node: fx.Node) -> Range | None:
    """A sum of at most as many values as the reduced dimensions have elements."""
    found = ranges.of(node.args[0])
    value = node.args[0].meta["val"] if isinstance(node.args[0], fx.Node) else None
    if found is None or value is None:
        return None
    dims = node.args[1] if len(node.args) > 1 else None
    dims = [dims] if isinstance(dims, int) else dims or range(value.dim())
    count = 1
    for dim in dims if value.dim() else ():
        size = _size_range(value.shape[dim])
        if size is None:
            return None
        count *= max(1, size[1])
    low, high = found
    return min(low, low * count), max(high, high * count)


def _of_bits(ranges: Ranges, node: fx.Node) -> Range | None:
    """As many bits as the operands have; none below zero where no operand is."""
    found = _union(*(ranges.of(operand) for operand in node.args))
    if found is None:
        return None
    bits = max(low.bit_length() for low in found)
    return (0 if found[0] >= 0 and len(node.args) > 1 else -(2**bits)), 2**bits - 1


def _of_abs(ranges: Ranges, node: fx.Node) -> Range | None:
    found = ranges.of(node.args[0])
    return None if found is None else (0, max(abs(found[0]), abs(found[1])))


def _of_neg(ranges: Ranges, node: fx.Node) -> Range | None:
    found = ranges.of(node.args[0])
    return None if found is None else (-found[1], -found[0])


def _of_clamp(ranges: Ranges, node: fx.Node) -> Range | None:
    """Known where both bounds are, whatever is clamped."""
    bounds = dict(zip(("min", "max"), node.args[1:], strict=False)) | node.kwargs
    low, high = (ranges.of(bounds.get(name)) for name in ("min", "max"))
    if low is not None and high is not None:
        return min(low[0], high[0]), max(low[1], high[1])
    found = ranges.of(node.args[0])
    if found is None:
        return None
    return _union(found, *(bound for bound in (low, high) if bound is not None))


# Values and their places.
_WITH_PLACES = ("aten.max.dim", "aten.min.dim", "aten.topk.default", "aten.sort.default")


def _of_place(ranges: Ranges, node: fx.Node) -> Range | None:
    """An index into what is searched, or into the dimension that is searched along."""
    value = node.args[0].meta["val"] if isinstance(node.args[0], fx.Node) else None
    shape = value.shape if value is not None else ()
    dim = operators.argument(node, "dim")
    if dim is not None and shape:
        shape = (shape[dim],)
    counts = [_size_range(size) for size in shape]
    count = 1
    for size in counts:
        if size is None:
            return None
        count *= max(1, size[1])
    return 0, count - 1


def _of_item(ranges: Ranges, node: fx.Node) -> Range | None:
    source = node.args[0]
    if isinstance(source, fx.Node) and operators.name_of(source) in _WITH_PLACES:
        return ranges.of(source.args[0]) if node.args[1] == 0 else _of_place(ranges, source)
    return ranges.of(source)


def _of_remainder(ranges: Ranges, node: fx.Node) -> Range | None:
    divisor = ranges.of(node.args[1])
    if divisor is None or divisor[0] <= 0:
        return None
    return 0, divisor[1] - 1


def _of_fmod(ranges: Ranges, node: fx.Node) -> Range | None:
    """As far from 0 as the divisor allows, on the side of what is divided."""
    divisor, found = ranges.of(node.args[1]), ranges.of(node.args[0])
    if divisor is None:
        return found
    most = max(abs(divisor[0]), abs(divisor[1]), 1) - 1
    if found is None:
        return -most, most
    return max(-most, min(found[0], 0)), min(most, max(found[1], 0))


def _of_quotient(ranges: Ranges, node: fx.Node) -> Range | None:
    found, divisor = ranges.of(node.args[0]), ranges.of(node.args[1])
    if found is None or divisor is None or divisor[0] <= 0:
        return None
    corners = [end // by for end in found for by in divisor]
    # Truncation is one more than the floor below 0.
    return min(corners), max(*corners, 0)


_ARITHMETIC: dict[str, Callable[[Ranges, fx.Node], Range | None]] = {
    "aten.add.Tensor": lambda r, n: _combine(r, n, lambda a, b: a + b),
    "aten.sub.Tensor": lambda r, n: _combine(r, n, lambda a, b: a - b),
    "aten.mul.Tensor": lambda r, n: _combine(r, n, lambda a, b: a * b),
    "aten.abs.default": _of_abs,
    "aten.neg.default": _of_neg,
    "aten.sum.dim_IntList": _of_total,
    "aten.cumsum.default": _of_total,
}

_RULES: dict[str, Callable[[Ranges, fx.Node], Range | None]] = {
    **dict.fromkeys(operators.MOVES - {"aten.constant_pad_nd.default", "getitem"}, _operands),
    **dict.fromkeys(operators.CASTS, _of_cast),
    "getitem": _of_item,
    "aten.constant_pad_nd.default": _of_pad,
    "aten.full.default": _of_full,
    "aten.full_like.default": _of_full,
    "aten.scalar_tensor.default": _of_scalar,
    "aten.arange.start_step": _of_arange,
    "aten.where.self": _of_where,
    "aten.tril.default": _of_pad_or_zero,
    "aten.triu.default": _of_pad_or_zero,
    **dict.fromkeys(
        (
            f"aten.{name}.default"
            for name in ("amax", "amin", "max", "min", "relu", "maximum", "minimum")
        ),
        _operands,
    ),
    **dict.fromkeys((f"aten.bitwise_{name}.Tensor" for name in ("and", "or", "xor")), _of_bits),
    "aten.bitwise_not.default": _of_bits,
    "aten.clamp.default": _of_clamp,
    "aten.clamp.Tensor": _of_clamp,
    "aten.argmax.default": _of_place,
    "aten.argmin.default": _of_place,
    "aten.div.Tensor_mode": _of_quotient,
    "aten.fmod.Scalar": _of_fmod,
    "aten.remainder.Scalar": _of_remainder,
    "aten.remainder.Tensor": _of_remainder,
    "aten.index.Tensor": lambda r, n: r.of(n.args[0]),
    "aten.index_select.default": lambda r, n: r.of(n.args[0]),
    "aten.gather.default": lambda r, n: r.of(n.args[0]),
    "aten.embedding.default": lambda r, n: r.of(n.args[0]),
    **_ARITHMETIC,
}
