"""Write out the operators that OpenVINO's frontend lacks, or computes otherwise than PyTorch.

All measured on OpenVINO 2026.4 by the conformance suite.
"""

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import fx

from openvino_backend import operators
from openvino_backend.operators import argument
from openvino_backend.passes.builder import Builder

aten = torch.ops.aten


def spell_out(graph: fx.Graph) -> None:
    """
    Given:  y = aten.trunc(x)
    Result: y = aten.where(aten.lt(x, 0), aten.ceil(x), aten.floor(x))
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


def _value(node: object) -> torch.Tensor:
    return cast(torch.Tensor, cast(fx.Node, node).meta["val"])


def _trunc(build: Builder, node: fx.Node) -> fx.Node | None:
    return _truncated(build, node.args[0]) if _value(node).dtype.is_floating_point else None


def _truncated(build: Builder, x: Any) -> fx.Node:
    negative = build.call(aten.lt.Scalar, x, 0)
    return build.where(
        negative, build.call(aten.ceil.default, x), build.call(aten.floor.default, x)
    )


def _division(build: Builder, node: fx.Node) -> fx.Node | None:
    """The frontend rounds by way of an integer, and integers down as it rounds towards 0; and the
    CPU device divides halves by a constant as it multiplies with its rounded reciprocal."""
    x, divisor = node.args
    dtype = _value(node).dtype
    if dtype in (torch.float16, torch.bfloat16):
        x, divisor = (
            build.call(aten._to_copy.default, operand, dtype=torch.float32)
            if isinstance(operand, fx.Node)
            else operand
            for operand in (x, divisor)
        )
        whole = _truncated(build, build.call(aten.div.Tensor, x, divisor))
        return build.call(aten._to_copy.default, whole, dtype=dtype)
    if dtype.is_floating_point:
        return _truncated(build, build.call(aten.div.Tensor, x, divisor))
    if node.kwargs["rounding_mode"] == "trunc":
        return None
    if dtype != torch.int64:  # what is divided, less the remainder, may be out of its range
        x = build.call(aten._to_copy.default, x, dtype=torch.int32)
    if isinstance(divisor, fx.Node):
        rest = build.call(aten.remainder.Tensor, x, divisor)
    else:
        rest = build.call(aten.remainder.Scalar, x, divisor)
    whole = build.call(aten.sub.Tensor, x, rest)
    quotient = build.call(aten.div.Tensor_mode, whole, divisor, rounding_mode="trunc")
    return build.call(aten._to_copy.default, quotient, dtype=dtype)


def _truth(build: Builder, x: Any) -> Any:
    """NaN is true; OpenVINO's own cast says otherwise."""
    return x if _value(x).dtype == torch.bool else build.call(aten.ne.Scalar, x, 0)


def _logical(build: Builder, node: fx.Node) -> fx.Node | None:
    if all(_value(x).dtype == torch.bool for x in node.args):
        return None
    return build.call(node.target, *(_truth(build, x) for x in node.args))


def _any(build: Builder, node: fx.Node) -> fx.Node | None:
    x, *rest = node.args
    if _value(x).dtype == torch.bool:
        return None
    return build.call(node.target, _truth(build, x), *rest, **node.kwargs)


def _to_bool(build: Builder, node: fx.Node) -> fx.Node | None:
    x = node.args[0]
    if _value(node).dtype != torch.bool or _value(x).dtype == torch.bool:
        return None
    return cast(fx.Node, _truth(build, x))


def _variance(build: Builder, node: fx.Node) -> fx.Node | None:
    """The frontend knows the corrections 0 and 1 and a list of dimensions."""
    x = node.args[0]
    sizes = _value(x).shape
    dims = argument(node, "dim") or list(range(len(sizes)))
    correction = argument(node, "correction")
    correction = 1 if correction is None else correction
    keep = argument(node, "keepdim", False)
    if correction in (0, 1):
        return build.call(aten.var.correction, x, dims, correction=correction, keepdim=keep)
    count = math.prod(sizes[dim] for dim in dims)
    plain = build.call(aten.var.correction, x, dims, correction=0, keepdim=keep)
    return build.call(aten.mul.Scalar, plain, count / (count - correction))


def _mean(build: Builder, node: fx.Node) -> fx.Node | None:
    """The frontend does not know None for all dimensions."""
    if argument(node, "dim") is not None:
        return None
    x, keep, dtype = node.args[0], argument(node, "keepdim", False), argument(node, "dtype")
    dims = list(range(_value(x).dim()))
    if not dims:
        return cast(fx.Node, x) if dtype is None else None
    return build.call(aten.mean.dim, x, dims, keep, **({} if dtype is None else {"dtype": dtype}))


def _index(build: Builder, node: fx.Node) -> fx.Node | None:
    """The frontend flattens several indices into one, which counts none from the end."""
    x, indices = cast(tuple[fx.Node, list[fx.Node | None]], node.args)
    if sum(index is not None for index in indices) < 2:
        return None
    sizes = _value(x).shape
    counted: list[fx.Node | None] = []
    for dim, index in enumerate(indices):
        if index is None or not isinstance(sizes[dim], int):
            counted.append(index)
            continue
        from_end = build.call(aten.add.Scalar, index, sizes[dim])
        negative = build.call(aten.lt.Scalar, index, 0)
        counted.append(build.where(negative, from_end, index))
    return build.call(aten.index.Tensor, x, counted)


def _index_put(build: Builder, node: fx.Node) -> fx.Node | None:
    """The frontend wants an index for each of the first dimensions: the others are moved behind.

    Given:  x[:, i] = y         with x [2, 6, 3], i [4], y [2, 4, 3]
    Result: x.permute(1, 0, 2)[i] = y.permute(1, 0, 2), permuted back
    """
    x, indices, y, *accumulate = cast(
        tuple[fx.Node, list[fx.Node | None], fx.Node, *tuple[bool, ...]], node.args
    )
    given = [dim for dim, index in enumerate(indices) if index is not None]
    if given == list(range(len(given))):
        return None
    rank = _value(x).dim()
    left = [dim for dim in range(rank) if dim not in given]
    order = given + left
    of_index = len(torch.broadcast_shapes(*(_value(indices[dim]).shape for dim in given)))
    # Indices side by side have their place in the result, others come first there.
    before = given[0] if given == list(range(given[0], given[-1] + 1)) else 0
    result_rank = of_index + len(left)
    if _value(y).dim() not in (0, result_rank):
        # No view: one of the sizes may be dynamic, and a number in an argument is fixed.
        for _ in range(result_rank - _value(y).dim()):
            y = build.call(aten.unsqueeze_copy.default, y, 0)
    if _value(y).dim():
        places = list(range(result_rank))
        first = places[before : before + of_index]
        y = build.call(
            aten.permute_copy.default, y, first + places[:before] + places[before + of_index :]
        )
    moved = build.call(aten.permute_copy.default, x, order)
    present = [indices[dim] for dim in given]
    written = build.call(aten.index_put.default, moved, present, y, *accumulate, **node.kwargs)
    return build.call(aten.permute_copy.default, written, [order.index(dim) for dim in range(rank)])


def _unfold(build: Builder, node: fx.Node) -> fx.Node:
    """The frontend knows it under the name of the view, and counts no dimension from the end."""
    x, dim, size, step = cast(tuple[fx.Node, int, int, int], node.args)
    return build.call(aten.unfold.default, x, dim % max(1, _value(x).dim()), size, step)


def _instance_norm(build: Builder, node: fx.Node) -> fx.Node | None:
    """Given:  _native_batch_norm_legit(x, w, b, True, 0.1, eps)[0]      of the batch's own moments
    Result: (x - mean) * rsqrt(mean((x - mean) ** 2) + eps) * w + b
    """
    x, weight, bias, _, _, epsilon = node.args
    rank = _value(x).dim()
    dims = [dim for dim in range(rank) if dim != 1]
    mean = build.call(aten.mean.dim, x, dims, True)
    centred = build.call(aten.sub.Tensor, x, mean)
    squares = build.call(aten.mul.Tensor, centred, centred)
    spread = build.call(aten.add.Scalar, build.call(aten.mean.dim, squares, dims, True), epsilon)
    result = build.call(aten.mul.Tensor, centred, build.call(aten.rsqrt.default, spread))
    shape = [1, -1, *[1] * (rank - 2)]
    if weight is not None:
        weight = build.call(aten.view_copy.default, weight, shape)
        result = build.call(aten.mul.Tensor, result, weight)
    if bias is not None:
        bias = build.call(aten.view_copy.default, bias, shape)
        result = build.call(aten.add.Tensor, result, bias)
    _replace_first_item(node, result)
    return None


def _replace_first_item(node: fx.Node, result: fx.Node) -> None:
    for user in list(node.users):
        result.meta = {"val": user.meta["val"]}
        user.replace_all_uses_with(result)
        node.graph.erase_node(user)
    node.graph.erase_node(node)


def _power_of_number(build: Builder, node: fx.Node) -> fx.Node:
    number, exponent = node.args
    base = build.call(aten.full.default, [], number, dtype=_value(node).dtype)
    return build.call(aten.pow.Tensor_Tensor, base, exponent)


def _gather(build: Builder, node: fx.Node) -> fx.Node | None:
    """All sizes but the axis's must be equal there: a smaller index is padded, its result cut."""
    x, dim, index = cast(tuple[fx.Node, int, fx.Node], node.args[:3])
    sizes, wanted = _value(x).shape, _value(index).shape
    smaller = [
        at
        for at, (have, want) in enumerate(zip(sizes, wanted, strict=True))
        if at != dim % len(sizes) and have != want
    ]
    if not smaller:
        return None
    missing = [sizes[at] - wanted[at] if at in smaller else 0 for at in range(len(sizes))]
    padding = [number for at in reversed(missing) for number in (0, at)]
    padded = build.call(aten.constant_pad_nd.default, index, padding, 0)
    result = build.call(aten.gather.default, x, dim, padded)
    for at in smaller:
        result = build.call(aten.slice_copy.Tensor, result, at, 0, wanted[at])
    return result


def _clamp(build: Builder, node: fx.Node) -> fx.Node:
    x, low, high = (argument(node, name) for name in ("self", "min", "max"))
    if low is not None:
        x = build.call(aten.maximum.default, x, low)
    return cast(fx.Node, x if high is None else build.call(aten.minimum.default, x, high))


def _norm(build: Builder, node: fx.Node) -> fx.Node | None:
    order = argument(node, "ord", 2)
    if not math.isinf(order):
        return None
    x = node.args[0]
    dims = argument(node, "dim") or list(range(_value(x).dim()))
    extreme = aten.amax.default if order > 0 else aten.amin.default
    return build.call(extreme, build.call(aten.abs.default, x), dims, argument(node, "keepdim"))


def _wide(build: Builder, node: fx.Node) -> fx.Node | None:
    """The frontend adds narrow integers up in their own dtype."""
    x, *rest = node.args
    if _value(x).dtype.is_floating_point or _value(x).dtype == torch.int64:
        return None
    wide = build.call(aten._to_copy.default, x, dtype=torch.int64)
    return build.call(node.target, wide, *rest, **node.kwargs)


def _abs(build: Builder, node: fx.Node) -> fx.Node | None:
    """Of a counting range it is the identity there; who knows which constants are one."""
    x = node.args[0]
    if _value(x).dtype.is_floating_point and _depends_on_inputs(cast(fx.Node, x)):
        return None
    zero = build.number(0)
    at_most = build.call(aten.le.Tensor, x, zero)
    return build.where(at_most, build.call(aten.sub.Tensor, zero, x), x)


def _depends_on_inputs(node: fx.Node) -> bool:
    todo, seen = [node], {node}
    for known in todo:
        if known.op == "placeholder":
            return True
        todo += [item for item in known.all_input_nodes if item not in seen]
        seen.update(known.all_input_nodes)
    return False


def _to_a_number(build: Builder, node: fx.Node) -> fx.Node | None:
    """OpenVINO 2026.4 crashes while it compiles a matrix product of one element reshaped to []."""
    x, shape = node.args
    if list(cast(Any, shape)) or _value(x).dim() == 0:
        return None
    row = build.call(aten.view_copy.default, x, [1])
    return build.call(aten.select_copy.int, row, 0, 0)


_REWRITES: dict[str, Callable[[Builder, fx.Node], fx.Node | None]] = {
    "aten.abs.default": _abs,
    "aten.trunc.default": _trunc,
    "aten.view_copy.default": _to_a_number,
    "aten.div.Tensor_mode": _division,
    **dict.fromkeys(
        (f"aten.logical_{name}.default" for name in ("and", "or", "xor", "not")), _logical
    ),
    **dict.fromkeys(("aten.any.default", "aten.any.dim", "aten.any.dims"), _any),
    "aten._to_copy.default": _to_bool,
    "aten.mean.dim": _mean,
    "aten.var.correction": _variance,
    "aten.index.Tensor": _index,
    "aten.index_put.default": _index_put,
    "aten.unfold_copy.default": _unfold,
    "aten._native_batch_norm_legit.no_stats": _instance_norm,
    "aten.pow.Scalar": _power_of_number,
    "aten.gather.default": _gather,
    "aten.clamp.Tensor": _clamp,
    "aten.linalg_vector_norm.default": _norm,
    "aten.sum.dim_IntList": _wide,
    "aten.cumsum.default": _wide,
}
