"""The values that floating point can take, where it counts or measures: places to interpolate at,
positions, bounded numbers.

Only finite ones are known, so that a known value is no NaN. Intervals of real numbers, widened by
what rounding adds.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import fx

from openvino_backend import operators

FloatRange = tuple[float, float]


class Known(Protocol):
    """What is known of a graph's values so far."""

    def of(self, value: object) -> tuple[int, int] | None: ...
    def of_float(self, value: object) -> FloatRange | None: ...


def range_of(known: Known, node: fx.Node) -> FloatRange | None:
    """None: unknown, or not finite."""
    rule = _RULES.get(operators.name_of(node))
    found = rule(known, node) if rule else None
    return None if found is None else _rounded(found, node.meta["val"].dtype)


def extent(constant: torch.Tensor) -> FloatRange | None:
    if constant.numel() == 0:
        return 0.0, 0.0
    if not bool(constant.isfinite().all()):
        return None
    return float(constant.min()), float(constant.max())


def _rounded(found: FloatRange, dtype: torch.dtype) -> FloatRange | None:
    info = torch.finfo(dtype)
    low, high = found
    margin = max(abs(low), abs(high)) * info.eps
    if not max(abs(low), abs(high)) + margin < info.max:
        return None  # infinite, or NaN
    return low - margin, high + margin


def _number(known: Known, value: object) -> FloatRange | None:
    """Of an operand, which may be an integer."""
    found = known.of_float(value)
    if found is None and (whole := known.of(value)) is not None:
        found = float(whole[0]), float(whole[1])
    return found


def _union(*ranges: FloatRange | None) -> FloatRange | None:
    present = [item for item in ranges if item is not None]
    if not present or len(present) < len(ranges):
        return None
    return min(low for low, _ in present), max(high for _, high in present)


def _operands(known: Known, node: fx.Node) -> FloatRange | None:
    return _union(*(_number(known, operand) for operand in operators.tensors(node)))


def _first(known: Known, node: fx.Node) -> FloatRange | None:
    return _number(known, node.args[0])


def _combine(
    combine: Callable[[float, float], float],
) -> Callable[[Known, fx.Node], FloatRange | None]:
    def rule(known: Known, node: fx.Node) -> FloatRange | None:
        left, right = (_number(known, operand) for operand in node.args[:2])
        alpha = node.args[2] if len(node.args) > 2 else node.kwargs.get("alpha", 1)
        if left is None or right is None or alpha != 1:
            return None
        corners = [combine(a, b) for a in left for b in right]
        return min(corners), max(corners)

    return rule


def _quotient(known: Known, node: fx.Node) -> FloatRange | None:
    divisor = _number(known, node.args[1])
    if divisor is None or divisor[0] <= 0 <= divisor[1] or node.kwargs.get("rounding_mode"):
        return None
    return _combine(lambda a, b: a / b)(known, node)


def _each(function: Callable[[float], float]) -> Callable[[Known, fx.Node], FloatRange | None]:
    """Of a function that never falls."""

    def rule(known: Known, node: fx.Node) -> FloatRange | None:
        found = _first(known, node)
        return None if found is None else (function(found[0]), function(found[1]))

    return rule


def _clamp(known: Known, node: fx.Node) -> FloatRange | None:
    found = _first(known, node)
    low, high = (operators.argument(node, name) for name in ("min", "max"))
    bounds = [_number(known, bound) for bound in (low, high) if bound is not None]
    if found is None or any(bound is None for bound in bounds):
        return None
    if low is not None:
        low_bound = _number(known, low) or found
        found = max(found[0], low_bound[0]), max(found[1], low_bound[1])
    if high is not None:
        high_bound = _number(known, high) or found
        found = min(found[0], high_bound[0]), min(found[1], high_bound[1])
    return found


def _opposite(known: Known, node: fx.Node) -> FloatRange | None:
    found = _first(known, node)
    return None if found is None else (-found[1], -found[0])


def _arange(known: Known, node: fx.Node) -> FloatRange | None:
    ends: list[Any] = [_number(known, end) for end in node.args[:2]]
    return _union((0.0, 0.0), *ends) if len(ends) == 1 else _union(*ends)


_RULES: dict[str, Callable[[Known, fx.Node], FloatRange | None]] = {
    **dict.fromkeys(
        operators.MOVES
        - {"aten.constant_pad_nd.default", "aten.tril.default", "aten.triu.default", "getitem"},
        _operands,
    ),
    **dict.fromkeys(operators.CASTS, _first),
    "aten.full.default": lambda known, node: _number(known, node.args[1]),
    "aten.full_like.default": lambda known, node: _number(known, node.args[1]),
    "aten.scalar_tensor.default": _first,
    "aten.arange.start_step": _arange,
    **dict.fromkeys(("aten.add.Tensor", "aten.add.Scalar"), _combine(lambda a, b: a + b)),
    **dict.fromkeys(("aten.sub.Tensor", "aten.sub.Scalar"), _combine(lambda a, b: a - b)),
    **dict.fromkeys(("aten.mul.Tensor", "aten.mul.Scalar"), _combine(lambda a, b: a * b)),
    **dict.fromkeys(("aten.div.Tensor", "aten.div.Scalar"), _quotient),
    "aten.clamp.default": _clamp,
    "aten.relu.default": _each(lambda x: max(x, 0.0)),
    "aten.floor.default": _each(math.floor),
    "aten.ceil.default": _each(math.ceil),
    "aten.round.default": _each(round),
    "aten.trunc.default": _each(math.trunc),
    "aten.neg.default": _opposite,
    "aten.maximum.default": _operands,
    "aten.minimum.default": _operands,
    "aten.index.Tensor": _first,
    "aten.index_select.default": _first,
    "aten.embedding.default": _first,
}
