"""Complex numbers as pairs of real ones: neither backends nor the portable kernels have them.

Each value is computed as eager does but for infinities: a real factor scales both parts, where
eager multiplies by a zero, too, and gets NaN.
"""

import cmath
import contextlib
import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import fx
from torch._export.passes.lift_constants_pass import ConstantAttrMap, lift_constants_pass
from torch._guards import detect_fake_mode
from torch._refs import fft as transforms
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.utils import _pytree as pytree

from backend_common.diagnostics import source_line
from backend_common.errors import LoweringError
from backend_common.exported import LetViewsCopy
from backend_common.graph import attribute, graph_modules, propagate_metadata
from backend_common.operators import operator_name
from backend_common.report import Row
from backend_common.stages import stage

aten = torch.ops.aten

# Up to this many points a Fourier transform is one product with a table; above, it is split.
_DENSE = 512

# ---------------------------------------------------------------- what rules are written with


class Real(fx.Proxy):  # type: ignore[misc]
    """A real tensor, or a size, of the new program. What is called on it is added to the graph."""

    @property
    def val(self) -> Any:
        return self.node.meta["val"]


class Writer(fx.proxy.GraphAppendingTracer):
    """Adds ATen operators before `node`, with their values and the node's source line."""

    # ATen's names of Python's operators.
    NAMES: Mapping[str, str] = {"truediv": "div", "mod": "remainder"}

    node: fx.Node

    def __init__(self, graph: fx.Graph, mode: Any, constants: bool) -> None:
        """mode: of the program's fake tensors. constants: whether the graph may have them."""
        super().__init__(graph)
        self.constants = constants
        self._mode = mode
        self._tables: dict[Any, Any] = {}

    def __call__(self, target: Any, *args: Any, **kwargs: Any) -> Any:
        """A node that calls exactly this target."""
        args, kwargs = pytree.tree_map(self._operand, (args, kwargs))
        values, named = fx.node.map_arg((args, kwargs), lambda node: node.meta["val"])
        with self._mode:
            value = target(*values, **named)
        return self._add("call_function", target, args, kwargs, value)

    def create_proxy(
        self, kind: str, target: Any, args: Any, kwargs: Any, *_: Any, **__: Any
    ) -> Any:
        """Calls of methods, functions and operators of Python, as rules make them."""
        name = target if isinstance(target, str) else target.__name__
        values, named = pytree.tree_map_only(Real, lambda real: real.val, (args, kwargs))
        if not any(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(values)):
            return self(target, *args, **kwargs)  # arithmetic of sizes
        if name in ("mul", "add") and not isinstance(args[0], Real):
            args, values = args[::-1], values[::-1]  # ATen's numbers stand on the right
        name = f"aten::{self.NAMES.get(name, name)}"
        overload = torch._C._jit_resolve_packet(name, *values, **named)
        return self(getattr(getattr(aten, name[6:]), overload or "default"), *args, **kwargs)

    def table(self, make: Callable[..., Any], *args: Any) -> Any:
        """make(*args), tensors that become constants where they are used; once in a graph."""
        if (make, args) not in self._tables:
            self._tables[make, args] = make(*args)
        return self._tables[make, args]

    def _operand(self, value: Any) -> Any:
        if isinstance(value, fx.Proxy):
            return value.node
        return self._constant(value) if isinstance(value, torch.Tensor) else value

    def _constant(self, table: torch.Tensor) -> fx.Node:
        module = self.graph.owning_module
        name = f"complex_table_{id(table)}"  # until it becomes an input
        if not hasattr(module, name):
            module.register_buffer(name, table)
        value = self._mode.from_tensor(table, static_shapes=True)
        return self._add("get_attr", name, (), {}, value).node

    def _add(self, kind: str, target: Any, args: Any, kwargs: Any, value: Any) -> Any:
        with self.graph.inserting_before(self.node):
            node = self.graph.create_node(kind, target, args, kwargs)
        old = self.node.meta.items()
        node.meta = {k: v for k, v in old if k != "tensor_meta"} | {"val": value}
        return Real(node, self)


@dataclasses.dataclass(frozen=True)
class Pair:
    """re + i im. A part that is the number 0, not a tensor of zeros, costs nothing."""

    re: Any
    im: Any

    @staticmethod
    def of(x: Any) -> "Pair":
        return x if isinstance(x, Pair) else Pair(x, 0)

    def map(self, function: Callable[[Any], Any]) -> "Pair":
        return Pair(*(x if _is_0(x) else function(x) for x in (self.re, self.im)))

    def conj(self) -> "Pair":
        return Pair(self.re, _minus(0, self.im))

    def product(self, other: Any, of: Callable[[Any, Any], Any]) -> "Pair":
        """Of two complex values by any bilinear function."""
        x, y = self, Pair.of(other)

        def times(left: Any, right: Any) -> Any:
            return 0 if _is_0(left) or _is_0(right) else of(left, right)

        return Pair(
            _minus(times(x.re, y.re), times(x.im, y.im)),
            _plus(times(x.re, y.im), times(x.im, y.re)),
        )

    def __mul__(self, other: Any) -> "Pair":
        return self.product(other, operator.mul)

    def __add__(self, other: Any) -> "Pair":
        other = Pair.of(other)
        return Pair(_plus(self.re, other.re), _plus(self.im, other.im))

    def __matmul__(self, other: Any) -> "Pair":
        return self.product(other, operator.matmul)


def _is_0(part: Any) -> bool:
    return not isinstance(part, fx.Proxy | torch.Tensor) and part == 0


def _plus(x: Any, y: Any) -> Any:
    return y if _is_0(x) else x if _is_0(y) else y + x if not isinstance(x, Real) else x + y


def _minus(x: Any, y: Any) -> Any:
    return x if _is_0(y) else -y if _is_0(x) else -y + x if not isinstance(x, Real) else x - y


def _is_tensor(x: Real) -> bool:
    return isinstance(x.val, torch.Tensor)


def _zeros(x: Real) -> Real:
    return torch.zeros_like(x)  # type: ignore[no-any-return]


# ---------------------------------------------------------------- rules
#
# A rule takes the writer and the operator's arguments: a Pair for a complex tensor or number, a
# Real for a real tensor or a size. It returns a Pair or a Real.

Rule: TypeAlias = Callable[..., Any]


def by_parts(*values: str, target: Any = None) -> Rule:
    """Given:  f(a + ib)
    Result: f(a) + i f(b)

    values: the arguments that are complex values even where a real tensor or number is passed,
        by their names in the schema; `self` always is one.
    target: the operator to call, if not the same.
    """

    def rule(write: Writer, *args: Any, **kwargs: Any) -> Pair:
        called = target or write.node.target
        schema = getattr(write.node.target, "_schema", None)
        names = [argument.name for argument in schema.arguments] if schema else []
        names += [""] * len(args)

        def part(which: int) -> Any:
            def of(name: str, value: Any) -> Any:
                if isinstance(value, torch.dtype):
                    return value.to_real()
                if isinstance(value, Pair):
                    return (value.re, value.im)[which]
                if name not in ("self", *values) or which == 0:
                    return value
                return _zeros(value) if isinstance(value, Real) and _is_tensor(value) else 0

            def all_of(name: str, value: Any) -> Any:
                if isinstance(value, (list, tuple)):
                    return [of(name, each) for each in value]
                return of(name, value)

            return write(
                called,
                *(all_of(name, value) for name, value in zip(names, args, strict=False)),
                **{name: all_of(name, value) for name, value in kwargs.items()},
            )

        return Pair(part(0), part(1))

    return rule


def by_real_part(write: Writer, z: Pair, *args: Any, **kwargs: Any) -> Real:
    return write(write.node.target, z.re, *args, **kwargs)  # type: ignore[no-any-return]


def by_magnitude(write: Writer, z: Pair, *args: Any, **kwargs: Any) -> Any:
    return write(write.node.target, magnitude(write, z), *args, **kwargs)


def variance(write: Writer, z: Pair, *args: Any, **kwargs: Any) -> Any:
    of = functools.partial(write, aten.var.correction)
    return of(z.re, *args, **kwargs) + of(z.im, *args, **kwargs)


def deviation(write: Writer, z: Pair, *args: Any, **kwargs: Any) -> Any:
    return variance(write, z, *args, **kwargs).sqrt()


def either_part(write: Writer, z: Pair) -> Any:
    target = write.node.target
    return torch.logical_or(write(target, z.re), write(target, z.im))


def ones(write: Writer, *args: Any, **kwargs: Any) -> Pair:
    re = by_parts()(write, *args, **kwargs).re
    return Pair(re, _zeros(re))


def to_copy(write: Writer, z: Any, *, dtype: torch.dtype | None = None, **kwargs: Any) -> Any:
    if dtype is None or dtype.is_complex:
        return by_parts()(write, z, dtype=dtype, **kwargs)
    if dtype is torch.bool:
        return torch.logical_or(z.re != 0, z.im != 0)
    return write(aten._to_copy.default, z.re, dtype=dtype, **kwargs)


def no_value(write: Writer, *args: Any, **kwargs: Any) -> None:
    """An assertion about a complex tensor, which is true."""


def view_as_complex(write: Writer, x: Real) -> Pair:
    return Pair(x.select(-1, 0), x.select(-1, 1))


def view_as_real(write: Writer, z: Pair) -> Any:
    return torch.stack([z.re, z.im], -1)


def view_dtype(write: Writer, z: Any, dtype: torch.dtype) -> Any:
    """Real and imaginary parts lie side by side in the last dimension."""
    if isinstance(z, Pair):
        return view_as_real(write, z).flatten(-2)
    return view_as_complex(write, z.unflatten(-1, [-1, 2]))


def polar(write: Writer, magnitude: Real, angle: Real) -> Pair:
    return Pair(magnitude * angle.cos(), magnitude * angle.sin())


def conj(write: Writer, z: Pair) -> Pair:
    return z.conj()


def magnitude(write: Writer, z: Pair) -> Any:
    """Scaled by the greater part: squares would overflow."""
    re, im = z.re.abs(), z.im.abs()
    great, small = torch.maximum(re, im), torch.minimum(re, im)
    ratio = (small / great).masked_fill(small == great, 1.0)
    return great * (ratio * ratio + 1.0).sqrt()


def angle(write: Writer, z: Pair) -> Any:
    return torch.atan2(z.im, z.re)


def sgn(write: Writer, z: Pair) -> Pair:
    size = magnitude(write, z)
    return z.map(lambda part: (part / size).masked_fill(size == 0, 0.0))


def add(write: Writer, x: Any, y: Any, *, alpha: Any = 1) -> Pair:
    if alpha != 1:
        y = Pair.of(y) * alpha
    return by_parts("other", target=aten.add.Tensor)(write, x, y)  # type: ignore[no-any-return]


def sub(write: Writer, x: Any, y: Any, *, alpha: Any = 1) -> Pair:
    if alpha != 1:
        y = Pair.of(y) * alpha
    return by_parts("other", target=aten.sub.Tensor)(write, x, y)  # type: ignore[no-any-return]


def mul(write: Writer, x: Any, y: Any) -> Pair:
    return Pair.of(x) * y  # type: ignore[no-any-return]


def div(write: Writer, x: Any, y: Any) -> Pair:
    """Scaled by the divisor's greater part: squares would overflow."""
    x = Pair.of(x)
    if isinstance(y, Pair) and not isinstance(y.re, Real):
        number = 1 / complex(y.re, y.im)
        return x * Pair(number.real, number.imag)  # type: ignore[no-any-return]
    if not isinstance(y, Pair):
        return x.map(lambda part: part / y)  # type: ignore[no-any-return]
    great = torch.maximum(y.re.abs(), y.im.abs())
    c, d = y.re / great, y.im / great
    size = c * c + d * d
    quotient = (x * Pair(c, d).conj()).map(lambda part: part / size / great)
    # By zero: eager divides each part.
    return Pair(
        *(
            torch.where(great == 0, great.reciprocal() * by_0, part)
            for part, by_0 in ((quotient.re, x.re), (quotient.im, x.im))
        )
    )


def reciprocal(write: Writer, z: Pair) -> Pair:
    return div(write, 1.0, z)


def sqrt(write: Writer, z: Pair) -> Pair:
    """The root with a real part that is not negative; nothing cancels."""
    far = (magnitude(write, z) * 0.5 + z.re.abs() * 0.5).sqrt()
    near = (z.im.abs() / (far * 2.0)).masked_fill(far == 0, 0.0)
    left = z.re < 0
    below = torch.logical_or(z.im < 0, z.im.reciprocal() < 0)  # -0 lies below, too
    im = torch.where(left, far, near)
    return Pair(torch.where(left, near, far), torch.where(below, -im, im))


def rsqrt(write: Writer, z: Pair) -> Pair:
    return reciprocal(write, sqrt(write, z))


def exp(write: Writer, z: Pair) -> Pair:
    return polar(write, z.re.exp(), z.im)


def expm1(write: Writer, z: Pair) -> Pair:
    """cos - 1 as -2 sin² of the half: nothing cancels near 0."""
    half = (z.im * 0.5).sin()
    return Pair(
        z.re.expm1() * z.im.cos() - half * half * 2.0,
        z.re.exp() * z.im.sin(),
    )


def log(write: Writer, z: Pair) -> Pair:
    return Pair(magnitude(write, z).log(), angle(write, z))


def log_to(base: float) -> Rule:
    return lambda write, z: log(write, z) * (1 / math.log(base))


def sin(write: Writer, z: Pair) -> Pair:
    return Pair(z.re.sin() * z.im.cosh(), z.re.cos() * z.im.sinh())


def cos(write: Writer, z: Pair) -> Pair:
    return Pair(z.re.cos() * z.im.cosh(), -(z.re.sin() * z.im.sinh()))


def sinh(write: Writer, z: Pair) -> Pair:
    return Pair(z.re.sinh() * z.im.cos(), z.re.cosh() * z.im.sin())


def cosh(write: Writer, z: Pair) -> Pair:
    return Pair(z.re.cosh() * z.im.cos(), z.re.sinh() * z.im.sin())


def tanh(write: Writer, z: Pair) -> Pair:
    """In powers of exp(-2|re|), which cannot overflow."""
    decay = (z.re.abs() * -2.0).exp()
    twice = z.im * 2.0
    size = decay * decay + 1.0 + decay * twice.cos() * 2.0
    rise = -(z.re.abs() * -4.0).expm1()
    re = torch.where(z.re < 0, -rise, rise)
    return Pair(re / size, decay * twice.sin() * 2.0 / size)


def sigmoid(write: Writer, z: Pair) -> Pair:
    return tanh(write, z * 0.5) * 0.5 + 0.5


def power(write: Writer, z: Any, exponent: Any) -> Pair:
    """Small whole powers by products; others through the logarithm."""
    if not isinstance(exponent, (Pair, Real)):
        if exponent in (0.5, -0.5):
            return (sqrt if exponent > 0 else rsqrt)(write, z)
        if abs(exponent) <= 32 and float(exponent).is_integer():
            return _whole_power(write, z, int(exponent))
    if isinstance(z, (Pair, Real)):
        z = z if isinstance(z, Pair) else Pair(z, _zeros(z))
        if isinstance(z.re, Real):
            return exp(write, log(write, z) * exponent)
        z = complex(z.re, z.im)
    logarithm = cmath.log(z)
    return exp(write, Pair.of(exponent) * Pair(logarithm.real, logarithm.imag))


def _whole_power(write: Writer, z: Pair, exponent: int) -> Pair:
    if exponent < 0:
        return reciprocal(write, _whole_power(write, z, -exponent))
    if exponent == 0:
        return Pair(torch.ones_like(z.re), _zeros(z.re))
    half = _whole_power(write, z, exponent // 2) if exponent > 1 else Pair(1, 0)
    square = half * half if exponent > 1 else half
    return z * square if exponent % 2 else square


def square(write: Writer, z: Pair) -> Pair:
    return z * z


def equal(write: Writer, x: Any, y: Any) -> Any:
    same = by_parts("other")(write, x, y)
    return torch.logical_and(same.re, same.im)


def differ(write: Writer, x: Any, y: Any) -> Any:
    other = by_parts("other")(write, x, y)
    return torch.logical_or(other.re, other.im)


def bilinear(write: Writer, x: Pair, y: Pair) -> Pair:
    return Pair.of(x).product(y, functools.partial(write, write.node.target))


def linear(write: Writer, x: Pair, weight: Pair, bias: Pair | None = None) -> Pair:
    product = bilinear(write, x, weight)
    return product if bias is None else product + bias


def add_product(of: Any) -> Rule:
    def rule(write: Writer, x: Pair, y: Pair, z: Pair, *, beta: Any = 1, alpha: Any = 1) -> Pair:
        product = y.product(z, functools.partial(write, of)) * alpha
        return product + x * beta if beta != 0 else product  # type: ignore[no-any-return]

    return rule


def unfold_backward(
    write: Writer, x: Real, sizes: Sequence[Any], dim: int, size: int, step: int
) -> Any:
    """Overlapping pieces added up, as the inverse of a short-time Fourier transform does."""
    dim %= len(sizes)
    pieces = x.movedim(dim, -2)
    count = write(aten.sym_size.int, pieces, pieces.val.dim() - 2)
    starts = write(aten.arange.default, count, device=x.val.device) * step
    places = starts.unsqueeze(-1) + write(aten.arange.default, size, device=x.val.device)
    rest = [each for index, each in enumerate(sizes) if index != dim]
    zeros = write(
        aten.full.default, [*rest, sizes[dim]], 0.0, dtype=x.val.dtype, device=x.val.device
    )
    leading = [None] * len(rest)
    total = write(aten.index_put.default, zeros, [*leading, places], pieces, True)
    return total.movedim(-1, dim)


def neg_view(write: Writer, x: Real) -> Any:
    return -x


# ---------------------------------------------------------------- Fourier transforms


def fft_c2c(write: Writer, z: Pair, dims: Sequence[int], norm: int, forward: bool) -> Pair:
    n = [_size(write, z.re, dim) for dim in dims]
    for dim in dims:
        z = _along(dim, z, lambda last: _transform(write, last, -1 if forward else 1))
    return _scaled(write, z, n, norm)


def fft_r2c(write: Writer, x: Real, dims: Sequence[int], norm: int, onesided: bool) -> Pair:
    """onesided: the first n // 2 + 1 points of the last dimension of `dims`."""
    n = [_size(write, x, dim) for dim in dims]
    half = n[-1] // 2 + 1 if onesided else n[-1]
    z = _along(dims[-1], Pair(x, 0), lambda last: _transform(write, last, -1, half))
    for dim in dims[:-1]:
        z = _along(dim, z, lambda last: _transform(write, last, -1))
    return _scaled(write, z, n, norm)


def fft_c2r(write: Writer, z: Pair, dims: Sequence[int], norm: int, n: Any) -> Any:
    """The other half of the points is conjugate: each of the first counts twice but those that
    are their own partners.
    """
    sizes = [_size(write, z.re, dim) for dim in dims[:-1]]
    for dim in dims[:-1]:
        z = _along(dim, z, lambda last: _transform(write, last, 1))
    half = n // 2 + 1
    k = _arange(write, half, z.re.val)
    weights = _minus(2, (k == 0) * 1 + (k * 2 == n) * 1)
    z = Pair(*(part.transpose(dims[-1], -1) * weights for part in (z.re, z.im)))
    x = _transform(write, z, 1, n, n).re.transpose(dims[-1], -1)
    return _scaled(write, Pair(x, 0), [*sizes, n], norm).re


def _along(dim: int, z: Pair, transform: Callable[[Pair], Pair]) -> Pair:
    rank = (z.im if _is_0(z.re) else z.re).val.dim()
    if dim % rank == rank - 1:
        return transform(z)
    return transform(z.map(lambda x: x.transpose(dim, -1))).map(lambda x: x.transpose(dim, -1))


def _transform(write: Writer, z: Pair, sign: int, points: Any = None, n: Any = None) -> Pair:
    """Sums of exp(sign 2πi j k / n) z[j] over the last dimension, for k < points.

    points, n: by default the number of j.
    """
    length = _size(write, z.re, -1)
    n = length if n is None else n
    points = n if points is None else points
    static = all(isinstance(size, int) for size in (length, n, points))
    divisor = _divisor(n) if static and n > _DENSE else 0
    if not divisor or (divisor == 1 and not write.constants):
        return z @ _roots(write, z.re.val, length, points, n, sign)
    if length < n:
        z = z.map(lambda x: torch.constant_pad_nd(x, [0, n - length]))
    z = _split(write, z, sign, divisor, n) if divisor > 1 else _by_chirp(write, z, sign, n)
    return z.map(lambda x: x.narrow(-1, 0, points)) if points < n else z


def _divisor(n: int) -> int:
    """The greatest up to the root; 1 of a prime."""
    return next(d for d in range(math.isqrt(n), 0, -1) if n % d == 0)


def _split(write: Writer, z: Pair, sign: int, a: int, n: int) -> Pair:
    """n = a b: transforms of a points, turns, transforms of b points."""
    b = n // a
    z = z.map(lambda x: x.unflatten(-1, [a, b]).transpose(-1, -2))
    z = _transform(write, z, sign) * _roots(write, z.re.val, b, a, n, sign)
    z = _transform(write, z.map(lambda x: x.transpose(-1, -2)), sign)
    return z.map(lambda x: x.transpose(-1, -2).flatten(-2))


def _by_chirp(write: Writer, z: Pair, sign: int, n: int) -> Pair:
    """n is prime: 2 j k = j² + k² - (k - j)² makes it a convolution, of any length that fits."""
    m = 1 << (2 * n - 1).bit_length()
    chirp, filter_ = write.table(_chirp, n, m, sign, z.re.val.dtype)
    padded = (z * chirp).map(lambda x: torch.constant_pad_nd(x, [0, m - n]))
    product = _transform(write, padded, -1) * filter_
    return _transform(write, product, 1).map(lambda x: x.narrow(-1, 0, n)) * chirp  # type: ignore[no-any-return]


def _chirp(n: int, m: int, sign: int, dtype: torch.dtype) -> tuple[Pair, Pair]:
    """exp(sign πi j² / n) for j < n, and the transform of its inverse at -n < j < n over m."""
    j = torch.arange(n)
    angles = (j * j % (2 * n)).double() * (sign * math.pi / n)
    chirp = torch.polar(torch.ones_like(angles), angles)
    inverse = torch.zeros(m, dtype=torch.complex128)
    inverse[:n] = chirp.conj()
    inverse[m - n + 1 :] = chirp.conj()[1:].flip(0)
    return _parts(chirp, dtype), _parts(torch.fft.fft(inverse) / m, dtype)


def _parts(table: torch.Tensor, dtype: torch.dtype) -> Pair:
    return Pair(table.real.to(dtype), table.imag.to(dtype))


def _roots(write: Writer, like: torch.Tensor, rows: Any, columns: Any, n: Any, sign: int) -> Pair:
    """exp(sign 2πi j k / n), rows × columns: a constant if the sizes are known."""
    if write.constants and all(isinstance(size, int) for size in (rows, columns, n)):
        return write.table(_root_table, rows, columns, n, sign, like.dtype)  # type: ignore[no-any-return]
    turns = _arange(write, rows, like).unsqueeze(-1) * _arange(write, columns, like) % n
    # From the remainder, which is exact: the angle of j k itself would not be.
    angles = turns.to(like.dtype) * (2 * math.pi) / _as_tensor(write, n, like)
    return Pair(angles.cos(), angles.sin() * sign)


def _root_table(rows: int, columns: int, n: int, sign: int, dtype: torch.dtype) -> Pair:
    turns = torch.outer(torch.arange(rows), torch.arange(columns)) % n
    angles = turns.double() * (sign * 2 * math.pi / n)
    return Pair(angles.cos().to(dtype), angles.sin().to(dtype))


def _scaled(write: Writer, z: Pair, sizes: Sequence[Any], norm: int) -> Pair:
    """norm: 0 as it is, 1 by the root of the number of points, 2 by the number."""
    if norm == 0:
        return z
    points = functools.reduce(operator.mul, sizes)
    if isinstance(points, int):
        return z * (1 / (math.sqrt(points) if norm == 1 else points))
    divisor = _as_tensor(write, points, z.re.val)
    return div(write, z, divisor.sqrt() if norm == 1 else divisor)


def _size(write: Writer, x: Real, dim: int) -> Any:
    """A number, or a size of the program."""
    dim %= x.val.dim()
    size = x.val.shape[dim]
    return size if isinstance(size, int) else write(aten.sym_size.int, x, dim)


def _arange(write: Writer, end: Any, like: torch.Tensor) -> Any:
    return write(aten.arange.default, end, device=like.device)


def _as_tensor(write: Writer, size: Any, like: torch.Tensor) -> Any:
    return write(aten.full.default, [], size, dtype=like.dtype, device=like.device)


# ---------------------------------------------------------------- the table

_view = by_parts(target=aten.reshape.default)  # parts need not have the strides of the whole

RULES: Mapping[Any, Rule] = {
    **dict.fromkeys((aten.view.default, aten.reshape.default, aten._unsafe_view.default), _view),
    **dict.fromkeys(
        (
            *(aten.alias.default, aten.clone.default, aten.detach.default),
            *(aten.lift_fresh_copy.default, aten.expand.default, aten.permute.default),
            *(aten.t.default, aten.transpose.int, aten.squeeze.default, aten.squeeze.dim),
            *(aten.squeeze.dims, aten.unsqueeze.default),
            *(aten.select.int, aten.slice.Tensor, aten.narrow.default, aten.diagonal.default),
            *(aten.unfold.default, aten.flip.default, aten.roll.default, aten.repeat.default),
            *(aten.split.Tensor, aten.split_with_sizes.default, aten.unbind.int, operator.getitem),
            *(aten.tril.default, aten.triu.default, aten.diag_embed.default),
            *(aten.index.Tensor, aten.index_select.default, aten.gather.default),
            *(aten.embedding.default, aten.neg.default, aten.cumsum.default),
            *(aten.sum.default, aten.sum.dim_IntList, aten.mean.default, aten.mean.dim),
            *(aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default),
            *(aten.empty.memory_format, aten.empty_like.default, aten.new_empty.default),
        ),
        by_parts(),
    ),
    **dict.fromkeys(
        (aten.ones.default, aten.ones_like.default, aten.new_ones.default, aten.eye.default), ones
    ),
    **dict.fromkeys(
        (aten.full.default, aten.full_like.default, aten.new_full.default), by_parts("fill_value")
    ),
    aten.scalar_tensor.default: by_parts("s"),
    **dict.fromkeys(
        (
            *(aten.fill.Scalar, aten.fill.Tensor, aten.constant_pad_nd.default),
            *(aten.masked_fill.Scalar, aten.masked_fill.Tensor, aten.scatter.value),
        ),
        by_parts("value"),
    ),
    **dict.fromkeys(
        (
            *(aten.copy.default, aten.slice_scatter.default, aten.select_scatter.default),
            *(aten.scatter.src, aten.scatter_add.default),
        ),
        by_parts("src"),
    ),
    **dict.fromkeys((aten.cat.default, aten.stack.default), by_parts("tensors")),
    aten.index_put.default: by_parts("values"),
    **dict.fromkeys((aten.index_add.default, aten.index_copy.default), by_parts("source")),
    **dict.fromkeys((aten.where.self, aten.where.ScalarOther), by_parts("other")),
    **dict.fromkeys((aten.where.Scalar, aten.where.ScalarSelf), by_parts("self", "other")),
    aten._to_copy.default: to_copy,
    aten._assert_tensor_metadata.default: no_value,
    **dict.fromkeys((aten.sym_size.int, aten.sym_numel.default), by_real_part),
    aten.view_as_complex.default: view_as_complex,
    aten.view_as_real.default: view_as_real,
    aten.view.dtype: view_dtype,
    aten.complex.default: lambda write, re, im: Pair(re, im),
    aten.polar.default: polar,
    aten.real.default: lambda write, z: z.re,
    aten.imag.default: lambda write, z: z.im,
    **dict.fromkeys((aten._conj.default, aten.conj_physical.default), conj),
    aten._conj_physical.default: conj,
    aten._neg_view.default: neg_view,
    aten.abs.default: magnitude,
    aten.angle.default: angle,
    aten.sgn.default: sgn,
    **dict.fromkeys((aten.linalg_vector_norm.default, aten.norm.Scalar), by_magnitude),
    **dict.fromkeys((aten.norm.ScalarOpt_dim, aten.norm.ScalarOpt_dim_dtype), by_magnitude),
    aten.var.correction: variance,
    aten.std.correction: deviation,
    **dict.fromkeys((aten.isnan.default, aten.isinf.default), either_part),
    **dict.fromkeys((aten.eq.Tensor, aten.eq.Scalar), equal),
    **dict.fromkeys((aten.ne.Tensor, aten.ne.Scalar), differ),
    **dict.fromkeys((aten.add.Tensor, aten.add.Scalar), add),
    **dict.fromkeys((aten.sub.Tensor, aten.sub.Scalar), sub),
    **dict.fromkeys((aten.rsub.Tensor, aten.rsub.Scalar), by_parts("other")),
    **dict.fromkeys((aten.mul.Tensor, aten.mul.Scalar), mul),
    **dict.fromkeys((aten.div.Tensor, aten.div.Scalar), div),
    **dict.fromkeys((aten.pow.Tensor_Scalar, aten.pow.Tensor_Tensor, aten.pow.Scalar), power),
    aten.square.default: square,
    aten.reciprocal.default: reciprocal,
    aten.sqrt.default: sqrt,
    aten.rsqrt.default: rsqrt,
    aten.exp.default: exp,
    aten.expm1.default: expm1,
    aten.log.default: log,
    aten.log2.default: log_to(2),
    aten.log10.default: log_to(10),
    aten.sin.default: sin,
    aten.cos.default: cos,
    aten.sinh.default: sinh,
    aten.cosh.default: cosh,
    aten.tanh.default: tanh,
    aten.sigmoid.default: sigmoid,
    **dict.fromkeys((aten.matmul.default, aten.mm.default, aten.bmm.default), bilinear),
    **dict.fromkeys((aten.dot.default, aten.mv.default), bilinear),
    aten.linear.default: linear,
    aten.addmm.default: add_product(aten.mm.default),
    aten.baddbmm.default: add_product(aten.bmm.default),
    aten.unfold_backward.default: unfold_backward,
    aten._fft_c2c.default: fft_c2c,
    aten._fft_r2c.default: fft_r2c,
    aten._fft_c2r.default: fft_c2r,
}

# Of real numbers alone, and yet only complex ones bring them.
_BROUGHT = (aten._neg_view.default, aten.unfold_backward.default)
# Complex ones are hidden in it until it is decomposed, even where it returns pairs.
_HIDING = (aten.stft.default, aten.stft.center)

# ---------------------------------------------------------------- the program


def write_complex_out(name: str, program: ExportedProgram) -> ExportedProgram:
    """
    Given:  a program that computes with complex numbers
    Result: one in which each is a pair of real ones, complex buffers and constants included;
            `program` itself where there is no complex number

    name: the method's.
    Raises LoweringError with a row for each input and output that is complex and each operator
    that has no rule.
    """
    if not any(_has_complex(node) for node in _nodes(program)):
        return program
    with stage("writing complex numbers out", name):
        program = _decomposed(program)
        _refuse(name, program)
        return _rewrite(program)


def _nodes(program: ExportedProgram) -> Iterator[fx.Node]:
    for module in graph_modules(program.graph_module):
        yield from module.graph.nodes


def _is_complex(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_complex()


def _has_complex(node: fx.Node) -> bool:
    return node.target in _HIDING or any(
        _is_complex(leaf) for leaf in pytree.tree_leaves(node.meta.get("val"))
    )


def _touches_complex(node: fx.Node) -> bool:
    return any(_has_complex(each) for each in (node, *node.all_input_nodes))


def _decomposed(program: ExportedProgram) -> ExportedProgram:
    """Functional, and what has no rule decomposed, as long as that leads further."""
    defaults = torch.export.default_decompositions()
    table: dict[Any, Callable[..., Any]] = {}
    while True:
        with _roots_of_sizes():
            program = program.run_decompositions(dict(table))
        LetViewsCopy()(program.graph_module)  # what is decomposed may get other strides
        new = {node.target for node in _without_rule(program)} & defaults.keys() - table.keys()
        if not new:
            return program
        table |= {target: defaults[target] for target in new}


@contextlib.contextmanager
def _roots_of_sizes() -> Iterator[None]:
    """While decomposing, the root of a dynamic size is one: torch makes it the example's size."""
    original = transforms._apply_norm

    def apply_norm(x: Any, norm: Any, signal_numel: Any, forward: bool) -> Any:
        if norm != "ortho" or not isinstance(signal_numel, torch.SymInt):
            return original(x, norm, signal_numel, forward)
        points = torch.full((), signal_numel, dtype=x.dtype.to_real(), device=x.device)
        return x / points.sqrt()

    transforms._apply_norm = apply_norm
    try:
        yield
    finally:
        transforms._apply_norm = original


def _without_rule(program: ExportedProgram) -> Iterator[fx.Node]:
    for node in _nodes(program):
        known = node.target in RULES or isinstance(node.target, torch._ops.HigherOrderOperator)
        if node.op == "call_function" and not known and _touches_complex(node):
            yield node


def _refuse(name: str, program: ExportedProgram) -> None:
    rows = []

    def refuse(node: fx.Node, operator: str, reason: str, remedy: str) -> None:
        line = source_line(node)
        rows.append(Row(name, operator, node.name, line, False, "", reason, remedy))

    for node in program.graph.find_nodes(op="placeholder"):
        if node.name in program.graph_signature.user_inputs and _has_complex(node):
            reason = f"the input is {node.meta['val'].dtype}, and programs take real numbers"
            refuse(node, "", reason, f"pass torch.view_as_real({node.name})")
    results = dict(zip(program.graph.output_node().args[0], program.graph_signature.output_specs))
    for node, spec in results.items():
        if spec.kind is OutputKind.USER_OUTPUT and isinstance(node, fx.Node) and _has_complex(node):
            reason = f"the output is {node.meta['val'].dtype}, and programs return real numbers"
            refuse(node, operator_name(node), reason, "return torch.view_as_real of it")
    for node in _without_rule(program):
        reason = "no rule writes this operator with real numbers"
        refuse(node, operator_name(node), reason, "write it with torch.view_as_real")
    if rows:
        raise LoweringError(f"'{name}' has complex numbers where they cannot be replaced:", rows)


def _rewrite(program: ExportedProgram) -> ExportedProgram:
    """In place, but for the program's tables."""
    module, signature = program.graph_module, program.graph_signature
    mode = detect_fake_mode([node.meta.get("val") for node in program.graph.nodes])
    for each in graph_modules(module):
        # A body's constants would have to be its operands.
        pairs = _Rewriter(each, mode, constants=each is module).run()
    names = {
        node.name: [part.node.name for part in (pair.re, pair.im)] for node, pair in pairs.items()
    }
    state, constants = dict(program.state_dict), dict(program.constants)
    targets = _split_state(signature, names, state, constants)

    inputs: list[InputSpec] = []
    for spec in signature.input_specs:
        parts = names.get(getattr(spec.arg, "name", ""), ())
        inputs += [
            InputSpec(spec.kind, TensorArgument(part), target, spec.persistent)
            for part, target in zip(parts, targets.get(spec.target, ()))
        ] or [spec]
    outputs: list[OutputSpec] = []
    for result in signature.output_specs:
        parts = names.get(getattr(result.arg, "name", ""), ())
        outputs += [
            OutputSpec(result.kind, TensorArgument(part), target)
            for part, target in zip(parts, targets.get(result.target, ()))
        ] or [result]
    signature = ExportGraphSignature(inputs, outputs)
    values = module.graph.output_node().args[0]
    for result, value in zip(signature.output_specs, values, strict=True):  # they may be new nodes
        if isinstance(result.arg, TensorArgument):
            result.arg = TensorArgument(value.name)
    constants |= lift_constants_pass(module, signature, ConstantAttrMap())
    module.recompile()
    return ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=signature,
        state_dict=state,
        range_constraints=program.range_constraints,
        module_call_graph=program.module_call_graph,
        example_inputs=program.example_inputs,
        constants=constants,
        verifiers=program.verifiers,
    )


def _split_state(
    signature: ExportGraphSignature,
    names: Mapping[str, Any],
    state: dict[str, Any],
    constants: dict[str, Any],
) -> dict[str | None, list[str]]:
    """Real and imaginary parts instead of complex tensors; their names by the old one's."""
    targets: dict[str | None, list[str]] = {}
    for spec in signature.input_specs:
        if getattr(spec.arg, "name", "") not in names or spec.target in targets:
            continue
        assert spec.target is not None
        home = state if spec.target in state else constants
        whole = home.pop(spec.target)
        targets[spec.target] = []
        for part, suffix in ((whole.real, "real"), (whole.imag, "imag")):
            target = f"{spec.target}_{suffix}"
            while target in state or target in constants:
                target += "_"
            part = part.detach().clone(memory_format=torch.contiguous_format)
            if spec.kind is InputKind.PARAMETER:
                part = torch.nn.Parameter(part, requires_grad=whole.requires_grad)
            home[target] = part
            targets[spec.target].append(target)
    return targets


class _Rewriter:
    """Rewrites one graph; calls of bodies pass and return both parts, one after the other."""

    def __init__(self, module: fx.GraphModule, mode: Any, constants: bool) -> None:
        self._module = module
        self._mode = mode
        self._write = Writer(module.graph, mode, constants)
        self._pairs: dict[fx.Node, Pair] = {}
        self._stacked: dict[fx.Node, Pair] = {}  # by the result of view_as_real
        self._calls: dict[fx.Node, tuple[fx.Node, list[int]]] = {}  # new one, starts of results

    def run(self) -> dict[fx.Node, Pair]:
        """The pairs of the graph's complex nodes, which are gone."""
        graph = self._module.graph
        nodes = list(graph.nodes)
        for node in nodes:  # torch.export renames inputs, and does not tell the graph
            graph._graph_namespace.create_name(node.name, None)
        changed: set[fx.Node] = set()
        for node in nodes:
            self._write.node = node
            if node.op in ("placeholder", "get_attr"):
                if _has_complex(node):
                    self._pairs[node] = self._source(node)
            elif node.op == "output":
                if not isinstance(node.args[0], fx.Node):  # else a loop's condition
                    node.args = (self._flat(node.args[0]),)
            elif node.target is operator.getitem and node.args[0] in self._calls:
                self._select(node)
            elif isinstance(node.target, torch._ops.HigherOrderOperator):
                if _touches_complex(node):
                    self._call(node)
            elif node.target in _BROUGHT or _touches_complex(node):
                result = self._apply(node)
                if isinstance(result, Pair):
                    self._pairs[node] = result
                elif result is not None:
                    if _layout(result.val) != _layout(node.meta["val"]):
                        changed.update(node.users)
                    node.replace_all_uses_with(result.node)
            elif node.target is aten.select.int:
                self._take_part(node)
        gone = {node for node in nodes if _touches_complex(node)}
        for node in reversed(nodes):
            if node in gone or node in self._calls:
                graph.erase_node(node)
        graph.eliminate_dead_code()
        propagate_metadata(self._module, [node for node in changed if not node._erased])
        graph.lint()
        self._module.recompile()
        return self._pairs

    def _source(self, node: fx.Node) -> Pair:
        """Two inputs, or two tensors, for one."""

        def part(suffix: str) -> Real:
            name = f"{node.target}_{suffix}"
            if node.op == "get_attr":
                whole = attribute(self._module, str(node.target))
                self._module.register_buffer(name, getattr(whole, suffix).contiguous())
            with node.graph.inserting_before(node):
                new = node.graph.create_node(node.op, name, name=f"{node.name}_{suffix}")
            new.target = new.name if node.op == "placeholder" else name
            new.meta = {**node.meta, "val": self._part_of(node.meta["val"])}
            return Real(new, self._write)

        return Pair(part("real"), part("imag"))

    def _part_of(self, value: torch.Tensor) -> torch.Tensor:
        with self._mode:
            dtype = value.dtype.to_real()
            return torch.empty_like(value, dtype=dtype, memory_format=torch.contiguous_format)

    def _apply(self, node: fx.Node) -> Any:
        def operand(value: Any) -> Any:
            if isinstance(value, fx.Node):
                return self._pairs.get(value) or Real(value, self._write)
            return Pair(value.real, value.imag) if isinstance(value, complex) else value

        stacked = self._stacked.get(node.args[0]) if node.args else None
        if stacked and node.target is aten.view_as_complex.default:
            return stacked
        if stacked and node.target is aten._neg_view.default:
            return self._stack(stacked.map(operator.neg))
        args, kwargs = pytree.tree_map(operand, (node.args, node.kwargs))
        if node.target is aten.view_as_real.default:
            return self._stack(args[0])
        result = RULES[node.target](self._write, *args, **kwargs)
        return _settled(self._write, result, node.meta.get("val"))

    def _stack(self, pair: Pair) -> Any:
        result = view_as_real(self._write, pair)
        self._stacked[result.node] = pair
        return result

    def _take_part(self, node: fx.Node) -> None:
        """
        Given:  y = aten.select(aten.stack([re, im], -1), -1, 0)
        Result: y = re
        """
        stacked = self._stacked.get(node.args[0])  # type: ignore[arg-type]
        if stacked is not None and node.args[1] in (-1, node.meta["val"].dim()):
            node.replace_all_uses_with((stacked.re, stacked.im)[node.args[2]].node)

    def _call(self, node: fx.Node) -> None:
        """Operands, and results, of a body that is rewritten in the same way."""
        with node.graph.inserting_before(node):
            new = node.graph.call_function(node.target, tuple(self._flat(node.args)), node.kwargs)
        values: list[Any] = []
        starts = []
        for value in node.meta["val"]:
            starts.append(len(values))
            values += [self._part_of(value)] * 2 if _is_complex(value) else [value]
        new.meta = {**node.meta, "val": tuple(values)}
        self._calls[node] = new, starts

    def _select(self, node: fx.Node) -> None:
        new, starts = self._calls[node.args[0]]  # type: ignore[index]
        start = starts[node.args[1]]  # type: ignore[index]
        if _has_complex(node):
            parts = [self._write(operator.getitem, new, start + which) for which in range(2)]
            self._pairs[node] = Pair(*parts)
        else:
            node.replace_all_uses_with(self._write(operator.getitem, new, start).node)

    def _flat(self, values: Any) -> Any:
        flat: list[Any] = []
        for value in values:
            if isinstance(value, (list, tuple)):
                flat.append(self._flat(value))
            elif pair := self._pairs.get(value) if isinstance(value, fx.Node) else None:
                flat += [pair.re.node, pair.im.node]
            else:
                flat.append(value)
        return type(values)(flat)


def _settled(write: Writer, result: Any, value: Any) -> Any:
    """What a rule returned, as tensors of the dtype that the operator's result has."""
    if not isinstance(value, torch.Tensor) or result is None:
        return result
    dtype = value.dtype.to_real()

    def settled(part: Any) -> Any:
        return part if part.val.dtype == dtype else write(aten._to_copy.default, part, dtype=dtype)

    if not isinstance(result, Pair):
        return settled(result)
    like = result.re if isinstance(result.re, Real) else result.im
    parts = (
        part if isinstance(part, Real) else torch.full_like(like, part)
        for part in (result.re, result.im)
    )
    return Pair(*map(settled, parts))


def _layout(value: Any) -> Any:
    return value.stride() if isinstance(value, torch.Tensor) else None
