"""Operators whose portable kernels compute something else than eager, in others' terms."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from operator import mul
from typing import Any, TypeAlias, cast

import torch
import torch.nn.functional as F
from torch import fx

from backend_common.missing_kernels import of_result_dtype

aten = torch.ops.aten

Operator: TypeAlias = torch._ops.OpOverload


@dataclasses.dataclass(frozen=True)
class Decomposition:
    """function: takes the operator's arguments; NotImplemented leaves them to the operator.
    wrong: on which nodes the kernel, if there is one, does not compute what eager does.
        All get their operands in the default order of dimensions where that matters.
    kernel: its name as programs spell it; without it every node needs the decomposition.
    composites: operators that become this one only when they are decomposed themselves.
    """

    function: Callable[..., Any] | None
    kernel: str
    wrong: Callable[[fx.Node], bool] = lambda node: False
    composites: tuple[Operator, ...] = ()


def _of_integers(node: fx.Node) -> bool:
    value = node.meta["val"]
    return not value.dtype.is_floating_point and value.dtype is not torch.bool


def _of_floats(node: fx.Node) -> bool:
    return bool(node.meta["val"].dtype.is_floating_point)


def _rounds_otherwise(node: fx.Node) -> bool:
    return bool(node.kwargs.get("rounding_mode") == ("trunc" if _of_integers(node) else "floor"))


def _of_doubles(node: fx.Node) -> bool:
    return bool(node.meta["val"].dtype is torch.float64)


def _adds_up_in_fewer_bits(node: fx.Node) -> bool:
    x = node.args[0].meta["val"] if isinstance(node.args[0], fx.Node) else None
    narrow = (torch.bool, torch.int8, torch.uint8, torch.int16, torch.int32)
    return (
        x is not None
        and x.dim() > 0
        and (_of_doubles(node) or (node.meta["val"].dtype is torch.int64 and x.dtype not in narrow))
    )


def _without_dimensions(node: fx.Node) -> bool:
    return bool(node.meta["val"].dim() == 0)


def remainder(x: Any, y: Any) -> Any:
    """Given:  remainder(x, y) of integers, whose kernel has C's sign
    Result: x - floor(x / y) * y, exact in the dtype
    """
    if torch.result_type(x, y).is_floating_point:
        # The kernel is right, and takes a tensor on the left only.
        return NotImplemented if isinstance(x, torch.Tensor) else remainder_of_number(x, y)
    x, y = of_result_dtype(x, y)
    return x - torch.div(x, y, rounding_mode="floor") * y


def remainder_of_division(x: Any, y: Any) -> Any:
    """Given:  fmod(x, y) of integers, whose kernel goes through floats
    Result: x - trunc(x / y) * y, exact in the dtype
    """
    if torch.result_type(x, y).is_floating_point:
        return NotImplemented
    x, y = of_result_dtype(x, y)
    return x - torch.div(x, y, rounding_mode="trunc") * y


def remainder_of_number(x: Any, y: torch.Tensor) -> torch.Tensor:
    return torch.remainder(*of_result_dtype(x, y))


def rounding_division(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """Given:  div(x, y, rounding_mode="trunc") of integers, whose kernel goes through floats
    Result: the floor, and one more where it lies below a negative quotient
    """
    if rounding_mode == "floor":
        return floor_division(x, y)
    if rounding_mode != "trunc" or torch.result_type(x, y).is_floating_point:
        return NotImplemented
    x, y = of_result_dtype(x, y)
    floor = torch.div(x, y, rounding_mode="floor")
    below = torch.logical_and(floor * y != x, (x < 0) != (y < 0))
    return floor + below.to(floor.dtype)


def floor_division(x: Any, y: Any) -> Any:
    """Given:  floor(x / y) of floats, whose kernel differs where x or y is 0, NaN or infinite
    Result: Python's algorithm, which is eager's
    """
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return NotImplemented
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    x, y = (tensor.to(wide) for tensor in of_result_dtype(x, y))
    rest = torch.fmod(x, y)
    quotient = (x - rest) / y
    below = torch.logical_and(rest != 0, torch.logical_xor(y < 0, rest < 0))
    quotient = torch.where(below, quotient - 1, quotient)
    floor = torch.floor(quotient)
    floor = torch.where(quotient - floor > 0.5, floor + 1, floor)
    return torch.where(y == 0, x / y, floor).to(dtype)


def whole(x: torch.Tensor) -> Any:
    """Given:  trunc(x), floor(x) or ceil(x) of integers, whose kernels go through floats
    Result: x
    """
    return NotImplemented if x.dtype.is_floating_point else x.clone()


def erfc(x: torch.Tensor) -> torch.Tensor:
    return 1 - torch.erf(x)


def cumsum(x: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    """Given:  cumsum(x, 0) of a tensor without dimensions, which the kernel refuses
    Result: x
    """
    if x.dim():
        return NotImplemented
    return x.clone().to(dtype or (x.dtype if x.dtype.is_floating_point else torch.int64))


def log_softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> Any:
    """Given:  log_softmax(x) of float64, which the kernel refuses
    Result: x less its largest, less the logarithm of the sum of the exponentials of these
    """
    if x.dtype is not torch.float64:
        return NotImplemented
    shifted = x - torch.amax(x, dim, True)
    return shifted - torch.log(torch.sum(torch.exp(shifted), dim, True))


def total(
    x: torch.Tensor,
    dim: list[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    """Given:  sum(x) in int64 or float64, whose kernel adds up in float64 or float32
    Result: the last of the running sums
    """
    result = dtype or (x.dtype if x.dtype.is_floating_point else torch.int64)
    if result not in (torch.int64, torch.float64) or not x.dim():
        return NotImplemented
    reduced = sorted(d % x.dim() for d in dim or range(x.dim()))
    if not all(isinstance(x.shape[d], int) and x.shape[d] for d in reduced):
        return NotImplemented
    kept = [d for d in range(x.dim()) if d not in reduced]
    moved = x.to(result).permute(*kept, *reduced).flatten(len(kept))
    sums = moved.cumsum(-1)[..., -1]
    if keepdim:
        for d in reduced:
            sums = sums.unsqueeze(d)
    return sums


def _normalized(
    x: torch.Tensor, dims: list[int], epsilon: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(x - mean) / deviation, the mean, and the deviation's inverse; with sums, for a sum of
    float64 is one here."""
    count = functools.reduce(mul, (x.shape[dim] for dim in dims), 1)
    mean = torch.sum(x, dims, True) / count
    centred = x - mean
    inverse = torch.reciprocal(
        torch.sqrt(torch.sum(centred * centred, dims, True) / count + epsilon)
    )
    return centred * inverse, mean, inverse


def layer_norm(
    x: torch.Tensor,
    shape: list[int],
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    epsilon: float,
) -> Any:
    """Given:  layer_norm(x) of float64, whose kernel computes in float32
    Result: sums, products and a square root
    """
    if x.dtype is not torch.float64:
        return NotImplemented
    result, mean, inverse = _normalized(x, list(range(-len(shape), 0)), epsilon)
    result = result if weight is None else result * weight
    return (result if bias is None else result + bias), mean, inverse


def group_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    batch: int,
    channels: int,
    places: int,
    groups: int,
    epsilon: float,
) -> Any:
    """Given:  group_norm(x) of float64, whose kernel computes in float32
    Result: sums, products and a square root
    """
    if x.dtype is not torch.float64:
        return NotImplemented
    grouped = x.reshape(x.shape[0], groups, -1)
    result, mean, inverse = _normalized(grouped, [-1], epsilon)
    result = result.reshape(x.shape)
    column = [1, channels] + [1] * (x.dim() - 2)
    result = result if weight is None else result * weight.reshape(column)
    result = result if bias is None else result + bias.reshape(column)
    return result, mean.squeeze(-1), inverse.squeeze(-1)


def _first_is_double(node: fx.Node) -> bool:
    return bool(cast(fx.Node, node.args[0]).meta["val"].dtype is torch.float64)


def _counts(x: torch.Tensor, dim: list[int] | None) -> int | None:
    """How many values are reduced to one; None when that is not known."""
    sizes = [x.shape[d] for d in dim] if dim else list(x.shape)
    return functools.reduce(mul, sizes, 1) if all(isinstance(s, int) for s in sizes) else None


def _divides_by_nothing(node: fx.Node) -> bool:
    x, *dim = node.args
    correction = node.kwargs.get("correction", 1)
    count = _counts(cast(fx.Node, x).meta["val"], cast(Any, dim[0] if dim else None))
    return count is not None and isinstance(correction, (int, float)) and count <= correction


def variance(
    x: torch.Tensor, dim: list[int] | None = None, *, correction: Any = 1, keepdim: bool = False
) -> Any:
    """Given:  var(x) of no more values than the correction, for which the kernel says NaN
    Result: the sum of squares divided by 0: infinite unless all values are equal
    """
    count = _counts(x, dim)
    if correction is None or count is None or count > correction:
        return NotImplemented
    squares = (x - torch.mean(x, dim, True)) ** 2
    return torch.sum(squares, dim, keepdim) / 0.0


def variance_and_mean(
    x: torch.Tensor, dim: list[int] | None = None, *, correction: Any = 1, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Given:  var_mean(x), whose kernel has the mean of what it cannot divide wrong
    Result: (var(x), mean(x))
    """
    correction = 1 if correction is None else correction
    spread = torch.var(x, dim, correction=correction, keepdim=keepdim)
    return spread, torch.mean(x, dim, keepdim)


def power_of_tensors(x: Any, exponent: Any) -> Any:
    """Given:  x ** y of integers, whose kernel goes through floats
    Result: products of x, chosen by the bits of y, exact in the dtype
    """
    even = isinstance(x, int) and x % 2 == 0
    x, exponent = of_result_dtype(x, exponent)
    if x.dtype.is_floating_point or x.dtype is torch.bool:
        return NotImplemented
    bits = torch.iinfo(x.dtype).bits
    result = torch.ones_like(x * exponent)
    left, base = exponent, x
    for _ in range(bits.bit_length() - 1 if even else bits - x.dtype.is_signed):
        odd = torch.bitwise_and(left, 1) == 1
        result = torch.where(odd, result * base, result)
        left, base = torch.div(left, 2, rounding_mode="floor"), base * base
    if even:  # its higher powers have nothing but zeros in these bits
        result = torch.where(exponent >= bits, torch.zeros_like(result), result)
    if not x.dtype.is_signed:
        return result
    # 1 and -1 have powers below 0, too; those of other numbers are fractions.
    parity = torch.where(torch.bitwise_and(exponent, 1) == 1, x, x * x)
    below = torch.where(torch.logical_or(x == 1, x == -1), parity, torch.zeros_like(parity))
    return torch.where(exponent < 0, below, result)


def sign(x: torch.Tensor) -> Any:
    """Given:  sign(x) of floats, whose kernel keeps NaN
    Result: (x > 0) - (x < 0), which is 0 for NaN, as in eager
    """
    if not x.dtype.is_floating_point:
        return NotImplemented
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


def _is_power(node: fx.Node) -> bool:
    # Eager's float16 goes through pow itself, as the kernel's.
    is_root = node.args[1] in (0.5, -0.5) and node.meta["val"].dtype is not torch.float16
    return _of_integers(node) or is_root


def power(x: torch.Tensor, exponent: Any) -> Any:
    """Given:  x ** 5 of integers, whose kernel goes through floats, or x ** 0.5
    Result: products of x, exact in the dtype; the square root, as in eager also of -inf
    """
    if x.dtype is torch.float16:
        return NotImplemented
    if x.dtype.is_floating_point:
        root = {0.5: torch.sqrt, -0.5: torch.rsqrt}.get(exponent)
        return NotImplemented if root is None else root(x)
    if not isinstance(exponent, int) or exponent < 0:
        return NotImplemented
    x = x.to(torch.int64) if x.dtype is torch.bool else x
    result = torch.ones_like(x)
    while exponent:
        result = result * x if exponent & 1 else result
        x = x * x if exponent > 1 else x
        exponent >>= 1
    return result


def fmax(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _but_nan(torch.maximum, x, y)


def fmin(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _but_nan(torch.minimum, x, y)


def _but_nan(choose: Callable[..., Any], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """choose(x, y), and the other operand where one is NaN."""
    x, y = of_result_dtype(x, y)
    if not x.dtype.is_floating_point:
        return cast(torch.Tensor, choose(x, y))
    return torch.where(x.isnan(), y, torch.where(y.isnan(), x, choose(x, y)))


def _mixes_float64(node: fx.Node) -> bool:
    dtypes = {cast(fx.Node, operand).meta["val"].dtype for operand in node.args[:2]}
    return len(dtypes) > 1 and torch.float64 in dtypes


def comparison(operator: Operator) -> Callable[..., Any]:
    """Given:  x == y of float64 and float32, which the kernel compares as float32
    Result: the same of two tensors of float64
    """

    def compare(x: torch.Tensor, y: torch.Tensor) -> Any:
        if x.dtype == y.dtype:
            return NotImplemented
        return operator(*of_result_dtype(x, y))

    return compare


def _promotes_by_category(node: fx.Node) -> bool:
    x, y = (cast(fx.Node, operand).meta["val"].dtype for operand in node.args[1:])
    return bool(torch.promote_types(x, y) != node.meta["val"].dtype)


def selection(condition: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> Any:
    """Given:  where(c, x, y) of float32 and a float64 without dimensions, whose kernel takes the
        two for equals and refuses a result of float32
    Result: the same of two tensors of float32
    """
    if torch.promote_types(x.dtype, y.dtype) == torch.result_type(x, y):
        return NotImplemented
    return torch.where(condition, *of_result_dtype(x, y))


def _has_several_dtypes(node: fx.Node) -> bool:
    operands = cast("list[fx.Node]", node.args[0])
    return len({operand.meta["val"].dtype for operand in operands}) > 1


def concatenation(tensors: list[torch.Tensor], dim: int = 0) -> Any:
    """Given:  cat([x, y]) of several dtypes, whose bytes the kernel puts side by side
    Result: cat of tensors of the result's dtype
    """
    dtype = functools.reduce(torch.promote_types, (tensor.dtype for tensor in tensors))
    if all(tensor.dtype == dtype for tensor in tensors):
        return NotImplemented
    return torch.cat([tensor.to(dtype) for tensor in tensors], dim)


def _has_a_zero_factor(node: fx.Node) -> bool:
    return _multiplies_nothing(node) or 0 in (
        node.kwargs.get("beta", 1),
        node.kwargs.get("alpha", 1),
    )


def addmm(
    x: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """Given:  addmm(x, a, b, beta=0), whose kernel multiplies a NaN of x by 0
    Result: mm(a, b) * alpha; and x * beta alone where alpha is 0, or there is nothing to add up
    """
    alpha = alpha if a.shape[-1] != 0 else 0
    if beta and alpha:
        return NotImplemented
    shape = (a.shape[0], b.shape[1])
    if not alpha:
        return (x * beta if beta else torch.zeros_like(x)).expand(shape).clone()
    return torch.mm(a, b) * alpha if alpha != 1 else torch.mm(a, b)


def _crops(node: fx.Node) -> bool:
    return any(isinstance(pad, int) and pad < 0 for pad in cast("list[Any]", node.args[1]))


def padding(x: torch.Tensor, pads: list[Any], value: Any = 0) -> Any:
    """Given:  constant_pad_nd(x, [-1, 1]), whose kernel takes no negative numbers
    Result: constant_pad_nd(x[..., 1:], [0, 1])
    """
    negative = [isinstance(pad, int) and pad < 0 for pad in pads]
    if not any(negative):
        return NotImplemented
    for at, crop in enumerate(negative):
        dim = x.dim() - 1 - at // 2
        if crop and at % 2 == 0:
            x = torch.narrow(x, dim, -pads[at], x.shape[dim] + pads[at])
        elif crop:
            x = torch.narrow(x, dim, 0, x.shape[dim] + pads[at])
    rest = [0 if crop else pad for crop, pad in zip(negative, pads, strict=True)]
    return aten.constant_pad_nd(x, rest, value) if any(rest) else x.clone()


def _as_frames(x: torch.Tensor) -> torch.Tensor:
    """(N, C, D, H, W) as (N * D, C, H, W)."""
    return x.transpose(1, 2).flatten(0, 1)


def _as_volume(frames: torch.Tensor, depth: int) -> torch.Tensor:
    return frames.unflatten(0, (-1, depth)).transpose(1, 2)


def convolution(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
) -> Any:
    """Given:  a convolution of volumes, whose kernel takes at most images
    Result: the sum of convolutions of images, one for each step of the kernel's depth
    """
    if x.dim() != 5:
        return NotImplemented
    stride, padding, dilation, output_padding = (
        list(given) * (3 // len(given)) for given in (stride, padding, dilation, output_padding)
    )
    steps = weight.shape[2]
    reach = dilation[0] * (steps - 1)
    flat = (stride[1:], padding[1:])
    dtype = x.dtype
    if dtype in (torch.float16, torch.bfloat16):  # eager rounds once, at the end
        x, weight = x.to(torch.float32), weight.to(torch.float32)
        bias = None if bias is None else bias.to(torch.float32)
    total: Any = 0
    if not transposed:
        x = F.pad(x, (0, 0, 0, 0, padding[0], padding[0]))
        depth = (x.shape[2] - reach - 1) // stride[0] + 1
        for step in range(steps):
            first = step * dilation[0]
            frames = _as_frames(x[:, :, first : first + (depth - 1) * stride[0] + 1 : stride[0]])
            part = F.conv2d(frames, weight[:, :, step], None, *flat, dilation[1:], groups)
            total = total + part
        total = _as_volume(total, depth)
    else:
        depth = x.shape[2]
        for step in range(steps):
            part = F.conv_transpose2d(
                _as_frames(x),
                weight[:, :, step],
                None,
                *flat,
                output_padding[1:],
                groups,
                dilation[1:],
            )
            # Frames lie `stride` apart; what is between them is 0.
            spread = F.pad(_as_volume(part, depth).unsqueeze(3), (0, 0, 0, 0, 0, stride[0] - 1))
            spread = spread.flatten(2, 3)[:, :, : (depth - 1) * stride[0] + 1]
            first = step * dilation[0]
            total = total + F.pad(spread, (0, 0, 0, 0, first, reach - first + output_padding[0]))
        total = total[:, :, padding[0] : total.shape[2] - padding[0]]
    if bias is not None:
        total = total + bias.view(-1, 1, 1, 1)
    return total.to(dtype)


def _multiplies_nothing(node: fx.Node) -> bool:
    return 0 in cast(fx.Node, node.args[-1]).meta["val"].shape[-2:-1]


def matrix_product(a: torch.Tensor, b: torch.Tensor) -> Any:
    """Given:  mm(a, b) or bmm(a, b) over no elements, for which the kernel leaves memory as it is
    Result: zeros
    """
    if not isinstance(a.shape[-1], int) or a.shape[-1]:
        return NotImplemented
    return torch.zeros((*a.shape[:-1], b.shape[-1]), dtype=a.dtype)


def sort(
    x: torch.Tensor, dim: int = -1, descending: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Given:  sort(x)
    Result: topk of all, and among equal values topk of their indices, which makes it stable
    """
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    moved = x.transpose(dim, -1)
    size = moved.shape[-1]
    keys = moved.to(torch.uint8) if x.dtype is torch.bool else moved
    keys, indices = torch.topk(keys, size, -1, largest=descending)
    # Runs of equal values are counted from the left, and NaN equals NaN.
    # Taken by index: a slice of a dynamic size of 2 has one element, which would fix the size.
    places = torch.clamp(torch.arange(size) - 1, min=0)
    before = torch.index_select(keys, -1, places)
    new = before != keys
    if x.dtype.is_floating_point:
        new = torch.logical_and(new, torch.logical_not(before.isnan() & keys.isnan()))
    runs = torch.cumsum(new.to(torch.int64), -1)
    order = torch.topk(runs * size + indices, size, -1, largest=False)[0]
    indices = order - runs * size
    return keys.to(x.dtype).transpose(dim, -1), indices.transpose(dim, -1)


def max_pool3d_with_indices(
    x: torch.Tensor,
    kernel_size: list[int],
    stride: list[int] = (),  # type: ignore[assignment]
    padding: list[int] = (0,),  # type: ignore[assignment]
    dilation: list[int] = (1,),  # type: ignore[assignment]
    ceil_mode: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Given:  max_pool3d(x) over depth, height and width
    Result: max_pool2d over height and width, then over depth; the first of equals wins in both
    """
    kernel = _three(kernel_size)
    step = _three(stride) if stride else kernel
    pad, dilate = _three(padding), _three(dilation)
    batch = x.shape[:-3]
    depth, height, width = x.shape[-3:]

    planes = x.reshape(-1, depth, height, width)
    planes, within = aten.max_pool2d_with_indices(
        planes, kernel[1:], step[1:], pad[1:], dilate[1:], ceil_mode
    )
    out_height, out_width = planes.shape[-2:]
    columns = planes.reshape(-1, 1, depth, out_height * out_width)
    within = within.reshape(columns.shape)
    values, indices = aten.max_pool2d_with_indices(
        columns, [kernel[0], 1], [step[0], 1], [pad[0], 0], [dilate[0], 1], ceil_mode
    )
    # `indices` counts in (depth, out_height * out_width), and its column is its own.
    at_depth = torch.div(indices, out_height * out_width, rounding_mode="floor")
    flat = at_depth * (height * width) + torch.gather(within, 2, at_depth)
    shape = (*batch, values.shape[2], out_height, out_width)
    return values.reshape(shape), flat.reshape(shape)


def _three(value: Any) -> list[int]:
    values = [value] if isinstance(value, int) else list(value)
    return values * 3 if len(values) == 1 else values


FORMS: Mapping[Operator, Decomposition] = {
    aten.remainder.Scalar: Decomposition(remainder, "aten::remainder.Scalar_out", _of_integers),
    aten.remainder.Tensor: Decomposition(remainder, "aten::remainder.Tensor_out", _of_integers),
    aten.remainder.Scalar_Tensor: Decomposition(
        remainder, "aten::remainder.Scalar_Tensor_out", _of_integers
    ),
    aten.fmod.Scalar: Decomposition(remainder_of_division, "aten::fmod.Scalar_out", _of_integers),
    aten.fmod.Tensor: Decomposition(remainder_of_division, "aten::fmod.Tensor_out", _of_integers),
    aten.div.Tensor_mode: Decomposition(rounding_division, "aten::div.out_mode", _rounds_otherwise),
    aten.div.Scalar_mode: Decomposition(
        rounding_division, "aten::div.Scalar_mode_out", _rounds_otherwise
    ),
    aten.pow.Tensor_Scalar: Decomposition(
        power, "aten::pow.Tensor_Scalar_out", _is_power, (aten.square.default,)
    ),
    aten.pow.Scalar: Decomposition(power_of_tensors, "aten::pow.Scalar_out", _of_integers),
    aten.pow.Tensor_Tensor: Decomposition(
        power_of_tensors, "aten::pow.Tensor_Tensor_out", _of_integers
    ),
    aten.floor_divide.default: Decomposition(floor_division, "aten::floor_divide.out", _of_floats),
    aten._log_softmax.default: Decomposition(
        log_softmax,
        "aten::_log_softmax.out",
        _of_doubles,
        (aten.log_softmax.int,),
    ),
    aten.sum.dim_IntList: Decomposition(
        total, "aten::sum.IntList_out", _adds_up_in_fewer_bits, (aten.sum.default,)
    ),
    aten.native_layer_norm.default: Decomposition(
        layer_norm,
        "aten::native_layer_norm.out",
        _first_is_double,
        (aten.layer_norm.default,),
    ),
    aten.native_group_norm.default: Decomposition(
        group_norm,
        "aten::native_group_norm.out",
        _first_is_double,
        (aten.group_norm.default,),
    ),
    aten.var.correction: Decomposition(
        variance,
        "aten::var.correction_out",
        _divides_by_nothing,
        (aten.var.default, aten.var.dim, aten.std.default, aten.std.dim, aten.std.correction),
    ),
    aten.var_mean.correction: Decomposition(
        variance_and_mean,
        "aten::var_mean.correction_out",
        lambda node: True,
        (aten.var_mean.default, aten.var_mean.dim),
    ),
    aten.trunc.default: Decomposition(whole, "aten::trunc.out", _of_integers),
    aten.floor.default: Decomposition(whole, "aten::floor.out", _of_integers),
    aten.ceil.default: Decomposition(whole, "aten::ceil.out", _of_integers),
    aten.erfc.default: Decomposition(erfc, "aten::erfc.out"),
    aten.cumsum.default: Decomposition(cumsum, "aten::cumsum.out", _without_dimensions),
    aten.fmax.default: Decomposition(fmax, "aten::fmax.out"),
    aten.fmin.default: Decomposition(fmin, "aten::fmin.out"),
    aten.sort.default: Decomposition(
        sort, "aten::sort.values", composites=(aten.argsort.default, aten.msort.default)
    ),
    aten.sort.stable: Decomposition(
        lambda x, *, stable=True, dim=-1, descending=False: sort(x, dim, descending),
        "aten::sort.values_stable",
        composites=(aten.argsort.stable,),
    ),
    aten.constant_pad_nd.default: Decomposition(
        padding, "aten::constant_pad_nd.out", _crops, (aten.pad.default,)
    ),
    aten.nonzero.default: Decomposition(
        None, "aten::nonzero.out", wrong=lambda node: node.args[0].meta["val"].dim() > 1
    ),
    **{
        operator: Decomposition(comparison(operator), f"aten::{name}.Tensor_out", _mixes_float64)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
        for operator in (getattr(aten, name).Tensor,)
    },
    aten.where.self: Decomposition(selection, "aten::where.self_out", _promotes_by_category),
    aten.cat.default: Decomposition(
        concatenation, "aten::cat.out", _has_several_dtypes, (aten.stack.default,)
    ),
    aten.convolution.default: Decomposition(
        convolution, "aten::convolution.out", lambda node: node.args[0].meta["val"].dim() == 5
    ),
    aten.mm.default: Decomposition(matrix_product, "aten::mm.out", _multiplies_nothing),
    aten.bmm.default: Decomposition(matrix_product, "aten::bmm.out", _multiplies_nothing),
    aten.addmm.default: Decomposition(addmm, "aten::addmm.out", _has_a_zero_factor),
    aten.sign.default: Decomposition(sign, "aten::sign.out", _of_floats),
    aten.max_pool3d_with_indices.default: Decomposition(
        max_pool3d_with_indices,
        "aten::max_pool3d_with_indices.out",
        composites=(aten.max_pool3d.default,),
    ),
}
