"""Operators that the portable kernels lack, in terms of those that they have.

Values equal eager's: bit for bit where it computes exactly, NaN, infinities, signs of zeros and
the wrapping of integers included. A NaN's own sign, which no kernel can tell, counts as plus.
"""

import itertools
import math
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch._decomp import decomposition_table

from backend_common.scatter_reduce import scatter_reduce

aten = torch.ops.aten

Operator: TypeAlias = torch._ops.OpOverload

# How many steps of a recurrence are written one after the other.
_MOST_STEPS = 256


def _float_dtype(*operands: Any) -> torch.dtype:
    dtype = torch.result_type(*operands) if len(operands) > 1 else operands[0].dtype
    return dtype if dtype.is_floating_point else torch.get_default_dtype()


def _wide(dtype: torch.dtype) -> torch.dtype:
    """What eager accumulates half precision in."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def of_result_dtype(x: Any, y: Any) -> list[Tensor]:
    """Both in the result's dtype; numbers become tensors without dimensions."""
    dtype = torch.result_type(x, y)
    return [
        each.to(dtype) if isinstance(each, Tensor) else torch.full((), each, dtype=dtype)
        for each in (x, y)
    ]


# ---------------------------------------------------------------- elementwise


def of_tensors(operator: Callable[..., Any]) -> Callable[..., Any]:
    """For a number on the left."""
    return lambda x, y: operator(*of_result_dtype(x, y))


def round_decimals(x: Tensor, *, decimals: int) -> Tensor:
    scale, wide = 10.0 ** abs(decimals), x.to(_wide(x.dtype))  # float16 would overflow
    if decimals > 0:
        return (torch.round(wide * scale) / scale).to(x.dtype)
    return (torch.round(wide / scale) * scale).to(x.dtype)


def exp2(x: Tensor) -> Tensor:
    return torch.pow(2.0, x.to(_float_dtype(x)))


def signbit(x: Tensor) -> Tensor:
    if x.dtype is torch.bool:
        return torch.zeros_like(x)
    if not x.dtype.is_floating_point:
        return x < 0
    return torch.logical_or(x < 0, torch.logical_and(x == 0, torch.reciprocal(x) < 0))


def copysign(x: Tensor, y: Any) -> Tensor:
    if not isinstance(y, Tensor):
        y = torch.full((), y, dtype=_float_dtype(x))
    x = x.to(_float_dtype(x, y))
    return torch.where(torch.logical_xor(signbit(x), signbit(y)), -x, x)


def hypot(x: Tensor, y: Tensor) -> Tensor:
    """Squares of 32 bits neither overflow nor vanish in 64; those of 64 are scaled first."""
    dtype = torch.result_type(x, y)
    a, b = x.to(torch.float64).abs(), y.to(torch.float64).abs()
    if dtype == torch.float64:
        large, small = torch.maximum(a, b), torch.minimum(a, b)
        ratio = torch.where(large == 0, 0.0, small / large)
        length = large * torch.sqrt(ratio * ratio + 1)
    else:
        length = torch.sqrt(a * a + b * b)
    infinite = torch.logical_or(a.isinf(), b.isinf())
    return torch.where(infinite, math.inf, length).to(dtype)


def left_shift(x: Any, y: Any) -> Tensor:
    return _shift(torch.bitwise_left_shift, x, y, torch.zeros_like)


def right_shift(x: Any, y: Any) -> Tensor:
    """Past the last bit there is the sign."""
    return _shift(torch.bitwise_right_shift, x, y, lambda x: -(x < 0).to(x.dtype))


def _shift(shift: Callable[..., Any], x: Any, y: Any, rest: Callable[[Tensor], Tensor]) -> Any:
    x, y = of_result_dtype(x, y)
    dtype = x.dtype
    if dtype.is_floating_point or dtype is torch.bool:
        return NotImplemented
    bits = torch.iinfo(dtype).bits
    inside = torch.logical_and(y >= 0, y < bits)
    return torch.where(inside, shift(x, torch.where(inside, y, 0)), rest(x))


def rrelu_with_noise(
    x: Tensor,
    noise: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """In evaluation: the mean slope."""
    if training:
        return NotImplemented
    return F.leaky_relu(x, (lower + upper) / 2), noise.clone()


# ---------------------------------------------------------------- products


def addbmm(x: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """The batch is one more dimension that is summed over."""
    rows, columns = a.shape[1], b.shape[2]
    left = a.transpose(0, 1).reshape(rows, -1)
    return torch.addmm(x, left, b.reshape(-1, columns), beta=beta, alpha=alpha)


def trilinear(
    x: Tensor,
    y: Tensor,
    z: Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Tensor:
    """Sums of products of three, two at a time."""
    letters = string.ascii_lowercase[: x.dim() + len(expand1)]

    def of(missing: Sequence[int]) -> str:
        return "".join(each for index, each in enumerate(letters) if index not in missing)

    # The third follows the sum over what only the first two have.
    kept = "".join(
        each for index, each in enumerate(letters) if index not in sumdim or each in of(expand3)
    )
    both = torch.einsum(f"{of(expand1)},{of(expand2)}->{kept}", x, y)
    return torch.einsum(f"{kept},{of(expand3)}->{of(sumdim)}", both, z)


# ---------------------------------------------------------------- recurrences


def _steps(x: Tensor, dim: int) -> list[Tensor] | None:
    """The slices along dim, each of size 1; None where they are too many or not counted."""
    size = x.shape[dim]
    if not isinstance(size, int) or not 0 < size <= _MOST_STEPS:
        return None
    return list(x.split(1, dim))


def cumprod(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    """One product after the other, in the precision in which eager keeps it."""
    result = dtype or (x.dtype if x.dtype.is_floating_point else torch.int64)
    x = x.to(result)
    if not x.dim():
        return x.clone()
    wide = torch.float64 if result == torch.float32 else _wide(result)
    steps = _steps(x.to(wide), dim)
    if steps is None:
        return NotImplemented
    products = list(itertools.accumulate(steps, torch.mul))
    return torch.cat(products, dim).to(result)


def cumulative_extreme(
    better: Callable[[Tensor, Tensor], Tensor],
) -> Callable[[Tensor, int], Any]:
    """cummax and cummin: the last of equals counts, and NaN stays."""

    def accumulate(x: Tensor, dim: int) -> Any:
        if not x.dim():
            return x.clone(), torch.zeros((), dtype=torch.int64)
        steps = _steps(x, dim)
        if steps is None:
            return NotImplemented
        value, place = steps[0], torch.zeros_like(steps[0], dtype=torch.int64)
        values, places = [value], [place]
        for number, step in enumerate(steps[1:], 1):
            taken = better(step, value)
            if x.dtype.is_floating_point:
                taken = torch.logical_or(step.isnan(), taken)
            value = torch.where(taken, step, value)
            place = torch.where(taken, torch.full_like(place, number), place)
            values.append(value)
            places.append(place)
        return torch.cat(values, dim), torch.cat(places, dim)

    return accumulate


def logcumsumexp(x: Tensor, dim: int) -> Any:
    """One after the other, as cumprod; equal infinities are not subtracted."""
    if not x.dim():
        return x.clone()
    steps = _steps(x.to(torch.float64 if x.dtype == torch.float32 else _wide(x.dtype)), dim)
    if steps is None:
        return NotImplemented

    def add(a: Tensor, b: Tensor) -> Tensor:
        low, high = torch.minimum(a, b), torch.maximum(a, b)
        both = torch.logical_and(low == high, high.isinf())
        return torch.where(both, high, high + torch.log1p(torch.exp(low - high)))

    return torch.cat(list(itertools.accumulate(steps, add)), dim).to(x.dtype)


# ---------------------------------------------------------------- order


def kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64)
    values, indices = torch.sort(x, dim=dim, stable=True)
    place = torch.full_like(indices.narrow(dim, 0, 1), k - 1)
    return _taken(values, indices, place, dim, keepdim)


def searchsorted(
    sequence: Tensor,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """How many elements of the sequence come before each value; NaN comes last."""
    if sorter is not None:
        sequence = sequence.gather(-1, sorter)
    if not isinstance(values, Tensor):
        values = torch.full((), values, dtype=sequence.dtype)
    if sequence.dim() > 1:
        sequence = sequence.unsqueeze(-2)
    values = values.unsqueeze(-1)
    behind = sequence > values if right or side == "right" else sequence >= values
    counts = (~behind).to(torch.int64).sum(-1)
    return counts.to(torch.int32) if out_int32 else counts


def median(x: Tensor) -> Tensor:
    return cast(Tensor, median_of_dim(x.reshape(-1), 0)[0])


def median_of_dim(x: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower one; the first NaN where there is one."""
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64)
    values, indices = torch.sort(x, dim=dim, stable=True)
    middle = (x.shape[dim] - 1) // 2
    place = torch.full_like(indices.narrow(dim, 0, 1), middle)
    if x.dtype.is_floating_point:
        numbers = (~values.isnan()).to(torch.int64).sum(dim, keepdim=True)
        place = torch.where(numbers < x.shape[dim], numbers, place)
    return _taken(values, indices, place, dim, keepdim)


def nanmedian(x: Tensor) -> Tensor:
    return cast(Tensor, nanmedian_of_dim(x.reshape(-1), 0)[0])


def nanmedian_of_dim(x: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower one of the numbers; NaN where there is none."""
    if not x.dim() or not x.dtype.is_floating_point:
        return median_of_dim(x, dim, keepdim)
    values, indices = torch.sort(x, dim=dim, stable=True)
    numbers = (~values.isnan()).to(torch.int64).sum(dim, keepdim=True)
    place = torch.div((numbers - 1).clamp(min=0), 2, rounding_mode="floor")
    return _taken(values, indices, place, dim, keepdim)


def _taken(
    values: Tensor, indices: Tensor, place: Tensor, dim: int, keepdim: bool
) -> tuple[Tensor, Tensor]:
    value, index = values.gather(dim, place), indices.gather(dim, place)
    return (value, index) if keepdim else (value.squeeze(dim), index.squeeze(dim))


# ---------------------------------------------------------------- pooling


# Each is a few operators of a program.
_MANY_WINDOWS = 64


def adaptive_max_pool(x: Tensor, output_size: Sequence[int]) -> Any:
    """Over two or three dimensions; a pool of its own for each window, if they are not alike."""
    rank = len(output_size)
    sizes = x.shape[-rank:]
    static = all(isinstance(size, int) for size in sizes)
    if not all(isinstance(size, int) and size > 0 for size in output_size):
        return NotImplemented
    if not static and math.prod(output_size) > _MANY_WINDOWS:
        return NotImplemented
    if static and not all(sizes):
        return NotImplemented
    pool = F.max_pool2d if rank == 2 else F.max_pool3d
    if static and all(size % wanted == 0 for size, wanted in zip(sizes, output_size, strict=True)):
        window = [size // wanted for size, wanted in zip(sizes, output_size, strict=True)]
        return pool(x, window, return_indices=True)
    values, indices = [], []
    for places in itertools.product(*(range(wanted) for wanted in output_size)):
        bounds = [
            (place * size // wanted, -(-(place + 1) * size // wanted))
            for place, size, wanted in zip(places, sizes, output_size, strict=True)
        ]
        part = x
        for dim, (start, end) in enumerate(bounds, x.dim() - rank):
            part = part.narrow(dim, start, end - start)
        if static:
            value, within = pool(part, part.shape[-rank:], return_indices=True)
        else:  # a pool's window has to be known
            value, within = part.flatten(-rank).max(-1)
            value, within = (each[(..., *[None] * rank)] for each in (value, within))
        values.append(value)
        indices.append(_in_the_whole(within, part.shape[-rank:], sizes, bounds))
    shape = (*x.shape[:-rank], *output_size)
    return tuple(
        torch.cat([each.flatten(-rank) for each in list_], -1).reshape(shape)
        for list_ in (values, indices)
    )


def _in_the_whole(
    index: Tensor,
    window: Sequence[int],
    sizes: Sequence[int],
    bounds: Sequence[tuple[int, int]],
) -> Tensor:
    """The flat index in all of it, of the flat index in a window."""
    place = torch.zeros_like(index)
    for dim, (start, _) in enumerate(bounds):
        inner, outer = math.prod(window[dim + 1 :]), math.prod(sizes[dim + 1 :])
        along = torch.div(index, inner, rounding_mode="floor") % window[dim]
        place = place + (along + start) * outer
    return place


# ---------------------------------------------------------------- tensors out of numbers


def fft_frequencies(n: int, d: float = 1.0, *, dtype: Any = None, **unused: Any) -> Tensor:
    positive = torch.arange((n + 1) // 2, dtype=dtype or torch.get_default_dtype())
    negative = torch.arange(-(n // 2), 0, dtype=positive.dtype)
    return torch.cat([positive, negative]) * (1.0 / (n * d))


def real_fft_frequencies(n: int, d: float = 1.0, *, dtype: Any = None, **unused: Any) -> Tensor:
    return torch.arange(n // 2 + 1, dtype=dtype or torch.get_default_dtype()) * (1.0 / (n * d))


# ---------------------------------------------------------------- writes into views


def diagonal_scatter(x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    dims = (dim1 % x.dim(), dim2 % x.dim())
    order = [d for d in range(x.dim()) if d not in dims] + list(dims)
    moved = x.permute(order)
    height, width = moved.shape[-2:]
    if not isinstance(height, int) or not isinstance(width, int):
        return NotImplemented
    rows = torch.arange(y.shape[-1]) + max(-offset, 0)
    columns = torch.arange(y.shape[-1]) + max(offset, 0)
    flat = moved.reshape(-1, height * width)
    written = _put_columns(flat, rows * width + columns, y.reshape(flat.shape[0], -1))
    back = [order.index(d) for d in range(x.dim())]
    return written.reshape(moved.shape).permute(back).contiguous()


def as_strided_scatter(
    x: Tensor,
    y: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:
    """Where no element is written twice, and none outside x."""
    numbers = (*x.shape, *size, *stride)
    if not all(isinstance(number, int) for number in numbers) or not x.is_contiguous():
        return NotImplemented
    places, index = [storage_offset or 0], torch.full([1], storage_offset or 0)
    for count, step in zip(size, stride, strict=True):
        places = [place + step * i for place in places for i in range(count)]
        index = (index.unsqueeze(1) + torch.arange(count) * step).reshape(-1)
    if len(set(places)) < len(places) or not all(0 <= each < x.numel() for each in places):
        return NotImplemented
    return _put_columns(x.reshape(1, -1), index, y.reshape(1, -1)).reshape(x.shape)


def _put_columns(x: Tensor, columns: Tensor, y: Tensor) -> Tensor:
    return x.scatter(1, columns.expand(y.shape), y.to(x.dtype))


# ---------------------------------------------------------------- quantisation


def fake_quantize_per_tensor(
    x: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> tuple[Tensor, Tensor]:
    # Scale and its inverse have 32 bits there.
    step = torch.full((), scale, dtype=torch.float32)
    return _fake_quantize(x, step, zero_point, quant_min, quant_max)


def fake_quantize_per_channel(
    x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Any:
    if zero_point.dtype.is_floating_point:
        return NotImplemented
    shape = [-1 if d == axis % x.dim() else 1 for d in range(x.dim())]
    zero = zero_point.to(torch.float32).reshape(shape)
    return _fake_quantize(x, scale.reshape(shape), zero, quant_min, quant_max)


def _fake_quantize(
    x: Tensor, scale: Tensor, zero_point: Any, low: int, high: int
) -> tuple[Tensor, Tensor]:
    """The value on the grid, and whether it was in range; NaN is below it."""
    wide = x.to(_wide(x.dtype))
    steps = torch.round(wide * scale.reciprocal()) + zero_point
    steps = torch.where(steps.isnan(), low - 1.0, steps)
    inside = torch.logical_and(steps >= low, steps <= high)
    return ((steps.clamp(low, high) - zero_point) * scale).to(x.dtype), inside


# ---------------------------------------------------------------- random numbers


def _rand(shape: Any, dtype: torch.dtype | None = None) -> Tensor:
    return torch.rand(shape, dtype=dtype)


def rand_like(x: Tensor, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    dtype = dtype or x.dtype
    return _rand(x.shape, _wide(dtype)).to(dtype)


def randn_like(x: Tensor, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    dtype = dtype or x.dtype
    return torch.randn(x.shape, dtype=_wide(dtype)).to(dtype)


def randint_between(
    low: int, high: int, size: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any
) -> Tensor:
    # The largest double below 1 times a range may round up to the range.
    steps = torch.floor(_rand(size, torch.float64) * (high - low)).clamp(max=high - low - 1)
    return steps.to(torch.int64).add(low).to(dtype or torch.int64)


def randint(high: int, size: Sequence[int], **keywords: Any) -> Tensor:
    return randint_between(0, high, size, **keywords)


def randint_like(x: Tensor, high: int, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return randint_between(0, high, x.shape, dtype=dtype or x.dtype)


def randint_like_between(
    x: Tensor, low: int, high: int, *, dtype: torch.dtype | None = None, **_: Any
) -> Tensor:
    return randint_between(low, high, x.shape, dtype=dtype or x.dtype)


def randperm(n: int, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return torch.argsort(_rand([n], torch.float64)).to(dtype or torch.int64)


def uniform(x: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Tensor:
    return rand_like(x) * (high - low) + low


def normal_like(x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    return randn_like(x) * std + mean


def normal(
    mean: Any,
    std: Any = 1.0,
    size: Sequence[int] | None = None,
    *,
    dtype: torch.dtype | None = None,
    **_: Any,
) -> Tensor:
    """Of numbers and a size, or of tensors."""
    tensors = [each for each in (mean, std) if isinstance(each, Tensor)]
    shape = size if size is not None else torch.broadcast_shapes(*(t.shape for t in tensors))
    dtype = dtype or (tensors[0].dtype if tensors else torch.get_default_dtype())
    return torch.randn(shape, dtype=_wide(dtype)).to(dtype) * std + mean


# ---------------------------------------------------------------- the table


def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    **_: Any,
) -> Tensor:
    """The parameters are called as in the schema: one of the keywords is `layout`."""
    last = [*physical_layout] in ([0, 2, 3, 1], [0, 2, 3, 4, 1])
    form = torch.channels_last if last and len(size) == 4 else torch.contiguous_format
    return torch.zeros(size, dtype=dtype).clone(memory_format=form)


# Each with the name of the kernel that would make it unnecessary.
FORMS: Mapping[Operator, tuple[Callable[..., Any], str]] = {
    aten.exp2.default: (exp2, "exp2.out"),
    aten.signbit.default: (signbit, "signbit.out"),
    aten.copysign.Tensor: (copysign, "copysign.out"),
    aten.copysign.Scalar: (copysign, "copysign.Scalar_out"),
    aten.hypot.default: (hypot, "hypot.out"),
    aten.__lshift__.Tensor: (left_shift, "__lshift__.Tensor_out"),
    aten.__lshift__.Scalar: (left_shift, "__lshift__.Scalar_out"),
    aten.__rshift__.Tensor: (right_shift, "__rshift__.Tensor_out"),
    aten.__rshift__.Scalar: (right_shift, "__rshift__.Scalar_out"),
    aten.bitwise_left_shift.Scalar_Tensor: (left_shift, "bitwise_left_shift.Scalar_Tensor_out"),
    aten.bitwise_right_shift.Scalar_Tensor: (right_shift, "bitwise_right_shift.Scalar_Tensor_out"),
    **{
        getattr(aten, name).Scalar_Tensor: (
            of_tensors(getattr(torch, name)),
            f"{name}.Scalar_Tensor_out",
        )
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    },
    aten.round.decimals: (round_decimals, "round.decimals_out"),
    aten.adaptive_max_pool2d.default: (adaptive_max_pool, "adaptive_max_pool2d.out"),
    aten.adaptive_max_pool3d.default: (adaptive_max_pool, "adaptive_max_pool3d.out"),
    aten.fft_fftfreq.default: (fft_frequencies, "fft_fftfreq.out"),
    aten.fft_rfftfreq.default: (real_fft_frequencies, "fft_rfftfreq.out"),
    aten.rrelu_with_noise_functional.default: (rrelu_with_noise, "rrelu_with_noise_functional"),
    aten.addbmm.default: (addbmm, "addbmm.out"),
    aten._trilinear.default: (trilinear, "_trilinear.out"),
    aten.cumprod.default: (cumprod, "cumprod.out"),
    aten.cummax.default: (cumulative_extreme(torch.ge), "cummax.out"),
    aten.cummin.default: (cumulative_extreme(torch.le), "cummin.out"),
    aten.logcumsumexp.default: (logcumsumexp, "logcumsumexp.out"),
    aten.kthvalue.default: (kthvalue, "kthvalue.values"),
    aten.searchsorted.Tensor: (searchsorted, "searchsorted.Tensor_out"),
    aten.searchsorted.Scalar: (searchsorted, "searchsorted.Scalar_out"),
    aten.scatter_reduce.two: (scatter_reduce, "scatter_reduce.two_out"),
    aten.median.default: (median, "median.out"),
    aten.median.dim: (median_of_dim, "median.dim_values"),
    aten.nanmedian.default: (nanmedian, "nanmedian.out"),
    aten.nanmedian.dim: (nanmedian_of_dim, "nanmedian.dim_values"),
    aten.diagonal_scatter.default: (diagonal_scatter, "diagonal_scatter.out"),
    aten.as_strided_scatter.default: (as_strided_scatter, "as_strided_scatter.out"),
    aten.fake_quantize_per_tensor_affine_cachemask.default: (
        fake_quantize_per_tensor,
        "fake_quantize_per_tensor_affine_cachemask.out",
    ),
    aten.fake_quantize_per_channel_affine_cachemask.default: (
        fake_quantize_per_channel,
        "fake_quantize_per_channel_affine_cachemask.out",
    ),
    aten.rand_like.default: (rand_like, "rand_like.out"),
    aten.randn_like.default: (randn_like, "randn_like.out"),
    aten.randint.default: (randint, "randint.out"),
    aten.randint.low: (randint_between, "randint.low_out"),
    aten.randint_like.default: (randint_like, "randint_like.out"),
    aten.randint_like.low_dtype: (randint_like_between, "randint_like.low_dtype_out"),
    aten.randperm.default: (randperm, "randperm.out"),
    aten.uniform.default: (uniform, "uniform.out"),
    aten.normal_functional.default: (normal_like, "normal_functional"),
    aten.normal.float_float: (normal, "normal.float_float_out"),
    aten.normal.Tensor_float: (normal, "normal.Tensor_float_out"),
    aten.normal.float_Tensor: (normal, "normal.float_Tensor_out"),
    aten.normal.Tensor_Tensor: (normal, "normal.Tensor_Tensor_out"),
    aten.empty_permuted.default: (empty_permuted, "empty_permuted.out"),
    # As torch writes them.
    **{
        operator: (decomposition_table[operator], name)
        for operator, name in {
            aten._native_batch_norm_legit_functional.default: (
                "_native_batch_norm_legit_functional"
            ),
            aten.addmv.default: "addmv.out",
            aten.bucketize.Tensor: "bucketize.Tensor_out",
            aten.dist.default: "dist.out",
            aten.ldexp.Tensor: "ldexp.out",
            aten.linalg_vector_norm.default: "linalg_vector_norm.out",
            aten.tril_indices.default: "tril_indices.out",
            aten.triu_indices.default: "triu_indices.out",
        }.items()
    },
}
