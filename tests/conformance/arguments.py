"""Arguments for operators: every dtype, rank, layout and size at which they are known to differ.

A family is a function of a Maker, which makes tensors of one dtype; it yields Samples.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import torch
from torch import Tensor

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
DTYPES = (*FLOATS, *INTEGERS, torch.bool)

NAN, INF = math.nan, math.inf
EDGES = (NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-3, 50.0, -200.0)
HUGE = 60000.0  # its double is no float16


@dataclasses.dataclass(frozen=True)
class Sample:
    """One call of an operator.

    label: unique among the samples of an operator and dtype.
    arguments, settings: what the operator is called with; tensors among the arguments, and in
        lists of them, are the program's inputs, the rest is part of the program.
    views: inputs, counted among all tensors, that the program itself transposes (first and last
        dimension), so that the operator sees a view.
    """

    label: str
    arguments: tuple[Any, ...]
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    views: frozenset[int] = frozenset()


class Maker:
    """Tensors of one dtype, from its own generator."""

    def __init__(self, dtype: torch.dtype, seed: int, n: int = 4) -> None:
        self.dtype = dtype
        self.n = n  # a size that dynamic samples vary
        self._generator = torch.Generator().manual_seed(seed)

    @property
    def floating(self) -> bool:
        return self.dtype.is_floating_point

    def __call__(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Ordinary values, negative ones and repeated integers among them."""
        dtype = dtype or self.dtype
        if dtype.is_floating_point:
            return (torch.randn(shape, generator=self._generator) * 2).to(dtype)
        low = 0 if dtype in (torch.uint8, torch.bool) else -4
        return self.integers(low, 2 if dtype == torch.bool else 6, shape, dtype)

    def integers(
        self, low: int, high: int, shape: Iterable[int], dtype: torch.dtype = torch.int64
    ) -> Tensor:
        return torch.randint(low, high, tuple(shape), generator=self._generator).to(dtype)

    def positive(self, *shape: int) -> Tensor:
        """At least 1 (True for bool)."""
        if self.floating:
            return (torch.rand(shape, generator=self._generator) * 3 + 1).to(self.dtype)
        return self.integers(1, 2 if self.dtype == torch.bool else 5, shape, self.dtype)

    def mask(self, *shape: int) -> Tensor:
        return self.integers(0, 2, shape, torch.bool)

    def last(self, *shape: int) -> Tensor:
        """In channels-last order; shape has 4 or 5 dimensions."""
        order = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
        return self(*shape).to(memory_format=order)

    def edges(self) -> Tensor:
        """The values where implementations differ: NaN, infinities, zeros, ties, extremes."""
        if self.floating:
            # What is denormal in float16 overflows in the middle of eager's own computations.
            small = max(1e-7, torch.finfo(self.dtype).tiny)
            return torch.tensor((*EDGES, HUGE, -HUGE, small, 88.5), dtype=self.dtype)
        if self.dtype == torch.bool:
            return torch.tensor([True, False, True])
        info = torch.iinfo(self.dtype)
        few = [0, 1, 2, 3, 7, info.max, info.max // 2 + 1, info.min]
        return torch.tensor(few if info.min == 0 else [*few, -1, -2, -7], dtype=self.dtype)

    def pairs(self) -> tuple[Tensor, Tensor]:
        """Every edge beside every edge."""
        edges = self.edges()
        return edges.repeat_interleave(len(edges)), edges.repeat(len(edges))


Family: TypeAlias = Callable[[Maker], Iterator[Sample]]


def sample(label: str, *arguments: Any, views: Iterable[int] = (), **settings: Any) -> Sample:
    return Sample(label, arguments, settings, frozenset(views))


def settings(label: str, call: Iterable[Any], **named: Any) -> Sample:
    return Sample(label, tuple(call), named)


def _name(settings: tuple[Any, ...], named: dict[str, Any]) -> str:
    texts = [*map(str, settings), *(f"{key}={value}" for key, value in named.items())]
    return ", ".join(text.replace("torch.", "") for text in texts)


# --- elementwise ----------------------------------------------------------------------------------


def unary(make: Maker) -> Iterator[Sample]:
    yield sample("edges", make.edges())
    yield sample("scalar", make())
    yield sample("one", make(1))
    yield sample("matrix", make(3, 5))
    yield sample("view", make(2, 3, 4), views=[0])
    yield sample("channels last", make.last(2, 3, 4, 5))
    yield sample("rank 5", make(2, 1, 3, 2, 2))
    yield sample("empty", make(0, 3))


def with_settings(*choices: Any, **named: Any) -> Family:
    """unary, with these positional and named settings behind the tensor."""

    def family(make: Maker) -> Iterator[Sample]:
        for one in unary(make):
            yield dataclasses.replace(one, arguments=(*one.arguments, *choices), settings=named)

    return family


def binary(make: Maker) -> Iterator[Sample]:
    yield sample("edges", *make.pairs())
    yield sample("scalars", make(), make())
    yield sample("scalar on the right", make(3, 4), make())
    yield sample("broadcast", make(3, 1, 5), make(4, 1))
    yield sample("view and plain", make(3, 4), make(3, 4), views=[0])
    yield sample("channels last", make.last(2, 3, 4, 5), make.last(2, 3, 4, 5))
    yield sample("channels last and a row", make.last(1, 3, 2, 5), make(5))
    yield sample("rank 5", make(2, 1, 3, 2, 2), make(1, 2, 2))
    yield sample("empty", make(0, 3), make(3))
    yield sample("twice the same", *[make(4)] * 2)


def mixed(make: Maker) -> Iterator[Sample]:
    """binary, and operands of different dtypes."""
    yield from binary(make)
    for other in (torch.float32, torch.float16, torch.int64, torch.int8, torch.uint8, torch.bool):
        if other != make.dtype:
            name = str(other).removeprefix("torch.")
            yield sample(f"with {name}", make(3, 4), make(3, 4, dtype=other))
            yield sample(f"with a scalar of {name}", make(3, 4), make(dtype=other))


def division(make: Maker) -> Iterator[Sample]:
    """binary, but no integer divisor is 0, nor -1, by which the least integer kills eager."""
    for one in binary(make):
        left, right = one.arguments
        if not make.floating:
            bad = (right == 0) | (right == -1) if right.dtype.is_signed else right == 0
            right = torch.where(bad, torch.full_like(right, 3), right)
        yield dataclasses.replace(one, arguments=(left, right))


def with_number(*numbers: float) -> Family:
    """(tensor, number)"""

    def family(make: Maker) -> Iterator[Sample]:
        for number in numbers:
            yield sample(f"edges, {number}", make.edges(), number)
            yield sample(f"view, {number}", make(3, 4), number, views=[0])
            yield sample(f"channels last, {number}", make.last(1, 2, 3, 4), number)
        yield sample("scalar", make(), numbers[0])

    return family


def ternary(make: Maker) -> Iterator[Sample]:
    yield sample("vectors", make(5), make(5), make.positive(5))
    yield sample("scalars", make(), make(), make.positive())
    yield sample("broadcast", make(3, 1), make(4), make.positive(2, 1, 1))
    yield sample("view", make(3, 4), make(3, 4), make.positive(3, 4), views=[1])
    yield sample(
        "channels last", make.last(1, 2, 3, 4), make.last(1, 2, 3, 4), make.positive(1, 2, 1, 1)
    )


def choice(make: Maker) -> Iterator[Sample]:
    """(condition, tensor, tensor)"""
    edges = make.edges()
    yield sample("edges", make.mask(len(edges)), edges, edges.flip(0))
    yield sample("scalars", make.mask(), make(), make())
    yield sample("broadcast", make.mask(3, 1), make(4), make(2, 1, 1))
    yield sample("view", make.mask(3, 4), make(3, 4), make(), views=[1])
    yield sample("channels last", make.mask(4), make.last(1, 2, 3, 4), make.last(1, 2, 3, 4))
    yield sample("with a float", make.mask(3, 4), make(3, 4), make(4, dtype=torch.float32))


def masked(*behind: Any) -> Family:
    """(tensor, mask, *behind)"""

    def family(make: Maker) -> Iterator[Sample]:
        edges = make.edges()
        yield sample("edges", edges, make.mask(len(edges)), *behind)
        yield sample("broadcast", make(3, 4), make.mask(4), *behind)
        yield sample("view", make(3, 4), make.mask(3, 1), *behind, views=[0])
        yield sample("channels last", make.last(1, 2, 3, 4), make.mask(3, 1), *behind)

    return family


# --- reductions -----------------------------------------------------------------------------------


def over(*choices: Any, keep: str | None = "keepdim", scalar: bool = True) -> Family:
    """(tensor, dims) for each choice of dims, which fits rank 3; with and without keeping them."""

    def family(make: Maker) -> Iterator[Sample]:
        for at, dims in enumerate(choices):
            named = {keep: bool(at % 2)} if keep else {}
            yield settings(f"matrices, {dims}", (make(2, 3, 4), dims), **named)
            yield settings(f"large, {dims}", (make(3, 4, 41), dims), **named)
        dims = choices[0]
        yield sample("view", make(2, 3, 4), dims, views=[0])
        yield sample("channels last", make.last(2, 3, 4, 5), dims)
        yield sample("rank 5", make(2, 1, 3, 2, 2), dims)
        yield sample("one of one", make(2, 1, 1), dims)
        if scalar:
            first = dims[0] if isinstance(dims, (list, tuple)) else dims
            yield sample("vector", make(6), [-1] if isinstance(dims, (list, tuple)) else -1)
            yield sample("edges", *_rows_of_edges(make), dims if first in (0, -1) else -1)
            yield sample("no elements", make(2, 0, 3), dims)

    return family


def _rows_of_edges(make: Maker) -> tuple[Tensor]:
    """Rows that hold NaN, an infinity, both infinities, ties or extremes, among ordinary ones."""
    if not make.floating:
        edges = make.edges()
        return (torch.stack([edges, edges.flip(0), torch.zeros_like(edges)]),)
    rows = [
        [1.0, NAN, 3.0, -1.0],
        [1.0, INF, 3.0, NAN],
        [INF, 1.0, -INF, 2.0],
        [-INF, -INF, -INF, -INF],
        [INF, 2.0, 2.0, INF],
        [2.0, 2.0, 1.0, 1.0],
        [-0.0, 0.0, -0.0, 0.0],
        [100.0, -100.0, 60000.0, 3.0],
    ]
    return (torch.tensor(rows, dtype=make.dtype),)


def whole(make: Maker) -> Iterator[Sample]:
    """A tensor, of which all is reduced."""
    yield sample("matrices", make(2, 3, 4))
    yield sample("scalar", make())
    yield sample("one", make(1))
    yield sample("view", make(3, 4), views=[0])
    yield sample("channels last", make.last(2, 3, 4, 5))
    yield sample("large", make(401))
    for at, row in enumerate(_rows_of_edges(make)[0]):
        yield sample(f"edges {at}", row.clone())


def along(*dims: int, **named: Any) -> Family:
    """(tensor, dim), and the result has the tensor's shape."""

    def family(make: Maker) -> Iterator[Sample]:
        for dim in dims:
            yield settings(f"matrices, {dim}", (make(2, 3, 4), dim), **named)
        yield settings("edges", (*_rows_of_edges(make), -1), **named)
        yield settings("scalar", (make(), 0), **named)
        yield settings("vector", (make(9), 0), **named)
        yield settings("one", (make(3, 1), 1), **named)
        yield dataclasses.replace(
            settings("view", (make(2, 3, 4), dims[0]), **named), views=frozenset([0])
        )
        yield settings("channels last", (make.last(2, 3, 4, 5), 1), **named)
        yield settings("rank 5", (make(2, 1, 3, 2, 2), -1), **named)

    return family


# --- shapes ---------------------------------------------------------------------------------------


def shaped(*calls: tuple[tuple[int, ...], tuple[Any, ...]], **named: Any) -> Family:
    """(tensor of a shape, *settings), each plain and as a view; 4-D ones channels-last too."""

    def family(make: Maker) -> Iterator[Sample]:
        for shape, behind in calls:
            label = f"{list(shape)} {_name(behind, named)}"
            yield settings(label, (make(*shape), *behind), **named)
            if len(shape) > 1:
                viewed = settings(f"view {label}", (make(*shape), *behind), **named)
                yield dataclasses.replace(viewed, views=frozenset([0]))
            if len(shape) == 4:
                yield settings(f"channels last {label}", (make.last(*shape), *behind), **named)

    return family


def listed(*calls: tuple[tuple[tuple[int, ...], ...], tuple[Any, ...]]) -> Family:
    """([tensors of shapes], *settings)"""

    def family(make: Maker) -> Iterator[Sample]:
        for shapes, behind in calls:
            label = f"{[list(shape) for shape in shapes]} {_name(behind, {})}"
            yield settings(label, ([make(*shape) for shape in shapes], *behind))
            if all(len(shape) == 4 for shape in shapes):
                last = [make.last(*shape) for shape in shapes]
                yield settings(f"channels last {label}", (last, *behind))

    return family


def tensors(*calls: tuple[Any, ...], **named: Any) -> Family:
    """Positional arguments, in which a tuple of ints stands for a tensor of that shape."""

    def family(make: Maker) -> Iterator[Sample]:
        for call in calls:
            made = [make(*item) if isinstance(item, tuple) else item for item in call]
            yield settings(_name(call, named), made, **named)
            shapes = [item for item in call if isinstance(item, tuple)]
            if shapes and len(shapes[0]) == 4:
                first = make.last(*shapes[0])
                yield settings(f"channels last {_name(call, named)}", [first, *made[1:]], **named)
            if len(shapes) > 1 and len(shapes[0]) > 1:
                made = [make(*item) if isinstance(item, tuple) else item for item in call]
                viewed = settings(f"view {_name(call, named)}", made, **named)
                yield dataclasses.replace(viewed, views=frozenset([0]))

    return family


def made(*calls: Callable[[Maker], Iterable[Any]]) -> Family:
    """Whatever the functions of a Maker make."""

    def family(make: Maker) -> Iterator[Sample]:
        for at, call in enumerate(calls):
            yield settings(f"form {at}", call(make))

    return family


# --- convolution, pooling, resampling, creation ---------------------------------------------------


def conv(*calls: tuple[tuple[int, ...], tuple[int, ...], bool, dict[str, Any]]) -> Family:
    """(input shape, weight shape, whether there is a bias, settings); `transposed` among the
    settings says that the weight's second dimension is the output's."""

    def family(make: Maker) -> Iterator[Sample]:
        for shape, weight, bias, named in calls:
            given = {key: value for key, value in named.items() if key != "transposed"}
            channels = weight[0]
            if named.get("transposed"):
                channels = weight[1] * named.get("groups", 1)
            for last in (False, True) if len(shape) == 4 else (False,):
                label = f"{list(shape)} {list(weight)} {bias} {given}"
                x = make.last(*shape) if last else make(*shape)
                call = (x, make(*weight), make(channels) if bias else None)
                yield Sample(f"channels last {label}" if last else label, call, given)

    return family


def pooling(shapes: tuple[tuple[int, ...], ...], *choices: dict[str, Any]) -> Family:
    """Tensors of the shapes with each choice of settings; 4-D ones channels-last, too."""

    def family(make: Maker) -> Iterator[Sample]:
        for shape in shapes:
            for named in choices:
                label = f"{list(shape)} {named}"
                yield Sample(label, (make(*shape),), named)
                if len(shape) == 4 and len(shapes[0]) == 4:
                    yield Sample(f"channels last {label}", (make.last(*shape),), named)
            if make.floating:
                count = math.prod(shape)
                edges = make.edges().repeat(count // 4)[:count].reshape(shape)
                yield Sample(f"edges {list(shape)}", (edges,), choices[0])

    return family


def resample(mode: str, *shapes: tuple[int, ...], **named: Any) -> Family:
    choices = (
        {"scale_factor": 2},
        {"scale_factor": 0.6},
        {"size": 5},
        {"size": 1},
        {"scale_factor": 1.5, "recompute_scale_factor": True},
    )
    return pooling(shapes, *({**choice, "mode": mode, **named} for choice in choices))


def created(*calls: Callable[[torch.dtype], Tensor]) -> Family:
    """Functions of a dtype, for `create`."""

    def family(make: Maker) -> Iterator[Sample]:
        for at, call in enumerate(calls):
            yield Sample(f"form {at}", (make(1), call, make.dtype))

    return family


def create(x: Tensor, call: Callable[[torch.dtype], Tensor], dtype: torch.dtype) -> Any:
    """What the call makes, by itself and combined with an input."""
    return call(dtype).to(dtype), torch.where(x == x, call(dtype), x)
