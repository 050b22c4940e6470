"""Which nodes OpenVINO computes as PyTorch does; every refusal says why.

A table of rules: an operator that it does not name, or whose rule objects, is left to the other
kernels. A rule returns the objection, or None.
"""

from collections.abc import Callable, Sequence
from typing import cast

import torch
from backend_common.sizes import bounds
from torch import fx

from openvino_backend import operators
from openvino_backend.half_precision import decides_unrounded
from openvino_backend.operators import argument
from openvino_backend.ranges import INT32, Ranges, inside, limits

FLOATS = frozenset({torch.float32, torch.float16, torch.bfloat16})
INTEGERS = frozenset({torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8})
DTYPES = FLOATS | INTEGERS | {torch.bool}

# The CPU device has code for tensors up to this rank everywhere.
MAX_RANK = 6

Rule = Callable[[fx.Node, Ranges], str | None]


def objection(node: fx.Node, ranges: Ranges) -> str | None:
    """Why OpenVINO should not compute this node, or None."""
    name = operators.name_of(node)
    rule = _RULES.get(name)
    if rule is None:
        return "the OpenVINO backend has no rule for this operator"
    return _unusual(node) or rule(node, ranges) or decides_unrounded(node)


def _values(node: fx.Node) -> list[torch.Tensor]:
    """The tensors that a node reads, and those that it makes for someone."""
    found: list[torch.Tensor] = []
    for item in (*operators.tensors(node), node):
        value = item.meta.get("val")
        parts = value if isinstance(value, (tuple, list)) else [value]
        if item is node and (wanted := operators.items_taken(node)):
            parts = [part for index, part in enumerate(parts) if index in wanted]
        found += [part for part in parts if isinstance(part, torch.Tensor)]
    return found


def _unusual(node: fx.Node) -> str | None:
    """Objections that hold for every operator."""
    for tensor in _values(node):
        if tensor.dtype not in DTYPES:
            if tensor.dtype == torch.float64:
                return "OpenVINO computes float64 in 32 bits"
            return f"the OpenVINO backend does not take {_short(tensor.dtype)}"
        if any(isinstance(size, int) and size == 0 for size in tensor.shape):
            return "there is nothing to compute: a tensor has no elements"
        if tensor.dim() > MAX_RANK:
            return f"rank {tensor.dim()}; the OpenVINO backend takes up to {MAX_RANK}"
    return None


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _dtype(node: object) -> torch.dtype:
    return cast(torch.dtype, cast(fx.Node, node).meta["val"].dtype)


def _exact(operand: fx.Node, ranges: Ranges) -> str | None:
    """An integer that OpenVINO may be unable to hold."""
    value = operand.meta.get("val")
    dtypes = {
        part.dtype
        for part in (value if isinstance(value, (list, tuple)) else [value])
        if isinstance(part, torch.Tensor)
    }
    if torch.int64 not in dtypes or inside(ranges.of(operand), INT32):
        return None
    return "OpenVINO computes int64 in 32 bits, and this value is not known to fit"


def _operands(node: fx.Node, ranges: Ranges, but: Sequence[object] = ()) -> str | None:
    for operand in operators.tensors(node):
        if operand not in but and (reason := _exact(operand, ranges)):
            return reason
    return None


# --- rules ---------------------------------------------------------------------------------------


def _move(node: fx.Node, ranges: Ranges) -> str | None:
    if operators.name_of(node) == "aten.as_strided_copy.default":
        value = cast(fx.Node, node.args[0]).meta["val"]
        if not all(isinstance(number, int) for number in (*value.shape, *value.stride())):
            return "of a tensor whose sizes are not known"  # the frontend would fix them
        if not value.is_contiguous():
            return "of a tensor whose dimensions are not in their default order"
    return _outgrown(node) or _operands(node, ranges)


def _outgrown(node: fx.Node) -> str | None:
    """Objects to x[-2:] of a size that may be 1: torch.export takes the result's to be 2."""
    if operators.name_of(node) != "aten.slice_copy.Tensor":
        return None
    dim, start, end, step = (argument(node, name) for name in ("dim", "start", "end", "step"))
    wanted = node.meta["val"].shape[dim]
    least = bounds(cast(fx.Node, node.args[0]).meta["val"].shape[dim])[0]
    if not all(each is None or isinstance(each, int) for each in (wanted, start, end, step)):
        return None
    if len(range(*slice(start, end, step).indices(least))) == wanted:
        return None
    return f"it takes {wanted} of a size that may be {least}"


_MAY_BE_NONE = (
    "a size may be 0, for which OpenVINO's result differs or is none; it takes a "
    "dimension that is exported with Dim(..., min=1)"
)


def _may_be_none(x: object, dims: Sequence[int] | None = None) -> bool:
    """Whether one of these sizes, or of all, may be 0."""
    sizes = cast(fx.Node, x).meta["val"].shape
    return any(bounds(sizes[dim])[0] == 0 for dim in (dims or range(len(sizes))))


def _unless_none(rule: Rule) -> Rule:
    """Operators of which OpenVINO's fail on tensors without elements."""

    def checked(node: fx.Node, ranges: Ranges) -> str | None:
        return _MAY_BE_NONE if _may_be_none(node.args[0]) else rule(node, ranges)

    return checked


def _mean(node: fx.Node, ranges: Ranges) -> str | None:
    """Of nothing it is NaN, and 0 in OpenVINO."""
    dims = argument(node, "dim")
    return _MAY_BE_NONE if _may_be_none(node.args[0], dims) else _float(node, ranges)


def _float(node: fx.Node, ranges: Ranges) -> str | None:
    """Everything it reads and makes is of one floating-point dtype."""
    dtypes = {tensor.dtype for tensor in _values(node)}
    if not dtypes <= FLOATS:
        wrong = ", ".join(sorted(_short(dtype) for dtype in dtypes - FLOATS))
        return f"the OpenVINO backend computes this for floating point only, not for {wrong}"
    if len(dtypes) > 1:
        return f"mixed dtypes: {', '.join(sorted(map(_short, dtypes)))}"
    return None


def _binary(node: fx.Node, ranges: Ranges) -> str | None:
    """Arithmetic on any dtypes; an operand that differs from the result is cast to it first."""
    if reason := _operands(node, ranges):
        return reason
    result = _dtype(node)
    if result in FLOATS:
        if isinstance(argument(node, "alpha", 1), (int, float)):
            return None
        return "its alpha is not a number"
    if result not in INTEGERS:
        return f"not for {_short(result)}"
    if inside(ranges.arithmetic(node), limits(result)):
        return None
    if result == torch.int64:
        return "OpenVINO computes int64 in 32 bits, and this result is not known to fit"
    return f"OpenVINO does not wrap around where a {_short(result)} overflows"


# Integers whose division by way of float32 is exact, measured.
_DIVISIBLE = (-(2**22), 2**22)


def _divide(node: fx.Node, ranges: Ranges) -> str | None:
    mode = node.kwargs.get("rounding_mode")
    if _dtype(node) not in FLOATS:
        return "integer division" if mode is None else _divide_integers(node, ranges)
    if mode == "floor":
        return "OpenVINO's floor division rounds otherwise"
    return _operands(node, ranges)


def _divide_integers(node: fx.Node, ranges: Ranges) -> str | None:
    """Division, remainder and fmod by a number or a constant that is not 0."""
    if _dtype(node) not in INTEGERS:
        return "the remainder of a division of floating point rounds otherwise in OpenVINO"
    divisor = ranges.of(node.args[1])
    if not inside(divisor, _DIVISIBLE) or divisor[0] <= 0 <= divisor[1]:  # type: ignore[index]
        return "its divisor is not known to differ from 0"
    if not inside(ranges.of(node.args[0]), _DIVISIBLE):
        return "OpenVINO divides integers in float32, and this one is not known to fit 22 bits"
    return None


# OpenVINO's CPU device compares, chooses and reduces integers in float32.
_EXACT_IN_FLOAT = (-(2**24), 2**24)


def _in_float(node: fx.Node, ranges: Ranges) -> str | None:
    """An integer operand that float32 may be unable to hold."""
    for operand in (*operators.tensors(node), *node.args):
        if isinstance(operand, fx.Node):
            value = operand.meta.get("val")
            if not isinstance(value, torch.Tensor) or value.dtype not in INTEGERS:
                continue
        elif isinstance(operand, bool) or not isinstance(operand, int):
            continue
        if not inside(ranges.of(operand), _EXACT_IN_FLOAT):
            return (
                "OpenVINO compares and chooses integers in float32, and these are not known to "
                "fit 24 bits"
            )
    return None


def _compare(node: fx.Node, ranges: Ranges) -> str | None:
    if all(_dtype(operand) in FLOATS for operand in operators.tensors(node)):
        return None
    return _in_float(node, ranges)


def _logical(node: fx.Node, ranges: Ranges) -> str | None:
    return _operands(node, ranges)


def _bits(node: fx.Node, ranges: Ranges) -> str | None:
    """Exact in every dtype that OpenVINO can hold."""
    if not {_dtype(operand) for operand in operators.tensors(node)} <= INTEGERS | {torch.bool}:
        return "not for floating point"
    return _operands(node, ranges)


def _kind(node: fx.Node, ranges: Ranges) -> str | None:
    if _dtype(node.args[0]) not in FLOATS:
        return "for floating point only"
    return None


def _order(node: fx.Node, ranges: Ranges) -> str | None:
    """Chooses among values, which must be numbers."""
    if any(_dtype(operand) == torch.bool for operand in operators.tensors(node)):
        return "not for bool"
    if _dtype(node) not in FLOATS:
        return _in_float(node, ranges)
    bounded = operators.name_of(node) == "aten.clamp.default"
    if bounded and _dtype(node.args[0]) != _dtype(node):
        return "its bounds are of another dtype"
    return _operands(node, ranges)


def _signed(node: fx.Node, ranges: Ranges) -> str | None:
    """abs and neg: the least integer has no opposite."""
    if _dtype(node) in FLOATS:
        return _float(node, ranges)
    return _binary(node, ranges)


def _where(node: fx.Node, ranges: Ranges) -> str | None:
    condition = node.args[0]
    if _dtype(condition) != torch.bool:
        return "its condition is no bool"
    return None if _dtype(node) in FLOATS | {torch.bool} else _in_float(node, ranges)


def _cast(node: fx.Node, ranges: Ranges) -> str | None:
    source, target = _dtype(node.args[0]), _dtype(node)
    if source == target or target in FLOATS or target == torch.bool:
        return _operands(node, ranges)
    if source in FLOATS:
        # OpenVINO does not round to half precision what it casts next.
        found = ranges.of_float(node.args[0]) if source == torch.float32 else None
        if found is None or not inside((int(found[0]), int(found[1])), limits(target)):
            return "OpenVINO's cast of floating point to an integer saturates"
        return None
    if inside(ranges.of(node.args[0]), limits(target)):
        return None
    return f"the value is not known to fit {_short(target)}, and OpenVINO saturates"


def _copy(node: fx.Node, ranges: Ranges) -> str | None:
    if _dtype(node) != _dtype(node.args[1]):
        return "of another dtype"
    return _exact(cast(fx.Node, node.args[1]), ranges)


def _indexed(*indices: int) -> Rule:
    """Operators whose indices are bounded by the size of what they index, so that 32 bits do."""

    def rule(node: fx.Node, ranges: Ranges) -> str | None:
        slots: list[object] = []
        for index in indices:
            slot = node.args[index]
            slots += slot if isinstance(slot, (list, tuple)) else [slot]
        for slot in slots:
            if slot is not None and _dtype(slot) not in (torch.int64, torch.int32):
                return f"its index is a {_short(_dtype(slot))}"
        present = [slot for slot in slots if slot is not None]
        sizes = cast(fx.Node, node.args[0]).meta["val"].shape
        if len(present) > 1 and not all(
            isinstance(size, int) and size <= _EXACT_IN_FLOAT[1] for size in sizes
        ):
            # Those from the end are counted from the start first, which takes the sizes.
            for slot in present:
                found = ranges.of(slot)
                if found is None or found[0] < 0:
                    return "one of its several indices may be negative, and a size is not known"
        # An index that is also the data must be exact.
        data = [operand for operand in operators.tensors(node) if operand not in slots]
        if node.args[0] in slots:
            data.append(cast(fx.Node, node.args[0]))
        for operand in data:
            if reason := _exact(operand, ranges):
                return reason
        return None

    return rule


def _gather(node: fx.Node, ranges: Ranges) -> str | None:
    data, dim, index = node.args[0], cast(int, node.args[1]), node.args[2]
    data_shape = cast(fx.Node, data).meta["val"].shape
    index_shape = cast(fx.Node, index).meta["val"].shape
    if not data_shape:
        return "of a tensor without dimensions"
    axis = dim % len(data_shape)
    for at, (have, want) in enumerate(zip(data_shape, index_shape, strict=True)):
        known = isinstance(have, int) and isinstance(want, int)
        if at != axis and not known and str(have) != str(want):
            return "its index may be smaller than its data"
    return _indexed(2)(node, ranges)


# OpenVINO's CPU device checks none of the indices that it writes at.
_MAY_MISS = "OpenVINO writes wherever its indices point, and these are not known to be in range"


def _misses(index: fx.Node, size: int | torch.SymInt, ranges: Ranges, from_end: bool) -> bool:
    """Whether an index may lie outside a dimension of this size."""
    source = index
    while operators.name_of(source) in operators.MOVES and len(operators.tensors(source)) == 1:
        if operators.name_of(source) in ("aten.constant_pad_nd.default", "getitem"):
            break
        source = operators.tensors(source)[0]
    if _counts(source) and str(source.meta["val"].shape[0]) == str(size):
        return False
    least = bounds(size)[0]
    return not inside(ranges.of(index), (-least if from_end else 0, least - 1))


def _scatter(node: fx.Node, ranges: Ranges) -> str | None:
    x, dim, index = cast("tuple[fx.Node, int, fx.Node]", node.args[:3])
    sizes = x.meta["val"].shape
    if not sizes:
        return "of a tensor without dimensions"
    if reason := _indexed(2)(node, ranges):
        return reason
    return _MAY_MISS if _misses(index, sizes[dim], ranges, from_end=False) else None


def _scatter_add(node: fx.Node, ranges: Ranges) -> str | None:
    if _dtype(node) not in FLOATS:
        return "sums of integers, which OpenVINO does not let wrap around"
    return _scatter(node, ranges)


def _put(node: fx.Node, ranges: Ranges) -> str | None:
    indices = cast(Sequence[object], node.args[1])
    masks = [i for i in indices if i is not None and _dtype(i) == torch.bool]
    if masks and (len(masks) < len(indices) or len(masks) > 1):
        return "its masks are among other indices"
    if argument(node, "accumulate", False):
        if _dtype(node) not in FLOATS:
            return "sums of integers, which OpenVINO does not let wrap around"
        if masks:
            return "it adds up under a mask"
    if masks:
        return _exact(cast(fx.Node, node.args[0]), ranges) or _exact(
            cast(fx.Node, node.args[2]), ranges
        )
    if reason := _indexed(1)(node, ranges):
        return reason
    sizes = cast(fx.Node, node.args[0]).meta["val"].shape
    missing = any(
        index is not None and _misses(cast(fx.Node, index), size, ranges, from_end=True)
        for index, size in zip(indices, sizes, strict=False)
    )
    return _MAY_MISS if missing else None


def _index(node: fx.Node, ranges: Ranges) -> str | None:
    if _counts(cast(fx.Node, node.args[0])):
        return "it checks that indices are in range, which OpenVINO does not"
    return _indexed(1)(node, ranges)


def _counts(node: fx.Node) -> bool:
    """Whether it is 0, 1, 2, ...: what is taken from it is the index itself."""
    return operators.name_of(node) == "aten.arange.start_step" and (
        node.args[0] == 0 and list(node.args[2:]) in ([], [1])
    )


def _embedding(node: fx.Node, ranges: Ranges) -> str | None:
    if argument(node, "scale_grad_by_freq", False) or argument(node, "sparse", False):
        return "with training options"
    return _indexed(1)(node, ranges)


def _made(node: fx.Node, ranges: Ranges) -> str | None:
    """A tensor out of numbers, and of the shape of another, which the delegate must take in."""
    if reason := _operands(node, ranges):
        return reason
    if _dtype(node) in FLOATS or inside(ranges.of(node), limits(_dtype(node))):
        return None
    return "the value is not known to fit OpenVINO's 32 bits"


def _arange(node: fx.Node, ranges: Ranges) -> str | None:
    if any(isinstance(a, float) and not a.is_integer() for a in node.args):
        return "a range with fractions"
    if (
        _counts(node)
        and node.users
        and all(
            operators.name_of(user) == "aten.index.Tensor" and user.args[0] is node
            for user in node.users
        )
    ):
        return "it is for a check that indices are in range, which OpenVINO does not make"
    return _made(node, ranges)


def _total(node: fx.Node, ranges: Ranges) -> str | None:
    """Sums; those of integers as long as float32 holds every one of them."""
    if _dtype(node) in FLOATS:
        return _float(node, ranges)
    if any(tensor.dtype in FLOATS for tensor in _values(node)):
        return "a sum of floating point in integers"
    result = limits(_dtype(node))
    # What is added up is cast to the result's dtype first, where OpenVINO saturates.
    if not inside(ranges.of(node.args[0]), result) or not inside(ranges.arithmetic(node), result):
        return f"OpenVINO does not wrap around where a {_short(_dtype(node))} overflows"
    if inside(ranges.arithmetic(node), _EXACT_IN_FLOAT):
        return None
    return "OpenVINO adds integers up in float32, and this sum is not known to fit 24 bits"


def _extreme(node: fx.Node, ranges: Ranges) -> str | None:
    """The largest or smallest, and where it is."""
    operand = cast(fx.Node, node.args[0])
    if not operand.meta["val"].dim():
        return "of a tensor without dimensions"
    dtype = _dtype(operand)
    if dtype == torch.bool:
        return "not for bool"
    if dtype in FLOATS or inside(ranges.of(operand), _EXACT_IN_FLOAT):
        return None
    return "OpenVINO compares integers in float32, and these are not known to fit 24 bits"


def _argmax(node: fx.Node, ranges: Ranges) -> str | None:
    if argument(node, "dim") is None and argument(node, "keepdim", False):
        return "over all dimensions, which are kept"
    return _extreme(node, ranges)


def _product(node: fx.Node, ranges: Ranges) -> str | None:
    if _dtype(node) != torch.float32 or _dtype(node.args[0]) != torch.float32:
        return "the OpenVINO backend computes this for float32 only"
    return None


def _norm(node: fx.Node, ranges: Ranges) -> str | None:
    if not cast(fx.Node, node.args[0]).meta["val"].dim():
        return "of a tensor without dimensions"
    return _float(node, ranges)


def _variance(node: fx.Node, ranges: Ranges) -> str | None:
    sizes = cast(fx.Node, node.args[0]).meta["val"].shape
    if not sizes:
        return "of a tensor without dimensions"
    if _may_be_none(node.args[0], argument(node, "dim")):
        return _MAY_BE_NONE
    correction = argument(node, "correction", 1)
    if correction not in (0, 1, None):
        count = 1
        for dim in argument(node, "dim") or range(len(sizes)):
            if not isinstance(sizes[dim], int):
                return "with a correction, over a size that is not known"
            count *= sizes[dim]
        if count <= correction:
            return f"with a correction of {correction} for {count} values"
    return _float(node, ranges)


def _first_result_only(rule: Rule) -> Rule:
    def checked(node: fx.Node, ranges: Ranges) -> str | None:
        for user in node.users:
            if operators.name_of(user) != "getitem" or user.args[1] != 0:
                return "more than its first result is used"
        return rule(node, ranges)

    return checked


def _max_pool(node: fx.Node, ranges: Ranges) -> str | None:
    # The indices are int64 and nobody reads them.
    if cast(fx.Node, node.args[0]).meta["val"].dtype not in FLOATS:
        return "the OpenVINO backend computes this for floating point only"
    return None


def _avg_pool(node: fx.Node, ranges: Ranges) -> str | None:
    if argument(node, "divisor_override") is not None:
        return "with divisor_override"
    padding = argument(node, "padding", ())
    counted = any(padding) and argument(node, "count_include_pad", True)
    if counted and argument(node, "ceil_mode", False):
        return "with ceil_mode and counted padding, where OpenVINO's divisor differs"
    return _float(node, ranges)


def _bilinear(node: fx.Node, ranges: Ranges) -> str | None:
    given = cast(fx.Node, node.args[0]).meta["val"].shape[2:]
    made = node.meta["val"].shape[2:]
    if not argument(node, "align_corners") and any(
        new == 1 and old != 1 for new, old in zip(made, given, strict=True)
    ):
        return "down to one row or column, which OpenVINO takes from the corner"
    return _float(node, ranges)


def _softmax(node: fx.Node, ranges: Ranges) -> str | None:
    if node.args[2]:
        return "half to float"
    if cast(fx.Node, node.args[0]).meta["val"].dim() == 0:
        return "of a tensor without dimensions"
    return _float(node, ranges)


def _single(node: fx.Node, ranges: Ranges) -> str | None:
    """What comes out otherwise in half precision."""
    if cast(fx.Node, node.args[0]).meta["val"].dtype != torch.float32:
        return "the OpenVINO backend computes this for float32 only"
    return _float(node, ranges)


def _quantize(node: fx.Node, ranges: Ranges) -> str | None:
    read, made = _dtype(node.args[0]), _dtype(node)
    if read not in FLOATS or made not in (torch.int8, torch.uint8):
        return f"the OpenVINO backend quantises floating point to 8 bits, not {_short(made)}"
    return None


def _dequantize(node: fx.Node, ranges: Ranges) -> str | None:
    read, made = _dtype(node.args[0]), _dtype(node)
    if read not in (torch.int8, torch.uint8) or made not in FLOATS:
        return f"the OpenVINO backend dequantises 8 bits to floating point, not {_short(read)}"
    return None


def _sum_of_product(node: fx.Node, ranges: Ranges) -> str | None:
    for name in ("beta", "alpha"):
        if argument(node, name, 1) == 0:
            return f"{name}=0 leaves a NaN out, and OpenVINO multiplies it by 0"
    return _float(node, ranges)


def _power(node: fx.Node, ranges: Ranges) -> str | None:
    if _dtype(node) == torch.float16 and node.args[1] in (0.5, -0.5):
        return "OpenVINO takes it for a square root, which differs for -0.0 and negative infinity"
    return _float(node, ranges)


_RULES: dict[str, Rule] = {
    "quantized_decomposed.quantize_per_tensor.default": _quantize,
    "quantized_decomposed.dequantize_per_tensor.default": _dequantize,
    "quantized_decomposed.dequantize_per_channel.default": _dequantize,
    **dict.fromkeys(operators.MOVES, _move),
    **dict.fromkeys(operators.CASTS, _cast),
    **dict.fromkeys(
        (
            f"aten.{name}.default"
            for name in (
                "acos",
                "acosh",
                "asin",
                "asinh",
                "atan",
                "atanh",
                "ceil",
                "cos",
                "cosh",
                "erf",
                "exp",
                "expm1",
                "floor",
                "log",
                "log10",
                "log1p",
                "log2",
                "reciprocal",
                "round",
                "rsqrt",
                "sigmoid",
                "sin",
                "sinh",
                "sqrt",
                "tan",
                "tanh",
                "gelu",
                "elu",
                "leaky_relu",
                "hardtanh",
                "mm",
                "bmm",
                "baddbmm",
                "convolution",
                "sign",
                "trunc",
                "erfc",
                "logsumexp",
            )
        ),
        _float,
    ),
    **dict.fromkeys(("aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor"), _binary),
    "aten.div.Tensor": _divide,
    **dict.fromkeys((f"aten.{name}.Scalar" for name in ("add", "sub", "mul", "div")), _float),
    "aten.addmm.default": _sum_of_product,
    "aten.pow.Tensor_Scalar": _power,
    "aten.pow.Tensor_Tensor": _float,
    "aten.pow.Scalar": _float,
    "aten.div.Tensor_mode": _divide,
    "aten.fmod.Scalar": _divide_integers,
    "aten.remainder.Scalar": _divide_integers,
    "aten.abs.default": _signed,
    "aten.neg.default": _signed,
    **dict.fromkeys(
        (
            "aten.maximum.default",
            "aten.minimum.default",
            "aten.relu.default",
            "aten.clamp.default",
            "aten.clamp.Tensor",
        ),
        _order,
    ),
    **dict.fromkeys(
        (
            f"aten.{name}.{kind}"
            for name in ("eq", "ne", "lt", "le", "gt", "ge")
            for kind in ("Tensor", "Scalar")
        ),
        _compare,
    ),
    **dict.fromkeys(
        (
            *(f"aten.logical_{name}.default" for name in ("and", "or", "not", "xor")),
            *(f"aten.any.{kind}" for kind in ("default", "dim", "dims")),
        ),
        _logical,
    ),
    **dict.fromkeys(
        (
            *(f"aten.bitwise_{name}.Tensor" for name in ("and", "or", "xor")),
            "aten.bitwise_not.default",
        ),
        _bits,
    ),
    "aten.isnan.default": _kind,
    "aten.isinf.default": _kind,
    "aten.where.self": _where,
    "aten._softmax.default": _softmax,
    "aten._log_softmax.default": _softmax,
    "aten.native_layer_norm.default": _first_result_only(_float),
    "aten.native_group_norm.default": _first_result_only(_single),
    "aten._native_batch_norm_legit_no_training.default": _first_result_only(_float),
    "aten._native_batch_norm_legit.no_stats": _first_result_only(_float),
    "aten.max_pool2d_with_indices.default": _unless_none(_first_result_only(_max_pool)),
    "aten.max_pool3d_with_indices.default": _unless_none(_first_result_only(_max_pool)),
    "aten.avg_pool2d.default": _unless_none(_avg_pool),
    "aten.avg_pool3d.default": _unless_none(_avg_pool),
    "aten._adaptive_avg_pool3d.default": _float,
    "aten._adaptive_avg_pool2d.default": _float,
    "aten.sum.dim_IntList": _total,
    "aten.mean.default": _mean,
    "aten.mean.dim": _mean,
    "aten.prod.default": _product,
    "aten.prod.dim_int": _product,
    **dict.fromkeys(
        (
            *(f"aten.{name}.default" for name in ("amax", "amin", "max", "min")),
            "aten.max.dim",
            "aten.min.dim",
        ),
        _extreme,
    ),
    "aten.argmax.default": _argmax,
    "aten.argmin.default": _argmax,
    "aten.linalg_vector_norm.default": _norm,
    "aten.var.correction": _variance,
    "aten.cumsum.default": _total,
    "aten.scatter.src": _scatter,
    "aten.scatter.value": _scatter,
    "aten.scatter_add.default": _scatter_add,
    "aten.index_put.default": _put,
    "aten.slice_scatter.default": _move,
    "aten.unfold_copy.default": _move,
    "aten.copy.default": _copy,
    "aten.grid_sampler_2d.default": _single,
    "aten.embedding.default": _embedding,
    "aten.index_select.default": _indexed(2),
    "aten.index.Tensor": _index,
    "aten.gather.default": _gather,
    "aten.full.default": _made,
    "aten.full_like.default": _made,
    "aten.scalar_tensor.default": _made,
    "aten.arange.start_step": _arange,
    "aten.upsample_bilinear2d.vec": _unless_none(_bilinear),
    "aten.upsample_nearest2d.vec": _float,
    "aten.upsample_nearest1d.vec": _float,
    "aten.upsample_nearest3d.vec": _float,
}

NAMES = frozenset(_RULES)
