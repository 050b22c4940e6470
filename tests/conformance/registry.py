"""The operators: what is called, and the family of arguments it is called with.

What eager refuses (an operator that has no kernel for a dtype) drops out by itself.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from arguments import (
    DTYPES,
    FLOATS,
    INTEGERS,
    Family,
    along,
    binary,
    choice,
    conv,
    create,
    created,
    division,
    listed,
    made,
    masked,
    mixed,
    over,
    pooling,
    resample,
    shaped,
    tensors,
    ternary,
    unary,
    whole,
    with_number,
    with_settings,
)

INEXACT = FLOATS
EXACT = (*INTEGERS, torch.bool)


@dataclasses.dataclass(frozen=True)
class Operator:
    """function: called with a sample's arguments and settings, inside the program.
    dynamic: whether sizes of its arguments may vary between calls.
    """

    function: Callable[..., Any]
    family: Family
    dtypes: tuple[torch.dtype, ...] = DTYPES
    dynamic: bool = True


OPERATORS: dict[str, Operator] = {}


def op(
    name: str,
    function: Callable[..., Any],
    family: Family,
    dtypes: tuple[torch.dtype, ...] = DTYPES,
    dynamic: bool = True,
) -> None:
    if name in OPERATORS:
        raise ValueError(f"operator {name} is there already")
    OPERATORS[name] = Operator(function, family, dtypes, dynamic)


def same(names: str, family: Family, dtypes: tuple[torch.dtype, ...] = DTYPES) -> None:
    """Operators of one family under their own names, in torch or torch.nn.functional."""
    for name in names.split():
        function = getattr(torch, name, None) or getattr(F, name)
        op(name, function, family, dtypes)


# --- elementwise ----------------------------------------------------------------------------------

same(
    "abs neg sign sgn ceil floor round trunc frac sqrt rsqrt reciprocal exp exp2 expm1 log log2 "
    "log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv "
    "sigmoid square relu relu6 selu celu elu silu mish gelu hardswish hardsigmoid hardtanh "
    "leaky_relu softplus softsign tanhshrink softshrink hardshrink logsigmoid isnan isinf "
    "isfinite isposinf isneginf signbit positive nan_to_num deg2rad rad2deg sinc lgamma digamma "
    "logical_not bitwise_not clone ones_like zeros_like",
    unary,
)
op("round decimals", torch.round, with_settings(decimals=2), INEXACT)
op("gelu tanh", F.gelu, with_settings(approximate="tanh"), INEXACT)
op("elu alpha", F.elu, with_settings(0.5), INEXACT)
op("celu alpha", F.celu, with_settings(0.5), INEXACT)
op("leaky_relu slope", F.leaky_relu, with_settings(0.3), INEXACT)
op("softplus beta", F.softplus, with_settings(2.0, 3.0), INEXACT)
op("threshold", F.threshold, with_settings(0.5, -2.0))
op("hardtanh bounds", F.hardtanh, with_settings(-2, 3))
op("logit", lambda x: torch.logit(torch.sigmoid(x), 1e-3), unary, FLOATS[:1])
op("full_like", torch.full_like, with_settings(3))
op("nan_to_num values", torch.nan_to_num, with_settings(1.0, 2.0, -2.0), INEXACT)
op("clamp", torch.clamp, with_settings(-1, 2))
op("clamp fractions", torch.clamp, with_settings(0.5, 1.5))
op("clamp min", torch.clamp, with_settings(min=1))
op("clamp max", torch.clamp, with_settings(max=1))
op("clamp crossed", torch.clamp, with_settings(2, 1))
op("dropout", lambda x: F.dropout(x, 0.5, training=False), unary, INEXACT)
for _target in DTYPES:
    op(f"to {str(_target).removeprefix('torch.')}", torch.Tensor.to, with_settings(_target))

same(
    "add sub mul eq ne lt le gt ge maximum minimum true_divide logical_and logical_or logical_xor",
    mixed,
)
same(
    "pow fmax fmin atan2 hypot logaddexp logaddexp2 copysign xlogy bitwise_and bitwise_or "
    "bitwise_xor heaviside",
    binary,
)
# In float16 its power of two is infinite where the product need not be.
same("ldexp", binary, tuple(dtype for dtype in DTYPES if dtype != torch.float16))
op("bitwise_left_shift", lambda x, y: torch.bitwise_left_shift(x, y.abs() % 4), binary, INTEGERS)
op("bitwise_right_shift", lambda x, y: torch.bitwise_right_shift(x, y.abs() % 4), binary, INTEGERS)
same("floor_divide remainder fmod", division)
op("div", torch.div, mixed)
op("div floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), division)
op("div trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), division)
op("add alpha", lambda x, y: torch.add(x, y, alpha=2), mixed)
op("sub alpha", lambda x, y: torch.sub(x, y, alpha=2), binary)
op("rsub", lambda x, y: torch.rsub(x, y), binary)
op("add number", torch.add, with_number(2, 0.5))
op("sub number", torch.sub, with_number(2, -0.5))
op("mul number", torch.mul, with_number(3, 0.5, -1))
op("div number", torch.div, with_number(2, 0.5, -3, 0))
op("number sub", lambda x, s: s - x, with_number(2, 0.5))
op("number div", lambda x, s: s / x, with_number(2, 0.5, 0))
op("number pow", lambda x, s: torch.pow(s, x), with_number(2, 0.5))
op("floor_divide number", torch.floor_divide, with_number(3, -2, 0.5))
op("remainder number", torch.remainder, with_number(3, -2, 0.5))
op("fmod number", torch.fmod, with_number(3, -2, 0.5))
op("div floor number", lambda x, s: torch.div(x, s, rounding_mode="floor"), with_number(3, -2))
op("div trunc number", lambda x, s: torch.div(x, s, rounding_mode="trunc"), with_number(3, -2))
op("pow number", torch.pow, with_number(2, 3, 0.5, -1, 0, 1, -0.5, 2.5))
op("eq number", torch.eq, with_number(1, 0.5))
op("ne number", torch.ne, with_number(1, 0.5))
op("lt number", torch.lt, with_number(1, 0.5))
op("le number", torch.le, with_number(1, 0.5))
op("gt number", torch.gt, with_number(1, 0.5, -300))
op("ge number", torch.ge, with_number(1, 0.5, 300))
op("bitwise_and number", torch.bitwise_and, with_number(3), EXACT)
op("bitwise_or number", torch.bitwise_or, with_number(3), EXACT)
op("bitwise_xor number", torch.bitwise_xor, with_number(3), EXACT)
op("left shift number", lambda x, s: x << s, with_number(2), INTEGERS)
op("right shift number", lambda x, s: x >> s, with_number(2), INTEGERS)
op("clamp tensors", lambda x, y: torch.clamp(x, y - 1, y + 1), binary)
op("clamp_min tensor", torch.clamp_min, binary)
op("clamp_max tensor", torch.clamp_max, binary)
op("prelu", F.prelu, tensors(((2, 3, 4), (3,)), ((2, 3, 4, 5), (1,)), ((3, 4), (1,))), INEXACT)
op("lerp", torch.lerp, ternary)
op("lerp number", torch.lerp, tensors(((3, 4), (3, 4), 0.3), ((3, 4), (4,), 0.7)))
op("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=2), ternary)
op("addcdiv", lambda x, y, z: torch.addcdiv(x, y, z, value=0.5), ternary)
op("where", torch.where, choice)
op("where numbers", lambda c, x, y: torch.where(c, x, 2), choice)
op("where two numbers", lambda c, x, y: torch.where(c, 1.5, -2.0), choice)
op("where of conditions", lambda c, x, y: torch.where(x > y, x, y), choice)
op("masked_fill", torch.masked_fill, masked(2))
op("masked_fill infinity", torch.masked_fill, masked(float("-inf")), INEXACT)
op(
    "masked_fill tensor",
    lambda x, m, v: torch.masked_fill(x, m, v),
    made(
        lambda make: (make(3, 4), make.mask(4), make()),
    ),
)
op("cumulative comparison", lambda x, y: torch.isclose(x, y), binary, (*FLOATS[:1], torch.int64))
op("glu", F.glu, tensors(((4, 6), 0), ((2, 6), -1), ((2, 4, 4, 3), 1)), INEXACT)
op("middle", lambda x, y: x * 0.5 + y * 0.5 - y, binary, INEXACT)

# --- reductions -----------------------------------------------------------------------------------

_DIMS = over(-1, 0, 1, -2)
_LISTS = over([-1], [0, 1], [1], [0, 2], [0, 1, 2])
same("amax amin logsumexp nansum", _LISTS)
same("sum mean", _LISTS)
same("nanmean", _LISTS, INEXACT)
same("prod argmax argmin any all", _DIMS)
op(
    "sum to float",
    lambda x, d, keepdim=False: x.sum(d, keepdim, dtype=torch.float32),
    over([-1], [0, 1], scalar=False),
)
op(
    "any dims",
    lambda x, d, keepdim=False: torch.any(x, d, keepdim),
    over([0, 1], [-1, 1], scalar=False),
)
op(
    "all dims",
    lambda x, d, keepdim=False: torch.all(x, d, keepdim),
    over([0, 1], [-1, 1], scalar=False),
)
op("max dim", lambda x, d, keepdim=False: tuple(torch.max(x, d, keepdim)), _DIMS)
op("min dim", lambda x, d, keepdim=False: tuple(torch.min(x, d, keepdim)), _DIMS)
op("max dim values", lambda x, d, keepdim=False: torch.max(x, d, keepdim)[0], _DIMS)
op("min dim values", lambda x, d, keepdim=False: torch.min(x, d, keepdim)[0], _DIMS)
op("aminmax", lambda x, d, keepdim=False: tuple(torch.aminmax(x, dim=d, keepdim=keepdim)), _DIMS)
op("median dim", lambda x, d, keepdim=False: tuple(torch.median(x, d, keepdim)), _DIMS)
op("var", torch.var, _LISTS, INEXACT)
op("std", torch.std, _LISTS, INEXACT)
op(
    "var correction",
    lambda x, d, keepdim=False: torch.var(x, d, correction=2, keepdim=keepdim),
    _LISTS,
    INEXACT,
)
op(
    "var biased",
    lambda x, d, keepdim=False: torch.var(x, d, correction=0, keepdim=keepdim),
    _LISTS,
    INEXACT,
)
op(
    "std biased",
    lambda x, d, keepdim=False: torch.std(x, d, correction=0, keepdim=keepdim),
    _LISTS,
    INEXACT,
)
op(
    "var_mean",
    lambda x, d, keepdim=False: tuple(torch.var_mean(x, d, keepdim=keepdim)),
    _LISTS,
    INEXACT,
)
op(
    "std_mean",
    lambda x, d, keepdim=False: tuple(torch.std_mean(x, d, keepdim=keepdim)),
    _LISTS,
    INEXACT,
)
for _order in (1, 2, 3, float("inf"), 0):
    op(
        f"norm {_order}",
        lambda x, d, keepdim=False, p=_order: torch.linalg.vector_norm(x, p, d, keepdim),
        over([-1], [0, 1], [1]),
        INEXACT,
    )
op(
    "frobenius norm",
    lambda x: torch.linalg.matrix_norm(x),
    shaped(((3, 4), ()), ((2, 3, 4), ())),
    INEXACT,
)
op("count_nonzero", lambda x, d: torch.count_nonzero(x, d), over(-1, 0, 1, keep=None))
op("sum all", torch.sum, whole)
op("mean all", torch.mean, whole)
op("prod all", torch.prod, whole)
op("max all", torch.max, whole)
op("min all", torch.min, whole)
op("amax all", torch.amax, whole)
op("amin all", torch.amin, whole)
op("argmax all", torch.argmax, whole)
op("argmin all", torch.argmin, whole)
op("any all", torch.any, whole)
op("all all", torch.all, whole)
op("var all", torch.var, whole, INEXACT)
op("std all", torch.std, whole, INEXACT)
op("norm all", lambda x: torch.linalg.vector_norm(x), whole, INEXACT)
op("median all", torch.median, whole)
op("trace", torch.trace, shaped(((3, 4), ()), ((4, 4), ())))
same("cumsum cumprod logcumsumexp", along(0, 1, -1))
op("cummax", lambda x, d: tuple(torch.cummax(x, d)), along(0, -1))
op("cummin", lambda x, d: tuple(torch.cummin(x, d)), along(0, -1))
op("cumsum to int32", lambda x, d: torch.cumsum(x, d, dtype=torch.int32), along(0, -1))
op("softmax", torch.softmax, along(0, 1, -1), INEXACT)
op("softmax to float", lambda x, d: torch.softmax(x, d, dtype=torch.float32), along(0, -1), INEXACT)
op("log_softmax", torch.log_softmax, along(0, 1, -1), INEXACT)
op("softmin", F.softmin, along(-1), INEXACT)
op("normalize", lambda x, d: F.normalize(x, dim=d), along(0, -1), INEXACT)
op("diff", lambda x, d: torch.diff(x, dim=d), along(0, -1))
op(
    "cosine_similarity",
    F.cosine_similarity,
    tensors(((3, 4), (3, 4)), ((2, 3, 4), (3, 4)), dim=-1),
    INEXACT,
)
op("pairwise_distance", F.pairwise_distance, tensors(((3, 4), (3, 4)), ((4,), (4,))), INEXACT)
op("trapezoid", torch.trapezoid, shaped(((3, 4), ()), ((2, 3, 4), ())), INEXACT)

# --- shapes ---------------------------------------------------------------------------------------

_SHAPES = ((2, 3, 4), (2, 4, 3, 5))
op(
    "view",
    lambda x, *shape: x.contiguous().view(shape),
    shaped(
        ((2, 3, 4), (6, 4)),
        ((2, 3, 4), (2, -1)),
        ((), (1,)),
        ((1,), ()),
        ((2, 1, 3, 4, 2), (6, 8)),
        ((0, 3), (3, 0)),
    ),
)
op(
    "reshape",
    torch.reshape,
    shaped(((2, 3, 4), ((4, 6),)), ((2, 3, 4, 5), ((2, -1, 5),)), ((6,), ((1, 2, 3),))),
)
op(
    "flatten",
    torch.flatten,
    shaped(((2, 3, 4), ()), ((2, 3, 4, 5), (1,)), ((2, 3, 4, 5), (1, 2)), ((), ())),
)
op("unflatten", torch.unflatten, shaped(((2, 6), (1, (2, 3))), ((6, 2), (0, (-1, 2)))))
op(
    "squeeze",
    torch.squeeze,
    shaped(
        ((2, 1, 3, 1), ()),
        ((2, 1, 3), (1,)),
        ((2, 1, 3, 1), ((1, -1),)),
        ((2, 3), (0,)),
        ((1,), (0,)),
    ),
)
op(
    "unsqueeze",
    torch.unsqueeze,
    shaped(((2, 3), (0,)), ((2, 3), (-1,)), ((2, 3, 4, 5), (2,)), ((), (0,))),
)
op(
    "permute",
    torch.permute,
    shaped(
        ((2, 3, 4), ((2, 0, 1),)),
        ((2, 3, 4, 5), ((0, 2, 3, 1),)),
        ((2, 3, 4, 5), ((0, -1, 1, 2),)),
        ((2, 1, 3, 2, 2), ((4, 0, 3, 1, 2),)),
    ),
)
op(
    "transpose",
    torch.transpose,
    shaped(((2, 3, 4), (0, 1)), ((2, 3, 4, 5), (-1, 1)), ((2, 1, 3, 2, 2), (0, 4))),
)
op("t", torch.t, shaped(((3, 4), ()), ((3,), ())))
op("mT", lambda x: x.mT, shaped(((2, 3, 4), ()), ((3, 4), ())))
op("movedim", torch.movedim, shaped(((2, 3, 4), (0, -1)), ((2, 3, 4, 5), ((0, 1), (2, 0)))))
op(
    "expand",
    lambda x, *s: x.expand(*s),
    shaped(((3, 1), (3, 4)), ((1, 3), (2, -1, 3)), ((), (2, 3)), ((1, 3, 1, 4), (2, 3, 2, 4))),
)
op("broadcast_to", torch.broadcast_to, shaped(((3, 1), ((2, 3, 4),)), ((1,), ((5,),))))
op("expand_as", lambda x, y: x.expand_as(y), tensors(((3, 1), (2, 3, 4)), ((1,), (4,))))
op(
    "repeat",
    lambda x, *s: x.repeat(*s),
    shaped(((2, 3), (2, 1)), ((2, 3), (1, 2, 3)), ((2, 3, 1, 2), (1, 2, 1, 2)), ((), (3,))),
)
op("tile", torch.tile, shaped(((2, 3), ((2,),)), ((2, 3), ((2, 2, 1),))))
op(
    "repeat_interleave",
    torch.repeat_interleave,
    shaped(((2, 3), (2,)), ((2, 3, 4), (3, 1)), ((3,), (2, 0))),
)
op(
    "flip",
    torch.flip,
    shaped(
        ((2, 3), ((0,),)), ((2, 3, 4), ((0, -1),)), ((2, 3, 4, 5), ((2, 3),)), ((1, 3), ((0, 1),))
    ),
)
op("fliplr", torch.fliplr, shaped(((2, 3), ()), ((2, 3, 4), ())))
op(
    "rot90",
    torch.rot90,
    shaped(((3, 4), (1, (0, 1))), ((2, 3, 4), (2, (1, 2))), ((2, 3, 4), (-1, (0, 2)))),
)
op(
    "roll",
    torch.roll,
    shaped(
        ((5,), (2,)),
        ((3, 4), (1,)),
        ((3, 4), (-1, 1)),
        ((2, 3, 4, 5), ((1, -2), (2, 3))),
        ((3, 4), (7, 0)),
    ),
)
op(
    "narrow",
    torch.narrow,
    shaped(((5, 3), (0, 1, 3)), ((2, 3, 4, 5), (3, 1, 2)), ((5, 3), (-1, 0, 2))),
)
op(
    "select",
    torch.select,
    shaped(((3, 4), (0, 1)), ((3, 4), (1, -1)), ((2, 3, 4, 5), (1, 2)), ((3,), (0, -2))),
)
op(
    "slice",
    lambda x: (x[1:], x[:-1], x[::2], x[-2:, 1:3], x[..., 1:100]),
    shaped(((3, 4), ()), ((5, 4, 3), ()), ((3, 5, 4, 6), ())),
)
op("slice to nothing", lambda x: x[:, 2:2], shaped(((3, 4), ())))
op(
    "split",
    lambda x, n, d: torch.split(x, n, d),
    shaped(((5, 3), (2, 0)), ((2, 6), ([1, 2, 3], 1)), ((2, 4, 3, 5), (2, 1))),
)
op("chunk", torch.chunk, shaped(((5, 3), (2,)), ((2, 7), (3, -1)), ((2, 4, 3, 5), (2, 1))))
# How many parts are one longer than the others depends on the size, and export fixes that.
op("tensor_split", torch.tensor_split, shaped(((5, 3), (2,)), ((5, 3), ((1, 2), 1))), dynamic=False)
op("unbind", torch.unbind, shaped(((2, 3), ()), ((2, 3, 4, 2), (-1,)), ((3,), (0,))))
op(
    "cat",
    torch.cat,
    listed(
        (((2, 3), (4, 3)), (0,)),
        (((2, 3), (2, 1)), (-1,)),
        (((1, 2, 3, 4), (1, 3, 3, 4)), (1,)),
        (((2,),), (0,)),
        (((0,), (3,)), (0,)),
        (((2, 0), (2, 3)), (1,)),
    ),
)
op(
    "stack",
    torch.stack,
    listed(
        (((2, 3), (2, 3)), (0,)),
        (((2, 3), (2, 3), (2, 3)), (-1,)),
        (((), ()), (0,)),
        (((1, 2, 3, 4), (1, 2, 3, 4)), (1,)),
    ),
)
op("hstack", lambda x: torch.hstack(x), listed((((2, 3), (2, 1)), ()), (((2,), (3,)), ())))
op("vstack", lambda x: torch.vstack(x), listed((((2, 3), (1, 3)), ()), (((3,), (3,)), ())))
op("dstack", lambda x: torch.dstack(x), listed((((2, 3), (2, 3)), ()), (((3,), (3,)), ())))
op("column_stack", lambda x: torch.column_stack(x), listed((((3,), (3, 2)), ())))
op("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij"), tensors(((3,), (4,))))
op("cartesian_prod", lambda x, y: torch.cartesian_prod(x, y), tensors(((3,), (4,))))
op("block_diag", lambda x, y: torch.block_diag(x, y), tensors(((2, 3), (1, 2))))
op("kron", torch.kron, tensors(((2, 3), (3, 2))))
op("diagonal", torch.diagonal, shaped(((3, 4), ()), ((3, 4), (1,)), ((2, 3, 4), (-1, 1, 2))))
op("diag", torch.diag, shaped(((3,), ()), ((3, 4), ()), ((3,), (1,))))
op("diag_embed", torch.diag_embed, shaped(((2, 3), ()), ((3,), (1,))))
op("tril", torch.tril, shaped(((3, 4), ()), ((2, 4, 3), (1,)), ((4, 4), (-1,))))
op("triu", torch.triu, shaped(((3, 4), ()), ((2, 4, 3), (1,)), ((4, 4), (-1,))))
op(
    "unfold dim",
    lambda x, *s: x.unfold(*s),
    shaped(((7,), (0, 3, 2)), ((3, 8), (1, 4, 1)), ((2, 3, 6, 5), (2, 2, 2))),
)
op("as_strided", lambda x: torch.as_strided(x, (2, 2), (3, 1), 1), made(lambda make: (make(3, 4),)))
op(
    "pixel_shuffle",
    F.pixel_shuffle,
    shaped(((1, 4, 2, 3), (2,)), ((8, 2, 3), (2,)), ((2, 9, 2, 1), (3,))),
)
op("pixel_unshuffle", F.pixel_unshuffle, shaped(((1, 2, 4, 6), (2,)), ((1, 4, 2), (2,))))
op("channel_shuffle", lambda x, g: F.channel_shuffle(x, g), shaped(((2, 4, 3, 3), (2,))))
op("atleast_3d", torch.atleast_3d, shaped(((3,), ()), ((2, 3), ()), ((), ())))
op(
    "swapaxes contiguous",
    lambda x: x.swapaxes(0, 1).contiguous(),
    shaped(((3, 4), ()), ((2, 3, 4, 5), ())),
)
op(
    "to channels last",
    lambda x: x.to(memory_format=torch.channels_last),
    shaped(((2, 3, 4, 5), ()), ((1, 1, 4, 5), ())),
)
op("to contiguous", lambda x: x.contiguous(), shaped(((2, 3, 4, 5), ())))
op("detach", lambda x: x.detach() * 1, shaped(((2, 3), ())), INEXACT)
op(
    "view_as_complex",
    lambda x: torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(x)),
    tensors(((3, 4, 2),)),
    FLOATS[:1],
)
op(
    "unfold",
    lambda x: F.unfold(x, (2, 3), padding=1, stride=2),
    shaped(((2, 3, 5, 6), ())),
    INEXACT,
)
op("fold", lambda x: F.fold(x, (4, 5), (2, 2)), shaped(((2, 12, 12), ())), INEXACT)

# --- indexing -------------------------------------------------------------------------------------


op(
    "index",
    lambda x, i: x[i],
    made(
        lambda make: (make(4, 3), make.integers(0, 4, (5,))),
        lambda make: (make(4, 3), make.integers(-4, 4, (2, 3))),
        lambda make: (make(4, 3), make.integers(0, 4, ())),
        lambda make: (make(4, 3), make.integers(0, 4, (3,), torch.int32)),
        lambda make: (make.last(4, 3, 2, 2), make.integers(0, 4, (3,))),
    ),
)
op(
    "index second",
    lambda x, i: x[:, i],
    made(
        lambda make: (make(4, 3), make.integers(0, 3, (5,))),
        lambda make: (make(2, 3, 4), make.integers(-3, 3, (2, 2))),
    ),
)
op(
    "index several",
    lambda x, i, j: x[i, j],
    made(
        lambda make: (make(4, 3), make.integers(0, 4, (5,)), make.integers(0, 3, (5,))),
        lambda make: (make(4, 3, 2), make.integers(-4, 4, (2, 1)), make.integers(-3, 3, (3,))),
    ),
)
op(
    "index apart",
    lambda x, i, j: x[i, :, j],
    made(
        lambda make: (make(4, 3, 5), make.integers(0, 4, (5,)), make.integers(-5, 5, (5,))),
    ),
)
op(
    "index by constants",
    lambda x: (x[[0, 2]], x[:, [-1, 0]], x[[0, 1], [1, -1]], x[None, ..., 0]),
    made(lambda make: (make(4, 3),), lambda make: (make.last(4, 3, 2, 2),)),
)
op(
    "index_select",
    torch.index_select,
    made(
        lambda make: (make(4, 3), 0, make.integers(0, 4, (5,))),
        lambda make: (make(4, 3), -1, make.integers(0, 3, (2,), torch.int32)),
        lambda make: (make.last(2, 3, 4, 5), 1, make.integers(0, 3, (2,))),
        lambda make: (make(4), 0, make.integers(0, 4, ())),
    ),
)
op(
    "gather",
    torch.gather,
    made(
        lambda make: (make(4, 3), 1, make.integers(0, 3, (4, 3))),
        lambda make: (make(4, 3), 0, make.integers(0, 4, (6, 3))),
        lambda make: (make(4, 3), 1, make.integers(0, 3, (2, 5))),
        lambda make: (make(2, 4, 3), -1, make.integers(0, 3, (2, 4, 1))),
        lambda make: (make(), 0, make.integers(0, 1, ())),
    ),
)
op(
    "take",
    torch.take,
    made(
        lambda make: (make(4, 3), make.integers(0, 12, (2, 3))),
        lambda make: (make(4, 3), make.integers(-12, 12, (5,))),
    ),
)
op(
    "take_along_dim",
    torch.take_along_dim,
    made(
        lambda make: (make(4, 3), make.integers(0, 3, (4, 2)), 1),
        lambda make: (make(4, 3), make.integers(0, 12, (5,))),
    ),
)
op(
    "scatter",
    torch.scatter,
    made(
        lambda make: (make(3, 4), 1, make.integers(0, 1, (3, 1)), make(3, 1)),
        lambda make: (make(3, 4), 0, torch.tensor([[0, 1, 2, 0], [2, 0, 1, 1]]), make(2, 4)),
        lambda make: (make(3, 4), -1, torch.tensor([[3, 1], [0, 2]]), make(3, 4)),
        lambda make: (
            make.last(1, 3, 2, 4),
            1,
            torch.tensor([2, 0, 1]).reshape(1, 3, 1, 1),
            make(1, 3, 1, 1),
        ),
    ),
)
op(
    "scatter number",
    torch.scatter,
    made(
        lambda make: (make(3, 4), 1, torch.tensor([[3, 1], [0, 2]]), 2),
        lambda make: (make(3, 4), 0, torch.tensor([[0, 0, 2, 1]]), 1),
    ),
)
op(
    "scatter_add",
    torch.scatter_add,
    made(
        lambda make: (make(3, 4), 1, make.integers(0, 4, (3, 6)), make(3, 6)),
        lambda make: (make(3, 4), 0, make.integers(0, 3, (2, 4)), make(2, 4)),
        lambda make: (make(3, 4), 1, make.integers(0, 4, (2, 3)), make(3, 5)),
        lambda make: (make(5), 0, torch.zeros(3, dtype=torch.int64), make(3)),
    ),
)
for _reduce in ("sum", "prod", "mean", "amax", "amin"):
    for _include in (True, False):
        op(
            f"scatter_reduce {_reduce}{'' if _include else ' alone'}",
            lambda x, d, i, s, reduce=_reduce, include=_include: torch.scatter_reduce(
                x, d, i, s, reduce, include_self=include
            ),
            made(
                lambda make: (make(3, 4), 1, make.integers(0, 4, (3, 6)), make(3, 6)),
                lambda make: (make(3, 4), 0, make.integers(0, 3, (2, 4)), make(2, 4)),
            ),
        )
op(
    "index_put",
    lambda x, i, v: torch.index_put(x, (i,), v),
    made(
        lambda make: (make(4, 3), torch.tensor([2, 0]), make(2, 3)),
        lambda make: (make(4, 3), torch.tensor([-1, 1]), make()),
        lambda make: (make(4, 3), make.mask(4, 3), make()),
        lambda make: (make(4), torch.tensor([3, 1]), make(2)),
    ),
)
op(
    "index_put accumulate",
    lambda x, i, v: torch.index_put(x, (i,), v, accumulate=True),
    made(
        lambda make: (make(4, 3), torch.tensor([2, 0, 2]), make(3, 3)),
        lambda make: (make(4), torch.tensor([-1, 1, 1]), make(3)),
    ),
)
op(
    "index_put several",
    lambda x, i, j, v: torch.index_put(x, (i, j), v),
    made(
        lambda make: (make(4, 3), torch.tensor([2, 0]), torch.tensor([1, 2]), make(2)),
        lambda make: (make(4, 3, 2), torch.tensor([-2, 0]), torch.tensor([1, -1]), make(2, 2)),
    ),
)
op(
    "assign a slice",
    lambda x, v: _assign(x, v),
    made(lambda make: (make(4, 3), make(2, 3)), lambda make: (make(4, 3), make())),
)
op(
    "assign a column",
    lambda x, v: _assign_column(x, v),
    made(lambda make: (make(4, 3), make(4)), lambda make: (make(4, 3), make())),
)
op(
    "index_add",
    lambda x, d, i, s: torch.index_add(x, d, i, s),
    made(
        lambda make: (make(4, 3), 0, torch.tensor([2, 0, 2]), make(3, 3)),
        lambda make: (make(4, 3), 1, torch.tensor([1]), make(4, 1)),
    ),
)
op(
    "index_copy",
    torch.index_copy,
    made(
        lambda make: (make(4, 3), 0, torch.tensor([2, 0]), make(2, 3)),
        lambda make: (make(4, 3), -1, torch.tensor([1]), make(4, 1)),
    ),
)
op(
    "index_fill",
    torch.index_fill,
    made(
        lambda make: (make(4, 3), 0, torch.tensor([2, 0]), 1),
        lambda make: (make(4, 3), 1, torch.tensor([-1]), 2),
    ),
)
op(
    "masked_scatter",
    torch.masked_scatter,
    made(
        lambda make: (make(3, 4), make.mask(3, 4), make(12)),
        lambda make: (make(3, 4), make.mask(4), make(3, 4)),
    ),
)
op(
    "select_scatter",
    torch.select_scatter,
    made(lambda make: (make(4, 3), make(3), 0, 1), lambda make: (make(4, 3), make(4), 1, -1)),
)
op(
    "slice_scatter",
    torch.slice_scatter,
    made(
        lambda make: (make(4, 3), make(2, 3), 0, 1, 3),
        lambda make: (make(4, 6), make(4, 2), 1, 1, 5, 2),
    ),
)
op(
    "diagonal_scatter",
    torch.diagonal_scatter,
    made(lambda make: (make(4, 3), make(3)), lambda make: (make(3, 4), make(3), 1)),
)
op(
    "embedding",
    lambda w, i: F.embedding(i, w),
    made(
        lambda make: (make(5, 3), make.integers(0, 5, (2, 4))),
        lambda make: (make(5, 3), make.integers(0, 5, (), torch.int32)),
        lambda make: (make(5, 3), make.integers(0, 5, (0,))),
    ),
)
op(
    "embedding padding",
    lambda w, i: F.embedding(i, w, padding_idx=1),
    made(lambda make: (make(5, 3), make.integers(0, 5, (2, 4)))),
    INEXACT,
)
op(
    "embedding_bag",
    lambda w, i: F.embedding_bag(i, w, mode="mean"),
    made(lambda make: (make(5, 3), make.integers(0, 5, (2, 4)))),
    INEXACT,
    dynamic=False,
)
op(
    "one_hot",
    lambda i, n: F.one_hot(i.abs() % n, n),
    made(lambda make: (make(5), 6), lambda make: (make(2, 3), 7)),
    (torch.int64,),
)
op(
    "searchsorted",
    lambda x, y: torch.searchsorted(x.sort()[0], y),
    made(lambda make: (make(6), make(2, 3)), lambda make: (make(2, 6), make(2, 3))),
)
op(
    "bucketize",
    lambda x, y: torch.bucketize(x, y.sort()[0]),
    made(lambda make: (make(2, 3), make(5)), lambda make: (make.edges(), make(5))),
)
op("isin", torch.isin, made(lambda make: (make(3, 4), make(3)), lambda make: (make(5), make(2, 2))))
_TOPK = over((1, -1), (2, 0), (3, 1), keep=None, scalar=False)
for _largest in (True, False):
    _word = "largest" if _largest else "smallest"
    op(
        f"topk {_word}",
        lambda x, a, big=_largest: tuple(torch.topk(x, a[0], a[1], largest=big)),
        _TOPK,
    )
    op(
        f"topk {_word} values",
        lambda x, a, big=_largest: torch.topk(x, a[0], a[1], largest=big)[0],
        made(
            lambda make: (make(3, 4), (2, -1)),
            lambda make: (make.edges(), (3, 0)),
            lambda make: (make(3, 41), (5, 1)),
        ),
    )
op("sort", lambda x, d: tuple(torch.sort(x, dim=d, stable=True)), along(0, -1))
op("sort values", lambda x, d: torch.sort(x, d)[0], along(0, -1))
op(
    "sort descending",
    lambda x, d: tuple(torch.sort(x, dim=d, stable=True, descending=True)),
    along(0, -1),
)
op("argsort", lambda x, d: torch.argsort(x, dim=d, stable=True), along(0, -1))
op("msort", torch.msort, shaped(((5, 2), ()), ((7,), ())))
op(
    "kthvalue",
    lambda x, k, d: torch.kthvalue(x, k, d)[0],
    shaped(((3, 4), (2, -1)), ((5,), (1, 0))),
)
op(
    "nonzero",
    torch.nonzero,
    made(lambda make: (make(5),), lambda make: (make(3, 4),), lambda make: (make(2, 3, 4),)),
    dynamic=False,
)
op(
    "masked_select",
    torch.masked_select,
    made(lambda make: (make(3, 4), make.mask(3, 4)), lambda make: (make(3, 4), make.mask(4))),
    dynamic=False,
)
op("unique", lambda x: torch.unique(x), made(lambda make: (make(12),)), dynamic=False)
op(
    "bincount",
    lambda x: torch.bincount(x.abs(), minlength=9),
    made(lambda make: (make(12),)),
    INTEGERS,
    dynamic=False,
)
op("histc", lambda x: torch.histc(x, 4, -4, 4), made(lambda make: (make(12),)), INEXACT)


def _assign(x, v):
    x = x.clone()
    x[1:3] = v
    return x


def _assign_column(x, v):
    x = x.clone()
    x[:, -1] = v
    return x


# --- matrices -------------------------------------------------------------------------------------

op("mm", torch.mm, tensors(((3, 4), (4, 5)), ((1, 4), (4, 1)), ((3, 0), (0, 2))))
op("bmm", torch.bmm, tensors(((2, 3, 4), (2, 4, 5)), ((1, 1, 4), (1, 4, 1))))
op(
    "matmul",
    torch.matmul,
    tensors(
        ((3, 4), (4, 5)),
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((4,), (4, 3)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (3, 4, 2)),
    ),
)
op("mv", torch.mv, tensors(((3, 4), (4,))))
op("dot", torch.dot, tensors(((5,), (5,)), ((1,), (1,))))
op("outer", torch.outer, tensors(((3,), (4,))))
op("inner", torch.inner, tensors(((3, 4), (2, 4)), ((4,), (4,))))
op(
    "addmm",
    torch.addmm,
    tensors(((5,), (3, 4), (4, 5)), ((3, 5), (3, 4), (4, 5)), ((3, 1), (3, 4), (4, 5))),
)
op(
    "addmm scaled",
    lambda c, a, b: torch.addmm(c, a, b, beta=2, alpha=3),
    tensors(((5,), (3, 4), (4, 5)), ((3, 5), (3, 4), (4, 5))),
)
op(
    "addmm without",
    lambda c, a, b: torch.addmm(c, a, b, beta=0),
    made(
        lambda make: (
            torch.full((5,), 1, dtype=make.dtype) / 0 if make.floating else make(5),
            make(3, 4),
            make(4, 5),
        )
    ),
    INEXACT,
)
op("addmv", torch.addmv, tensors(((3,), (3, 4), (4,))))
op(
    "baddbmm",
    torch.baddbmm,
    tensors(((2, 3, 5), (2, 3, 4), (2, 4, 5)), ((5,), (2, 3, 4), (2, 4, 5))),
)
op(
    "baddbmm scaled",
    lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2),
    tensors(((2, 3, 5), (2, 3, 4), (2, 4, 5))),
    INEXACT,
)
op("addbmm", torch.addbmm, tensors(((3, 5), (2, 3, 4), (2, 4, 5))))
op(
    "linear",
    F.linear,
    tensors(
        ((3, 4), (5, 4), (5,)), ((4,), (5, 4)), ((2, 3, 4), (5, 4), (5,)), ((2, 3, 1, 4), (5, 4))
    ),
)
op("bilinear", F.bilinear, tensors(((3, 4), (3, 5), (2, 4, 5), (2,))), INEXACT)
op("einsum", lambda x, y: torch.einsum("bij,bjk->bik", x, y), tensors(((2, 3, 4), (2, 4, 5))))
op("einsum outer", lambda x, y: torch.einsum("bi,bj->bij", x, y), tensors(((2, 3), (2, 4))))
op(
    "einsum heads",
    lambda x, y: torch.einsum("bhqd,bhkd->bhqk", x, y),
    tensors(((1, 2, 3, 4), (1, 2, 5, 4))),
)
op("tensordot", lambda x, y: torch.tensordot(x, y, 2), tensors(((2, 3, 4), (3, 4, 5))))
op("chain", lambda a, b, c: torch.linalg.multi_dot([a, b, c]), tensors(((2, 3), (3, 4), (4, 5))))
op("cdist", torch.cdist, tensors(((3, 4), (5, 4)), ((2, 3, 4), (2, 5, 4))), FLOATS[:1])
op("cross", lambda x, y: torch.linalg.cross(x, y), tensors(((2, 3), (2, 3))))
op("matrix_power", lambda x: torch.matrix_power(x, 3), shaped(((3, 3), ())), INEXACT)
op("vander", lambda x: torch.vander(x, 4), shaped(((3,), ())))
op("det", torch.det, shaped(((3, 3), ())), FLOATS[:1], dynamic=False)
op("inverse", torch.inverse, shaped(((3, 3), ())), FLOATS[:1], dynamic=False)

# --- attention ------------------------------------------------------------------------------------

_HEADS = ((1, 2, 5, 8), (1, 2, 5, 8), (1, 2, 5, 8))
_attention = F.scaled_dot_product_attention
op(
    "attention",
    _attention,
    tensors(_HEADS, ((2, 3, 8), (2, 5, 8), (2, 5, 8)), ((2, 4, 3, 8), (2, 4, 7, 8), (2, 4, 7, 6))),
    INEXACT,
)
op(
    "attention causal",
    lambda q, k, v: _attention(q, k, v, is_causal=True),
    tensors(_HEADS, ((1, 2, 3, 8), (1, 2, 5, 8), (1, 2, 5, 8))),
    INEXACT,
)
op("attention scale", lambda q, k, v: _attention(q, k, v, scale=0.3), tensors(_HEADS), INEXACT)
op(
    "attention mask",
    lambda q, k, v, m: _attention(q, k, v, m),
    made(
        lambda make: (
            *(make(1, 2, 5, 8) for _ in "qkv"),
            torch.ones(5, 5, dtype=torch.bool).tril(),
        ),
        lambda make: (
            *(make(2, 2, 5, 8) for _ in "qkv"),
            make.mask(2, 1, 1, 5) | (torch.arange(5) == 0),
        ),
        lambda make: (
            *(make(1, 2, 5, 8) for _ in "qkv"),
            make.mask(5, 5) & (torch.arange(5) > 0)[:, None],
        ),
    ),
    INEXACT,
)
op(
    "attention bias",
    lambda q, k, v, m: _attention(q, k, v, m),
    made(
        lambda make: (*(make(1, 2, 5, 8) for _ in "qkv"), make(5, 5)),
        lambda make: (*(make(1, 2, 5, 8) for _ in "qkv"), make(1, 2, 5, 5)),
        lambda make: (
            *(make(1, 2, 5, 8) for _ in "qkv"),
            torch.full((5, 5), float("-inf")).triu(1).to(make.dtype),
        ),
    ),
    INEXACT,
)
op(
    "attention grouped",
    lambda q, k, v: _attention(q, k, v, enable_gqa=True),
    tensors(((1, 4, 5, 8), (1, 2, 5, 8), (1, 2, 5, 8))),
    INEXACT,
)
op(
    "rotary",
    lambda x, c, s: x * c + torch.cat([-x[..., 4:], x[..., :4]], -1) * s,
    tensors(((1, 2, 5, 8), (5, 8), (5, 8))),
    INEXACT,
)
op(
    "lstm_cell",
    lambda x, h, c, a, b: torch.lstm_cell(x, (h, c), a, b),
    tensors(((2, 3), (2, 4), (2, 4), (16, 3), (16, 4))),
    INEXACT,
)
op("gru_cell", torch.gru_cell, tensors(((2, 3), (2, 4), (12, 3), (12, 4))), INEXACT)
op("rnn_tanh_cell", torch.rnn_tanh_cell, tensors(((2, 3), (2, 4), (4, 3), (4, 4))), INEXACT)

# --- convolution and pooling ----------------------------------------------------------------------


_T = {"transposed": True}
op(
    "conv1d",
    F.conv1d,
    conv(
        ((2, 3, 8), (4, 3, 3), True, {}),
        ((3, 8), (4, 3, 3), False, {}),
        ((2, 4, 9), (4, 2, 3), True, {"groups": 2, "stride": 2, "padding": 1, "dilation": 2}),
        ((1, 2, 5), (3, 2, 1), True, {"padding": "same"}),
    ),
    INEXACT,
)
op(
    "conv2d",
    F.conv2d,
    conv(
        ((2, 3, 6, 7), (4, 3, 3, 3), True, {}),
        ((3, 6, 7), (4, 3, 3, 3), True, {}),
        ((1, 3, 6, 7), (4, 3, 1, 1), False, {}),
        (
            (1, 4, 7, 8),
            (6, 2, 3, 2),
            True,
            {"groups": 2, "stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)},
        ),
        ((1, 4, 6, 6), (4, 1, 3, 3), False, {"groups": 4, "padding": 1}),
        ((1, 3, 6, 7), (4, 3, 3, 3), True, {"padding": "same"}),
        ((1, 4, 6, 6), (8, 1, 3, 3), True, {"groups": 4}),
        ((1, 1, 5, 5), (1, 1, 5, 5), True, {}),
        ((1, 3, 6, 7), (4, 3, 2, 2), True, {"padding": "same"}),
    ),
    INEXACT,
)
op(
    "conv3d",
    F.conv3d,
    conv(
        ((2, 3, 4, 5, 6), (4, 3, 2, 3, 3), True, {}),
        ((1, 4, 4, 5, 6), (4, 2, 2, 3, 3), False, {"groups": 2, "stride": 2, "padding": 1}),
        ((3, 4, 5, 6), (4, 3, 2, 3, 3), True, {}),
    ),
    INEXACT,
)
op(
    "conv_transpose1d",
    F.conv_transpose1d,
    conv(
        ((2, 3, 5), (3, 4, 3), True, _T),
        (
            (2, 4, 5),
            (4, 2, 3),
            True,
            {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2, **_T},
        ),
    ),
    INEXACT,
)
op(
    "conv_transpose2d",
    F.conv_transpose2d,
    conv(
        ((2, 3, 5, 4), (3, 4, 3, 3), True, _T),
        (
            (1, 4, 5, 4),
            (4, 2, 3, 2),
            True,
            {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2, **_T},
        ),
        (
            (1, 3, 5, 4),
            (3, 4, 3, 3),
            False,
            {"stride": (2, 1), "dilation": (1, 2), "padding": (1, 0), **_T},
        ),
        ((3, 5, 4), (3, 4, 3, 3), True, _T),
        ((1, 4, 5, 4), (4, 1, 3, 3), False, {"groups": 4, "stride": 2, **_T}),
    ),
    INEXACT,
)
op(
    "conv_transpose3d",
    F.conv_transpose3d,
    conv(
        ((1, 3, 3, 4, 4), (3, 4, 2, 3, 3), True, _T),
        (
            (1, 4, 3, 3, 3),
            (4, 2, 3, 3, 3),
            True,
            {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2, **_T},
        ),
    ),
    INEXACT,
)

_ONE = ((2, 3, 9), (3, 9))
_TWO = ((2, 3, 6, 7), (3, 6, 7), (1, 1, 5, 5))
_THREE = ((2, 3, 4, 5, 6), (3, 4, 5, 6))


_MAX = (
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": 3, "stride": 1, "dilation": 2, "padding": 1},
    {"kernel_size": 2, "stride": 2, "ceil_mode": True},
    {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
    {"kernel_size": 1, "stride": 2},
)
_AVG = (
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
    {"kernel_size": 2, "stride": 2, "ceil_mode": True},
    {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
    {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False},
)
_DIVISOR = ({"kernel_size": 3, "stride": 2, "padding": 1, "divisor_override": 4},)
for _rank, _shapes in ((1, _ONE), (2, _TWO), (3, _THREE)):
    _max_pool = getattr(F, f"max_pool{_rank}d")
    op(f"max_pool{_rank}d", _max_pool, pooling(_shapes, *_MAX))
    op(
        f"max_pool{_rank}d indices",
        lambda x, f=_max_pool, **named: f(x, return_indices=True, **named),
        pooling(_shapes, *_MAX[:4]),
    )
    op(
        f"avg_pool{_rank}d",
        getattr(F, f"avg_pool{_rank}d"),
        pooling(_shapes, *_AVG, *(_DIVISOR if _rank > 1 else ())),
    )
    op(
        f"adaptive_avg_pool{_rank}d",
        getattr(F, f"adaptive_avg_pool{_rank}d"),
        pooling(_shapes, {"output_size": 1}, {"output_size": 2}, {"output_size": 5}),
    )
    op(
        f"adaptive_max_pool{_rank}d",
        getattr(F, f"adaptive_max_pool{_rank}d"),
        pooling(_shapes, {"output_size": 1}, {"output_size": 2}, {"output_size": 3}),
    )
op(
    "avg_pool2d oblong",
    F.avg_pool2d,
    pooling(_TWO[:1], {"kernel_size": (2, 3), "stride": (1, 2), "padding": (1, 0)}),
    INEXACT,
)
op(
    "max_pool2d oblong",
    F.max_pool2d,
    pooling(_TWO[:1], {"kernel_size": (2, 3), "stride": (1, 2), "padding": (1, 0)}),
)
op("lp_pool2d", lambda x: F.lp_pool2d(x.abs(), 2, 2), shaped(((2, 3, 6, 7), ())), INEXACT)

# --- normalisation --------------------------------------------------------------------------------

op(
    "layer_norm",
    F.layer_norm,
    tensors(
        ((2, 3, 4), [4]),
        ((2, 3, 4), [3, 4], (3, 4), (3, 4)),
        ((2, 3, 4), [4], (4,), (4,)),
        ((2, 3, 4), [4], (4,)),
        ((2, 3, 4, 5), [5], (5,), (5,)),
        ((4,), [4]),
        ((2, 1), [1], (1,), (1,)),
    ),
    INEXACT,
)
op(
    "group_norm",
    F.group_norm,
    tensors(
        ((2, 4, 5), 2),
        ((2, 6, 4, 5), 3, (6,), (6,)),
        ((2, 4, 3, 3), 1, (4,)),
        ((2, 4), 4),
        ((2, 4, 2, 3, 2), 2, (4,), (4,)),
    ),
    INEXACT,
)
op(
    "batch_norm",
    lambda x, m, v, *rest: F.batch_norm(x, m, v.abs() + 0.5, *rest),
    tensors(
        ((2, 3, 4, 5), (3,), (3,), (3,), (3,)),
        ((2, 3, 4), (3,), (3,)),
        ((4, 3), (3,), (3,), (3,), (3,)),
        ((2, 3, 2, 3, 2), (3,), (3,), (3,), (3,)),
    ),
    INEXACT,
)
op("instance_norm", F.instance_norm, tensors(((2, 3, 4, 5),), ((2, 3, 7),)), INEXACT)
op(
    "instance_norm affine",
    lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
    tensors(((2, 3, 4, 5), (3,), (3,))),
    INEXACT,
)
op(
    "rms_norm",
    F.rms_norm,
    tensors(((2, 3, 4), [4], (4,)), ((2, 3, 4), [3, 4]), ((2, 3, 4, 5), [5], (5,))),
    INEXACT,
)
op(
    "local_response_norm",
    lambda x: F.local_response_norm(x, 2),
    shaped(((2, 5, 4, 5), ())),
    INEXACT,
)

# --- padding and resampling -----------------------------------------------------------------------

op(
    "pad",
    F.pad,
    shaped(
        ((3, 4), ([1, 2],)),
        ((2, 3, 4), ([1, 0, 0, 2],)),
        ((2, 3, 4, 5), ([1, 1, 2, 0],)),
        ((3, 4), ([-1, 1],)),
        ((5,), ([0, 3],)),
    ),
)
op(
    "pad value",
    lambda x, p: F.pad(x, p, value=3),
    shaped(((3, 4), ([1, 2],)), ((2, 3, 4, 5), ([1, 1, 2, 0, 1, 0],))),
)
for _mode in ("reflect", "replicate", "circular"):
    op(
        f"pad {_mode}",
        lambda x, p, mode=_mode: F.pad(x, p, mode=mode),
        shaped(
            ((2, 3, 5), ([1, 2],)),
            ((2, 3, 5, 4), ([1, 2, 2, 0],)),
            ((1, 2, 3, 4, 5), ([1, 1, 2, 0, 1, 1],)),
            ((2, 3, 5), ([0, 2],)),
        ),
    )


for _mode, _shape in (
    ("nearest", (2, 3, 4)),
    ("nearest", (2, 3, 4, 5)),
    ("nearest", (1, 2, 3, 4, 3)),
    ("nearest-exact", (2, 3, 4, 5)),
    ("nearest-exact", (2, 3, 4)),
    ("area", (2, 3, 4, 5)),
    ("area", (2, 3, 4)),
):
    op(
        f"interpolate {_mode} {len(_shape) - 2}d",
        F.interpolate,
        resample(_mode, _shape),
        (*FLOATS, torch.uint8),
    )
for _mode, _shape in (
    ("linear", (2, 3, 4)),
    ("bilinear", (2, 3, 4, 5)),
    ("bicubic", (2, 3, 4, 5)),
    ("trilinear", (1, 2, 3, 4, 3)),
):
    for _align in (False, True):
        op(
            f"interpolate {_mode}{' aligned' if _align else ''}",
            F.interpolate,
            resample(_mode, _shape, align_corners=_align),
            INEXACT,
        )
op(
    "interpolate antialias",
    F.interpolate,
    resample("bilinear", (2, 3, 7, 8), align_corners=False, antialias=True),
    FLOATS[:1],
)
for _mode in ("bilinear", "nearest", "bicubic"):
    for _fill in ("zeros", "border", "reflection"):
        op(
            f"grid_sample {_mode} {_fill}",
            lambda x, g, mode=_mode, fill=_fill: F.grid_sample(
                x, g / 2, mode, fill, align_corners=False
            ),
            tensors(((2, 3, 4, 5), (2, 3, 2, 2))),
            INEXACT,
        )
op(
    "grid_sample aligned",
    lambda x, g: F.grid_sample(x, g / 2, align_corners=True),
    tensors(((2, 3, 4, 5), (2, 3, 2, 2))),
    INEXACT,
)
op(
    "affine_grid",
    lambda t: F.affine_grid(t, [2, 3, 4, 5], align_corners=False),
    shaped(((2, 2, 3), ())),
    INEXACT,
    dynamic=False,
)

# --- creation -------------------------------------------------------------------------------------


op(
    "arange",
    create,
    created(
        lambda t: torch.arange(5, dtype=t),
        lambda t: torch.arange(1, 9, 2, dtype=t),
        lambda t: torch.arange(5, 0, -1, dtype=t),
    ),
    dynamic=False,
)
op(
    "arange fractions",
    create,
    created(lambda t: torch.arange(0, 1, 0.25, dtype=t), lambda t: torch.arange(1.5, 4.0, dtype=t)),
    INEXACT,
    dynamic=False,
)
op(
    "linspace",
    create,
    created(
        lambda t: torch.linspace(0, 1, 5, dtype=t), lambda t: torch.linspace(-1, 1, 1, dtype=t)
    ),
    INEXACT,
    dynamic=False,
)
op("logspace", create, created(lambda t: torch.logspace(0, 2, 5, dtype=t)), INEXACT, dynamic=False)
op(
    "zeros",
    create,
    created(lambda t: torch.zeros(2, 3, dtype=t), lambda t: torch.zeros((), dtype=t)),
    dynamic=False,
)
op("ones", create, created(lambda t: torch.ones(2, 3, dtype=t)), dynamic=False)
op(
    "full",
    create,
    created(lambda t: torch.full((2, 3), 1, dtype=t), lambda t: torch.full((), 1.5, dtype=t)),
    dynamic=False,
)
op(
    "eye",
    create,
    created(lambda t: torch.eye(3, dtype=t), lambda t: torch.eye(2, 4, dtype=t)),
    dynamic=False,
)
op(
    "tril_indices",
    create,
    created(lambda t: torch.tril_indices(3, 3)),
    (torch.int64,),
    dynamic=False,
)
op(
    "new_zeros",
    lambda x: (x.new_zeros(2, 3), x.new_ones(3), x.new_full((2,), 1)),
    shaped(((3,), ())),
)
op("constant", lambda x: x + torch.tensor([1, 2, 3]), shaped(((3,), ()), ((2, 3), ())))
op(
    "arange of a size",
    lambda x: x + torch.arange(x.shape[0], dtype=x.dtype)[:, None],
    shaped(((3, 4), ())),
)

# --- losses ---------------------------------------------------------------------------------------

same("mse_loss l1_loss smooth_l1_loss huber_loss", tensors(((3, 4), (3, 4)), ((5,), (5,))), INEXACT)
op(
    "mse_loss sum",
    lambda x, y: F.mse_loss(x, y, reduction="sum"),
    tensors(((3, 4), (3, 4))),
    INEXACT,
)
op(
    "binary_cross_entropy",
    lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
    tensors(((3, 4), (3, 4))),
    INEXACT,
)
op(
    "binary_cross_entropy_with_logits",
    F.binary_cross_entropy_with_logits,
    tensors(((3, 4), (3, 4))),
    INEXACT,
)
op(
    "kl_div",
    lambda x, y: F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
    tensors(((3, 4), (3, 4))),
    INEXACT,
)
op(
    "nll_loss",
    lambda x, i: F.nll_loss(x.log_softmax(-1), i),
    made(lambda make: (make(3, 4), make.integers(0, 4, (3,)))),
    INEXACT,
)
op(
    "cross_entropy",
    F.cross_entropy,
    made(
        lambda make: (make(3, 4), make.integers(0, 4, (3,))),
        lambda make: (make(2, 4, 3), make.integers(0, 4, (2, 3))),
    ),
    INEXACT,
)
