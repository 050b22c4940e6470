"""Which nodes OpenVINO computes as PyTorch does; every refusal says why.

A table of rules: an operator that it does not name, or whose rule objects, is left to the other
kernels. A rule returns the objection, or None.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import fx

from openvino_backend import operators
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
    return _unusual(node) or rule(node, ranges)


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
    return _operands(node, ranges)


def _float(node: fx.Node, ranges: Ranges) -> str | None:
    """Everything it reads and makes is of one floating-point dtype."""
    dtypes = {tensor.dtype for tensor in _values(node)}
    if not dtypes <= FLOATS:
        wrong = ", ".join(sorted(_short(dtype) for dtype in dtypes - FLOATS))
        return f"the OpenVINO backend computes this for floating point only, not for {wrong}"
    if len(dtypes) > 1:
        return f"mixed dtypes: {', '.join(sorted(map(_short, dtypes)))}"
    return None


def _argument(node: fx.Node, name: str, default: object = None) -> Any:
    """An argument by its name in the operator's schema."""
    if name in node.kwargs:
        return node.kwargs[name]
    schema = cast(Any, node.target)._schema
    for index, argument in enumerate(schema.arguments):
        if argument.name == name:
            return node.args[index] if index < len(node.args) else default
    return default


def _binary(node: fx.Node, ranges: Ranges) -> str | None:
    """Arithmetic on any dtypes; an operand that differs from the result is cast to it first."""
    if reason := _operands(node, ranges):
        return reason
    result = _dtype(node)
    if result in FLOATS:
        if isinstance(_argument(node, "alpha", 1), (int, float)):
            return None
        return "its alpha is not a number"
    if result not in INTEGERS:
        return f"not for {_short(result)}"
    if inside(ranges.arithmetic(node), limits(result)):
        return None
    if result == torch.int64:
        return "OpenVINO computes int64 in 32 bits, and this result is not known to fit"
    return f"OpenVINO does not wrap around where a {_short(result)} overflows"


def _divide(node: fx.Node, ranges: Ranges) -> str | None:
    if _dtype(node) not in FLOATS:
        return "integer division"
    return _operands(node, ranges)


def _compare(node: fx.Node, ranges: Ranges) -> str | None:
    return _operands(node, ranges)


def _booleans(node: fx.Node, ranges: Ranges) -> str | None:
    if any(tensor.dtype != torch.bool for tensor in _values(node)):
        return "the OpenVINO backend computes this for bool only"
    return None


def _where(node: fx.Node, ranges: Ranges) -> str | None:
    condition = node.args[0]
    if _dtype(condition) != torch.bool:
        return "its condition is no bool"
    return _operands(node, ranges)


def _cast(node: fx.Node, ranges: Ranges) -> str | None:
    source, target = _dtype(node.args[0]), _dtype(node)
    if source == target or target in FLOATS:
        return _operands(node, ranges)
    if target == torch.bool:
        return "OpenVINO's cast to bool differs from PyTorch's"
    if source in FLOATS:
        return "OpenVINO's cast of floating point to an integer saturates"
    if inside(ranges.of(node.args[0]), limits(target)):
        return None
    return f"the value is not known to fit {_short(target)}, and OpenVINO saturates"


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
        if len(present) > 1:
            # OpenVINO flattens several indices into one, which counts none from the end.
            for slot in present:
                found = ranges.of(slot)
                if found is None or found[0] < 0:
                    return "one of its several indices may be negative"
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
        if at != axis and not (isinstance(have, int) and isinstance(want, int) and have == want):
            return "its index is smaller than its data"
    return _indexed(2)(node, ranges)


def _embedding(node: fx.Node, ranges: Ranges) -> str | None:
    if _argument(node, "scale_grad_by_freq", False) or _argument(node, "sparse", False):
        return "with training options"
    return _indexed(1)(node, ranges)


def _made(node: fx.Node, ranges: Ranges) -> str | None:
    """A tensor out of numbers."""
    if _dtype(node) in FLOATS or inside(ranges.of(node), limits(_dtype(node))):
        return None
    return "the value is not known to fit OpenVINO's 32 bits"


def _arange(node: fx.Node, ranges: Ranges) -> str | None:
    if not all(isinstance(a, (int, fx.Node)) for a in node.args):
        return "a range with fractions"
    return _made(node, ranges)


def _reduce(node: fx.Node, ranges: Ranges) -> str | None:
    return _float(node, ranges)


def _variance(node: fx.Node, ranges: Ranges) -> str | None:
    if not _argument(node, "dim"):
        return "over all dimensions"
    if _argument(node, "correction", 1) not in (0, 1):
        return f"with correction={_argument(node, 'correction')}"
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
    value = cast(fx.Node, node.args[0]).meta["val"]
    if value.dtype not in FLOATS:
        return "the OpenVINO backend computes this for floating point only"
    if value.dim() != 4:
        return "without a batch dimension"
    if _argument(node, "ceil_mode", False):
        return "with ceil_mode"
    return None


def _avg_pool(node: fx.Node, ranges: Ranges) -> str | None:
    if _argument(node, "ceil_mode", False):
        return "with ceil_mode"
    if _argument(node, "divisor_override") is not None:
        return "with divisor_override"
    if cast(fx.Node, node.args[0]).meta["val"].dim() != 4:
        return "without a batch dimension"
    return _float(node, ranges)


def _addmm(node: fx.Node, ranges: Ranges) -> str | None:
    for name in ("beta", "alpha"):
        if _argument(node, name, 1) != 1:
            return f"with {name}={_argument(node, name)}"
    return _float(node, ranges)


def _softmax(node: fx.Node, ranges: Ranges) -> str | None:
    if node.args[2]:
        return "half to float"
    if cast(fx.Node, node.args[0]).meta["val"].dim() == 0:
        return "of a tensor without dimensions"
    return _float(node, ranges)


def _group_norm(node: fx.Node, ranges: Ranges) -> str | None:
    if cast(fx.Node, node.args[0]).meta["val"].dtype != torch.float32:
        return "OpenVINO's CPU device has it for float32 only"
    return _float(node, ranges)


_RULES: dict[str, Rule] = {
    **dict.fromkeys(operators.MOVES, _move),
    **dict.fromkeys(operators.CASTS, _cast),
    **dict.fromkeys(
        (
            f"aten.{name}.default"
            for name in (
                "abs",
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
                "neg",
                "reciprocal",
                "relu",
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
                "clamp",
                "mm",
                "bmm",
                "convolution",
                "sign",
            )
        ),
        _float,
    ),
    **dict.fromkeys(("aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor"), _binary),
    "aten.div.Tensor": _divide,
    **dict.fromkeys((f"aten.{name}.Scalar" for name in ("add", "sub", "mul", "div")), _float),
    "aten.pow.Tensor_Scalar": _float,
    "aten.pow.Tensor_Tensor": _float,
    "aten.maximum.default": _float,
    "aten.minimum.default": _float,
    **dict.fromkeys(
        (
            f"aten.{name}.{kind}"
            for name in ("eq", "ne", "lt", "le", "gt", "ge")
            for kind in ("Tensor", "Scalar")
        ),
        _compare,
    ),
    **dict.fromkeys(
        (f"aten.logical_{name}.default" for name in ("and", "or", "not", "xor")), _booleans
    ),
    **dict.fromkeys(
        (
            "aten.bitwise_and.Tensor",
            "aten.bitwise_or.Tensor",
            "aten.bitwise_xor.Tensor",
            "aten.bitwise_not.default",
            "aten.any.dim",
            "aten.any.dims",
        ),
        _booleans,
    ),
    "aten.where.self": _where,
    "aten.addmm.default": _addmm,
    "aten._softmax.default": _softmax,
    "aten._log_softmax.default": _softmax,
    "aten.native_layer_norm.default": _first_result_only(_float),
    "aten.native_group_norm.default": _first_result_only(_group_norm),
    "aten._native_batch_norm_legit_no_training.default": _first_result_only(_float),
    "aten.max_pool2d_with_indices.default": _first_result_only(_max_pool),
    "aten.avg_pool2d.default": _avg_pool,
    "aten._adaptive_avg_pool2d.default": _float,
    "aten.sum.dim_IntList": _reduce,
    "aten.mean.dim": _reduce,
    "aten.var.correction": _variance,
    "aten.cumsum.default": _float,
    "aten.embedding.default": _embedding,
    "aten.index_select.default": _indexed(2),
    "aten.index.Tensor": _indexed(1),
    "aten.gather.default": _gather,
    "aten.full.default": _made,
    "aten.full_like.default": _made,
    "aten.scalar_tensor.default": _made,
    "aten.arange.start_step": _arange,
    "aten.upsample_bilinear2d.vec": _float,
    "aten.upsample_nearest2d.vec": _float,
}

NAMES = frozenset(_RULES)
