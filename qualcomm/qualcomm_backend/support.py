"""Which nodes QNN computes as PyTorch does; every refusal says why.

A table of rules: an operator that it does not name, or whose rule objects, is left to the other
kernels. A rule returns the objection, or None. Each operator of the table was compared with eager
on the emulator. What jumps where its operand differs a little (comparisons, rounding, the place
of a maximum) is not in it: QNN would decide by 16 bits what eager decides by 32.
"""

from collections.abc import Callable
from typing import cast

import torch
from backend_common import subgraph
from torch import fx
from torch.export import ExportedProgram

from qualcomm_backend import operators
from qualcomm_backend.operators import argument
from qualcomm_backend.part import is_constant

DTYPES = frozenset({torch.float32})
MAX_RANK = 5

Rule = Callable[[ExportedProgram, fx.Node], str | None]


def objection(program: ExportedProgram, node: fx.Node) -> str | None:
    """Why QNN should not compute this node, or None."""
    if operators.name_of(node) in operators.QUANTIZES | operators.DEQUANTIZES:
        return _fixed(node)
    rule = _RULES.get(operators.name_of(node))
    if rule is None:
        return "the Qualcomm backend has no rule for this operator"
    return _unusual(program, node) or rule(program, node)


def _unusual(program: ExportedProgram, node: fx.Node) -> str | None:
    """Objections that hold for every operator."""
    if not is_constant(program, node) and not subgraph.inputs_of(program, [node]):
        return "it reads constants only"
    for tensor in _values(node):
        if tensor.dtype not in DTYPES:
            return f"the Qualcomm backend does not take {_short(tensor.dtype)}"
        if any(size == 0 for size in tensor.shape):
            return "there is nothing to compute: a tensor has no elements"
        if tensor.dim() > MAX_RANK:
            return f"rank {tensor.dim()}; the Qualcomm backend takes up to {MAX_RANK}"
    if reason := _fixed(node):
        return reason
    for operand in (*operators.tensors(node), node):
        value = operand.meta.get("val")
        scalar = isinstance(value, torch.Tensor) and value.dim() == 0
        if scalar and not is_constant(program, operand):
            return "QNN has no tensors without dimensions"
    return None


def _fixed(node: fx.Node) -> str | None:
    sizes = [size for tensor in _values(node) for size in tensor.shape]
    if not all(isinstance(size, int) for size in sizes):
        return "a size of it is not fixed, and QNN's graphs are"
    return None


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


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _shape(node: object) -> tuple[int, ...]:
    return tuple(cast(fx.Node, node).meta["val"].shape)


# --- rules ---------------------------------------------------------------------------------------


def _any(program: ExportedProgram, node: fx.Node) -> str | None:
    return None


def _sum(program: ExportedProgram, node: fx.Node) -> str | None:
    return None if argument(node, "alpha", 1) == 1 else "its alpha is not 1"


# Beyond it, a number is no 16-bit float.
_LARGEST = 65504


def _number(program: ExportedProgram, node: fx.Node) -> str | None:
    number = node.args[1]
    if not isinstance(number, (int, float)) or not abs(number) <= _LARGEST:
        return f"its number, {number}, is no 16-bit float"
    return _sum(program, node)


def _power(program: ExportedProgram, node: fx.Node) -> str | None:
    exponent = node.args[1]
    return None if exponent in (2, 3) else f"its exponent is {exponent}, and not 2 or 3"


def _constants(program: ExportedProgram, node: fx.Node) -> str | None:
    """All operands but the first are weights."""
    computed = [each for each in operators.tensors(node)[1:] if not is_constant(program, each)]
    return "its weights are computed" if computed else None


def _linear(program: ExportedProgram, node: fx.Node) -> str | None:
    bias, _, weight = (cast(fx.Node, each) for each in node.args[:3])
    if not is_constant(program, bias) or not is_constant(program, weight):
        return "its weights are computed"
    if len(_shape(bias)) != 1 or _shape(bias) != _shape(weight)[1:]:
        return "its summand is no bias"
    if (argument(node, "alpha"), argument(node, "beta")) != (1, 1):
        return "its factors are not 1"
    return None


def _convolution(program: ExportedProgram, node: fx.Node) -> str | None:
    rank = len(_shape(node.args[0]))
    if rank not in (4, 5):
        return f"a convolution over {rank - 2} dimensions"
    if argument(node, "transposed") and any(d != 1 for d in argument(node, "dilation")):
        return "transposed, with a dilation"
    return _constants(program, node)


def _image(program: ExportedProgram, node: fx.Node) -> str | None:
    rank = len(_shape(node.args[0]))
    return None if rank == 4 else f"its rank is {rank}, and not 4"


def _normalize(program: ExportedProgram, node: fx.Node) -> str | None:
    return _image(program, node) or _constants(program, node)


def _max_pool(program: ExportedProgram, node: fx.Node) -> str | None:
    if any(d != 1 for d in argument(node, "dilation")):
        return "its dilation is not 1"
    return _image(program, node)


def _average_pool(program: ExportedProgram, node: fx.Node) -> str | None:
    if argument(node, "ceil_mode"):
        return "the emulator averages otherwise with ceil_mode"
    if argument(node, "divisor_override") is not None:
        return "its divisor is given"
    return _image(program, node)


def _layer_norm(program: ExportedProgram, node: fx.Node) -> str | None:
    if len(cast(list[int], node.args[1])) != 1:
        return "over more than one dimension"
    return _constants(program, node)


def _softmax(program: ExportedProgram, node: fx.Node) -> str | None:
    rank = len(_shape(node))
    return None if cast(int, node.args[1]) % rank == rank - 1 else "not over the last dimension"


def _pad(program: ExportedProgram, node: fx.Node) -> str | None:
    amounts = cast(list[int], node.args[1])
    return "it cuts off where it pads by less than nothing" if min(amounts, default=0) < 0 else None


def _resize(program: ExportedProgram, node: fx.Node) -> str | None:
    sizes = zip(_shape(node)[2:], _shape(node.args[0])[2:], strict=True)
    if any(after % before for after, before in sizes):
        return "to no multiple of its size, where the emulator picks other pixels"
    return _image(program, node)


_MOVES: dict[str, Rule] = dict.fromkeys(operators.MOVES - {"getitem"}, _any)

_RULES: dict[str, Rule] = _MOVES | {
    "aten._log_softmax.default": _softmax,
    "aten._native_batch_norm_legit_no_training.default": _normalize,
    "aten._softmax.default": _softmax,
    "aten.abs.default": _any,
    "aten.add.Scalar": _number,
    "aten.add.Tensor": _sum,
    "aten.addmm.default": _linear,
    "aten.amax.default": _any,
    "aten.amin.default": _any,
    "aten.avg_pool2d.default": _average_pool,
    "aten.bmm.default": _any,
    "aten.clamp.default": _any,
    "aten.constant_pad_nd.default": _pad,
    "aten.convolution.default": _convolution,
    "aten.div.Scalar": _number,
    "aten.div.Tensor": _any,
    "aten.elu.default": _any,
    "aten.exp.default": _any,
    "aten.expand_copy.default": _any,
    "aten.gelu.default": _any,
    "aten.hardtanh.default": _any,
    "aten.log.default": _any,
    "aten.max_pool2d_with_indices.default": _max_pool,
    "aten.maximum.default": _any,
    "aten.mean.default": _any,
    "aten.mean.dim": _any,
    "aten.minimum.default": _any,
    "aten.mm.default": _any,
    "aten.mul.Scalar": _number,
    "aten.mul.Tensor": _any,
    "aten.native_group_norm.default": _normalize,
    "aten.native_layer_norm.default": _layer_norm,
    "aten.neg.default": _any,
    "aten.pow.Tensor_Scalar": _power,
    "aten.relu.default": _any,
    "aten.rsqrt.default": _any,
    "aten.sigmoid.default": _any,
    "aten.sqrt.default": _any,
    "aten.sub.Scalar": _number,
    "aten.sub.Tensor": _sum,
    "aten.sum.dim_IntList": _any,
    "aten.tanh.default": _any,
    "aten.upsample_bilinear2d.vec": _image,
    "aten.upsample_nearest2d.vec": _resize,
}
