"""Operators that Inductor computes otherwise than eager, or calls a rare kernel for, in others'
terms.

They are entries of Inductor's own table, for the time of one code generation.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
import torch._prims_common as utils
from backend_common import missing_kernels, wrong_kernels
from torch.utils import _pytree as pytree

aten = torch.ops.aten


def _trilinear(
    i1: torch.Tensor,
    i2: torch.Tensor,
    i3: torch.Tensor,
    expand1: list[int],
    expand2: list[int],
    expand3: list[int],
    sumdim: list[int],
    unroll_dim: int = 1,
) -> torch.Tensor:
    operands = []
    for operand, dimensions in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for dimension in sorted(dimensions):
            operand = operand.unsqueeze(dimension)
        operands.append(operand)
    product = operands[0] * operands[1] * operands[2]
    return product.sum(sumdim) if sumdim else product


def _rounding_division(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """Floors as Python does: Inductor takes the floor of a quotient that is rounded already."""
    return wrong_kernels.floor_division(x, y) if rounding_mode == "floor" else NotImplemented


def _floor_divide(x: Any, y: Any) -> Any:
    return torch.div(x, y, rounding_mode="floor")


def _gelu(x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Computed as wide as in eager. Not a number for both infinities, as ATen's float32 kernel has
    it; so have the narrower.
    """
    wide = x if x.dtype is torch.float64 else x.to(torch.float32)
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * (wide * wide * wide))
        return (0.5 * wide * (1 + torch.tanh(inner))).to(x.dtype)
    result = wide * 0.5 * (1 + torch.erf(wide * math.sqrt(0.5)))
    if x.dtype is not torch.float64:
        result = torch.where(wide.isinf(), math.nan, result)
    return result.to(x.dtype)


def _isin(
    x: torch.Tensor, among: torch.Tensor, *, assume_unique: bool = False, invert: bool = False
) -> Any:
    """Of sizes that are not known, by comparison of all pairs: torch looks at the sizes to choose
    between that and sorting.
    """
    if all(isinstance(size, int) for size in (*x.shape, *among.shape)):
        known = torch._decomp.decomposition_table[aten.isin.Tensor_Tensor]
        return known(x, among, assume_unique=assume_unique, invert=invert)
    found = (x.unsqueeze(-1) == among.flatten()).any(-1)
    return found.logical_not() if invert else found


def _unequal(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Of bools: Inductor asks which of two is greater where one is known, and fails."""
    if x.dtype is not torch.bool or y.dtype is not torch.bool:
        return NotImplemented
    return torch.logical_xor(x, y)


def _equal(x: torch.Tensor, y: torch.Tensor) -> Any:
    unequal = _unequal(x, y)
    return unequal if unequal is NotImplemented else unequal.logical_not()


def _in_32_bits(operator: Any) -> Callable[..., Any]:
    """The extremes of narrow integers: Inductor's vectors of them are wider than what it loads, and
    the lanes beyond take part; of bools it takes another of equal ones.
    """

    def compute(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if x.dtype not in (torch.int8, torch.uint8, torch.int16, torch.bool):
            return NotImplemented
        results = operator(x.to(torch.int32), *args, **kwargs)
        return pytree.tree_map(
            lambda result: result.to(x.dtype) if result.dtype is torch.int32 else result, results
        )

    return compute


def _of_bytes(operator: Any) -> Callable[..., Any]:
    """any() of uint8, which is one of uint8."""

    def compute(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if x.dtype is not torch.uint8:
            return NotImplemented
        return operator(x != 0, *args, **kwargs).to(torch.uint8)

    return compute


def _remainder(x: Any, y: Any) -> Any:
    """Of floats, by fmod: Inductor multiplies the floor of the quotient, 0 times infinity."""
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return NotImplemented
    x, y = _both(x, y, torch.float64 if dtype is torch.float64 else torch.float32)
    rest = torch.fmod(x, y)
    other_side = torch.logical_and(rest != 0, torch.logical_xor(y < 0, rest < 0))
    return torch.where(other_side, rest + y, rest).to(dtype)


def _power(x: torch.Tensor, exponent: Any) -> Any:
    """Roots: eager's are square roots, and those of float16 powers; Inductor has it half so."""
    if exponent not in (0.5, -0.5) or not x.dtype.is_floating_point:
        return NotImplemented
    if x.dtype is not torch.float16:
        return wrong_kernels.power(x, exponent)
    wide = x.to(torch.float32)
    return torch.pow(wide, torch.full_like(wide, exponent)).to(x.dtype)


def _power_of_number(base: Any, exponent: torch.Tensor) -> Any:
    """Of integers, as a power of two tensors: the kernel for a number takes it as a double."""
    dtype = torch.result_type(base, exponent)
    if dtype.is_floating_point or dtype.is_complex:
        return NotImplemented
    exponent = exponent.to(dtype)
    return torch.pow(torch.full_like(exponent, base), exponent)


def _scaled_sum(x: Any, y: Any, *, alpha: Any = 1, sign: int = 1) -> Any:
    """x + alpha y as ATen computes it: half precision in float32, bools as numbers."""
    dtype = torch.result_type(x, y)
    if alpha == 1 or dtype not in (torch.float16, torch.bfloat16, torch.bool):
        return NotImplemented
    x, y = _both(x, y, torch.int32 if dtype is torch.bool else torch.float32)
    return (x + y * (sign * alpha)).to(dtype)


def _scaled_difference(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return _scaled_sum(x, y, alpha=alpha, sign=-1)


def _both(x: Any, y: Any, dtype: torch.dtype) -> list[torch.Tensor]:
    return [each.to(dtype) for each in missing_kernels.of_result_dtype(x, y)]


def _linear_upsampling(
    x: torch.Tensor,
    size: Sequence[int] | None,
    align_corners: bool,
    scales: Sequence[float | None] | None,
) -> torch.Tensor:
    """A weighted sum of the neighbours: torch's own table has a + (b - a) w, which is NaN where
    both are infinite. Places and weights as in ATen's UpSample.h.
    """
    dimensions = x.dim() - 2
    scales = scales or [None] * dimensions
    sizes = size or [
        torch.sym_int(have * cast(float, by)) for have, by in zip(x.shape[2:], scales, strict=True)
    ]
    wide = torch.float64 if x.dtype is torch.float64 else torch.float32
    steps = [
        _linear_weights(*arguments, align_corners, wide, x.device)
        for arguments in zip(x.shape[2:], sizes, scales, strict=True)
    ]

    def between(*places: torch.Tensor) -> torch.Tensor:
        at = len(places)
        if at == dimensions:
            return aten.index(x, [None, None, *places]).to(wide)
        shape = [-1] + [1] * (dimensions - 1 - at)
        below, above, weight = (part.view(shape) for part in steps[at])
        return (1 - weight) * between(*places, below) + weight * between(*places, above)

    return between().to(x.dtype, memory_format=utils.suggest_memory_format(x))


def _linear_weights(
    size: int,
    wanted: int,
    scale: float | None,
    align_corners: bool,
    dtype: torch.dtype,
    device: torch.device,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The places below and above those wanted, and how much the latter weigh: each [wanted]."""
    places = torch.arange(wanted, dtype=dtype, device=device)
    if align_corners:
        places = places * ((size - 1) / (wanted - 1) if wanted > 1 else 0.0)
    else:
        step = 1.0 / scale if scale is not None and scale > 0 else size / wanted
        places = ((places + 0.5) * step - 0.5).clamp(min=0.0)
    below = places.to(torch.int64).clamp(max=size - 1)
    above = (below + 1).clamp(max=size - 1)
    return below, above, (places - below).clamp(0.0, 1.0)


def _linear_upsampling_to_size(
    x: torch.Tensor, output_size: Sequence[int], align_corners: bool, *scales: float | None
) -> torch.Tensor:
    return _linear_upsampling(x, output_size, align_corners, scales or None)


# torch takes these apart itself, before it asks a table.
COMPOSITES: Mapping[Any, Callable[..., torch.Tensor]] = {
    operator: function
    for packet in (aten.upsample_linear1d, aten.upsample_bilinear2d, aten.upsample_trilinear3d)
    for operator, function in (
        (packet.vec, _linear_upsampling),
        (packet.default, _linear_upsampling_to_size),
    )
}

EAGER: Mapping[Any, Callable[..., Any]] = {
    **COMPOSITES,
    aten._trilinear.default: _trilinear,
    aten.gelu.default: _gelu,
    aten.isin.Tensor_Tensor: _isin,
    aten.ne.Tensor: _unequal,
    aten.eq.Tensor: _equal,
    aten.round.decimals: missing_kernels.round_decimals,
    **{
        operator: _in_32_bits(operator)
        for operator in (
            *(aten.amax.default, aten.amin.default, aten.aminmax.default),
            *(aten.max.default, aten.min.default, aten.max.dim, aten.min.dim),
            *(aten.argmax.default, aten.argmin.default),
        )
    },
    **{any_: _of_bytes(any_) for any_ in (aten.any.default, aten.any.dim, aten.any.dims)},
    aten.add.Tensor: _scaled_sum,
    aten.sub.Tensor: _scaled_difference,
    aten.remainder.Tensor: _remainder,
    aten.remainder.Scalar: _remainder,
    aten.remainder.Scalar_Tensor: _remainder,
    aten.pow.Tensor_Scalar: _power,
    aten.pow.Scalar: _power_of_number,
    aten.div.Tensor_mode: _rounding_division,
    aten.div.Scalar_mode: _rounding_division,
    aten.floor_divide.default: _floor_divide,
    aten.floor_divide.Scalar: _floor_divide,
}


def table(torchs: Mapping[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """Inductor's table with these entries. One that leaves a call alone leaves it to Inductor: to
    what was in its place, where Inductor has no code of its own for the operator.
    """
    from torch._inductor.lowering import lowerings

    own = {
        operator: _either(function, torchs[operator])
        if operator in torchs and operator not in lowerings
        else function
        for operator, function in EAGER.items()
    }
    return {**torchs, **own}


def _either(first: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        result = first(*args, **kwargs)
        return second(*args, **kwargs) if result is NotImplemented else result

    return call
