"""Rewrite the operators that lose a NaN on OpenVINO's CPU device.

Measured on OpenVINO 2026.4: relu, clamp, hardtanh, maximum, minimum, the largest and smallest of
a dimension, their indices and max_pool drop a NaN, exp and expm1 turn it into infinity, softmax
keeps it in its own place only, and `greater` says true of it. `less`, `less_equal` and
`not_equal` are right, so everything is said with these.
"""

import math
import operator
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import fx

from openvino_backend import operators
from openvino_backend.operators import argument
from openvino_backend.passes.builder import Builder

aten = torch.ops.aten


def keep_nan(graph: fx.Graph) -> None:
    """
    Given:  y = aten.relu(x)
    Result: y = aten.where(aten.le(x, 0), 0, x)      NaN <= 0 is false: y is NaN
    """
    for node in list(graph.nodes):
        rewrite = _REWRITES.get(operators.name_of(node))
        if rewrite is None:
            continue
        with graph.inserting_before(node):
            result = rewrite(Builder(node), node)
        if result is not None:
            result.meta = {"val": node.meta["val"]}
            node.replace_all_uses_with(result)
            graph.erase_node(node)


def _relu(build: Builder, node: fx.Node) -> fx.Node:
    (x,) = node.args
    zero = build.number(0.0)
    return build.where(build.call(aten.le.Tensor, x, zero), zero, x)


def _bounded(build: Builder, x: Any, low: Any, high: Any) -> fx.Node | None:
    if any(bound is not None and not isinstance(bound, (int, float)) for bound in (low, high)):
        return None
    if low is not None:
        bound = build.number(float(low))
        x = build.where(build.less(x, bound), bound, x)
    if high is not None:
        # Last, so that a maximum below the minimum wins, as in PyTorch.
        bound = build.number(float(high))
        x = build.where(build.less(bound, x), bound, x)
    return cast(fx.Node, x)


def _clamp(build: Builder, node: fx.Node) -> fx.Node | None:
    bounds = dict(zip(("min", "max"), node.args[1:], strict=False)) | node.kwargs
    return _bounded(build, node.args[0], bounds.get("min"), bounds.get("max"))


def _hardtanh(build: Builder, node: fx.Node) -> fx.Node | None:
    bounds = dict(zip(("min_val", "max_val"), node.args[1:], strict=False)) | node.kwargs
    return _bounded(build, node.args[0], bounds.get("min_val", -1.0), bounds.get("max_val", 1.0))


def _maximum(build: Builder, node: fx.Node) -> fx.Node:
    left, right = node.args
    larger = build.where(build.less(right, left), left, right)  # right, when that is NaN
    return build.where(build.is_nan(left), left, larger)


def _minimum(build: Builder, node: fx.Node) -> fx.Node:
    left, right = node.args
    smaller = build.where(build.less(left, right), left, right)
    return build.where(build.is_nan(left), left, smaller)


def _exponential(build: Builder, node: fx.Node) -> fx.Node:
    """By way of the half: OpenVINO's exp is infinite from 88.4 on, where float32 is from 88.8."""
    (x,) = node.args
    half = build.call(aten.exp.default, build.call(aten.mul.Tensor, x, build.number(0.5)))
    found = build.call(aten.mul.Tensor, half, half)
    if operators.name_of(node) == "aten.expm1.default":
        small = build.less(x, build.number(10.0))
        found = build.where(small, build.call(aten.expm1.default, x), found)
    return build.where(build.is_nan(x), x, found)


def _sign(build: Builder, node: fx.Node) -> fx.Node:
    (x,) = node.args
    return build.where(build.is_nan(x), build.number(0.0), build.call(node.target, x))


def _greater(build: Builder, node: fx.Node) -> fx.Node:
    left, right = node.args
    if not isinstance(right, fx.Node):
        value = build.like
        kind = torch.result_type(value, right)
        right = build.call(aten.full.default, [], right, dtype=kind)
    strict = operators.name_of(node).startswith("aten.gt.")
    return build.call(aten.lt.Tensor if strict else aten.le.Tensor, right, left)


def _softmax(build: Builder, node: fx.Node) -> fx.Node:
    """One NaN or positive infinity makes the whole row NaN."""
    x, dim = node.args[0], node.args[1]
    finite = build.less(x, build.number(math.inf))  # false for NaN, too
    poison = build.where(finite, build.number(0.0), build.number(math.nan))
    total = build.call(aten.sum.dim_IntList, poison, [dim], True)
    return build.call(aten.add.Tensor, build.call(node.target, *node.args), total)


def _extreme(build: Builder, x: Any, dims: Any, keep: bool, largest: bool) -> fx.Node:
    """The largest or smallest of `dims`; also where all are the infinity that loses to any."""
    reduce = aten.amax.default if largest else aten.amin.default
    found = build.call(reduce, x, dims, keep)
    if not build.like.dtype.is_floating_point:
        return found
    last = build.number(-math.inf if largest else math.inf)
    ahead = build.less(last, x) if largest else build.less(x, last)
    marks = build.where(ahead, build.number(1.0), build.number(0.0))
    none = build.less(build.call(aten.amax.default, marks, dims, keep), build.number(0.5))
    poison = build.where(build.is_nan(x), build.number(math.nan), build.number(0.0))
    total = build.call(aten.sum.dim_IntList, poison, dims, keep)
    return build.call(aten.add.Tensor, build.where(none, last, found), total)


def _place(build: Builder, x: Any, dim: int, keep: bool, largest: bool) -> fx.Node:
    """The index of the largest or smallest; of the first NaN, if there is one."""
    find = aten.argmax.default if largest else aten.argmin.default
    found = build.call(find, x, dim, keep)
    if not build.like.dtype.is_floating_point:
        return found
    marks = build.where(build.is_nan(x), build.number(1.0), build.number(0.0))
    holds = build.less(build.number(0.5), build.call(aten.amax.default, marks, [dim], keep))
    return build.where(holds, build.call(aten.argmax.default, marks, dim, keep), found)


def _amax(build: Builder, node: fx.Node) -> fx.Node:
    x = node.args[0]
    dims = argument(node, "dim") or list(range(build.like.dim()))
    largest = operators.name_of(node) in ("aten.amax.default", "aten.max.default")
    return _extreme(build, x, dims, argument(node, "keepdim", False), largest)


def _argmax(build: Builder, node: fx.Node) -> fx.Node:
    x, dim = node.args[0], argument(node, "dim")
    if dim is None:
        x, dim = build.call(aten.view_copy.default, x, [-1]), 0
    largest = operators.name_of(node) == "aten.argmax.default"
    return _place(build, x, dim, argument(node, "keepdim", False), largest)


def _max_of_dim(build: Builder, node: fx.Node) -> None:
    x, dim, keep = node.args[0], argument(node, "dim"), argument(node, "keepdim", False)
    largest = operators.name_of(node) == "aten.max.dim"
    for user in list(node.users):
        if user.args[1] == 0:
            result = _extreme(build, x, [dim], keep, largest)
        else:
            result = _place(build, x, dim, keep, largest)
        result.meta = {"val": user.meta["val"]}
        user.replace_all_uses_with(result)
        node.graph.erase_node(user)
    node.graph.erase_node(node)


def _max_pool(build: Builder, node: fx.Node) -> None:
    """A window that holds a NaN has it as its maximum."""
    x = node.args[0]
    marks = build.where(build.is_nan(x), build.number(1.0), build.number(0.0))
    found = build.call(node.target, marks, *node.args[1:], **node.kwargs)
    found = build.call(operator.getitem, found, 0)
    holds = build.less(build.number(0.5), found)
    again = build.call(node.target, *node.args, **node.kwargs)
    values = build.call(operator.getitem, again, 0)
    result = build.where(holds, build.number(math.nan), values)
    for user in list(node.users):
        result.meta = {"val": user.meta["val"]}
        user.replace_all_uses_with(result)
        node.graph.erase_node(user)
    node.graph.erase_node(node)


_REWRITES: dict[str, Callable[[Builder, fx.Node], fx.Node | None]] = {
    "aten.relu.default": _relu,
    "aten.clamp.default": _clamp,
    "aten.hardtanh.default": _hardtanh,
    "aten.maximum.default": _maximum,
    "aten.minimum.default": _minimum,
    "aten.exp.default": _exponential,
    "aten.expm1.default": _exponential,
    "aten.sign.default": _sign,
    **dict.fromkeys(
        (f"aten.{name}.{kind}" for name in ("gt", "ge") for kind in ("Tensor", "Scalar")),
        _greater,
    ),
    **dict.fromkeys((f"aten.{name}.default" for name in ("amax", "amin", "max", "min")), _amax),
    "aten.argmax.default": _argmax,
    "aten.argmin.default": _argmax,
    "aten.max.dim": _max_of_dim,
    "aten.min.dim": _max_of_dim,
    "aten._softmax.default": _softmax,
    "aten._log_softmax.default": _softmax,
    "aten.max_pool2d_with_indices.default": _max_pool,
}
