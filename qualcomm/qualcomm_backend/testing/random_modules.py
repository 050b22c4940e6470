"""Modules made of operators at random, to compare what passes make of them with eager."""

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Operator = Callable[..., Any]
# Draws an operator for operands of these kinds, or None if there is none for them.
Draw = Callable[[random.Random, Sequence[torch.Tensor]], Operator | None]

_LARGEST = 4096  # elements of a value
_DTYPES = (torch.float32, torch.float32, torch.float32, torch.float16, torch.int32, torch.int64)


@dataclasses.dataclass(frozen=True)
class Template:
    """An operator with what is drawn for it: numbers, dimensions, weights.

    operands: how many values it reads. draw: see above.
    """

    name: str
    operands: int
    draw: Draw


class Step(nn.Module):
    """One operator; its weights are the step's parameters."""

    def __init__(self, name: str, reads: Sequence[int], operator: Operator) -> None:
        super().__init__()
        self.name, self.reads, self.operator = name, tuple(reads), operator

    def forward(self, *operands: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = self.operator(*operands)
        return value

    def extra_repr(self) -> str:
        return f"{self.name}{list(self.reads)}"


class RandomModule(nn.Module):
    """Each step reads inputs and results of steps before it, by number.

    Returns what no step reads, in order; there is such a value, the last.
    """

    def __init__(self, inputs: int, steps: Sequence[Step]) -> None:
        super().__init__()
        self.steps = nn.ModuleList(steps)
        read = {index for step in steps for index in step.reads}
        last = inputs + len(steps)
        self.results = tuple(index for index in range(inputs, last) if index not in read)

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = list(inputs)
        for step in self.steps:
            values.append(step(*(values[index] for index in step.reads)))
        return tuple(values[index] for index in self.results)


def random_module(seed: int, *, steps: int = 6) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The same module and inputs for the same seed, whatever was drawn before.

    The inputs are of one to four dimensions, 16 and 32 bits; one broadcasts with the first.
    Its text (`str`) shows the steps.
    """
    draw = random.Random(seed)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        values = _inputs(draw)
        count, chosen = len(values), list[Step]()
        while len(chosen) < steps:
            if step := _step(draw, values):
                values.append(step(*(values[index] for index in step.reads)))
                chosen.append(step)
    return RandomModule(count, chosen).eval(), tuple(values[:count])


def _inputs(draw: random.Random) -> list[torch.Tensor]:
    dtype = draw.choice(_DTYPES)
    shape = [draw.choice((1, 2, 3, 4, 6, 8)) for _ in range(draw.randint(1, 4))]
    other = [size if draw.random() < 0.7 else 1 for size in shape][draw.randint(0, 1) :]
    return [_tensor(shape, dtype), _tensor(other, dtype)]


def _tensor(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(-9, 10, tuple(shape), dtype=dtype)


def _step(draw: random.Random, values: Sequence[torch.Tensor]) -> Step | None:
    """A step that these values allow; None when the draw was of another."""
    template = draw.choice(TEMPLATES)
    # Late results are likelier: programs become deep.
    order = range(len(values))
    reads = draw.choices(order, weights=[1 + index for index in order], k=template.operands)
    operands = [values[index] for index in reads]
    operator = template.draw(draw, operands)
    if operator is None:
        return None
    step = Step(template.name, reads, operator)
    try:
        value = step(*operands)
    except (RuntimeError, IndexError, ValueError):
        return None  # eager does not compute it: shapes that do not fit, dtypes without a kernel
    return step if 0 < value.numel() <= _LARGEST and not value.is_complex() else None


# ---------------------------------------------------------------- what is drawn


def _plain(name: str, operands: int, operator: Operator) -> Template:
    return Template(name, operands, lambda draw, values: operator)


def _float(name: str, operator: Operator) -> Template:
    def choose(draw: random.Random, values: Sequence[torch.Tensor]) -> Operator | None:
        return operator if values[0].is_floating_point() else None

    return Template(name, 1, choose)


def _number(name: str, operator: Operator, numbers: Sequence[float]) -> Template:
    def choose(draw: random.Random, values: Sequence[torch.Tensor]) -> Operator:
        number = draw.choice(numbers)
        return lambda x: operator(x, number)

    return Template(name, 1, choose)


def _along(name: str, operator: Operator) -> Template:
    """operator(x, dim, keepdim)."""

    def choose(draw: random.Random, values: Sequence[torch.Tensor]) -> Operator | None:
        if values[0].dim() == 0:
            return None
        dim, keep = draw.randrange(-values[0].dim(), values[0].dim()), draw.random() < 0.5
        return lambda x: operator(x, dim, keep)

    return Template(name, 1, choose)


def _alpha(name: str, operator: Operator) -> Template:
    def choose(draw: random.Random, values: Sequence[torch.Tensor]) -> Operator:
        alpha = draw.choice((2, 3, -1))
        return lambda x, y: operator(x, y, alpha=alpha)

    return Template(name, 2, choose)


def _permute(draw: random.Random, values: Sequence[torch.Tensor]) -> Operator:
    order = draw.sample(range(values[0].dim()), values[0].dim())
    return lambda x: x.permute(order)


def _reshape(draw: random.Random, values: Sequence[torch.Tensor]) -> Operator:
    factor = draw.choice((1, 2, 3, 4))
    shape = draw.choice(((factor, -1), (-1, factor), (1, -1, factor)))
    return lambda x: x.reshape(shape)


def _slice(draw: random.Random, values: Sequence[torch.Tensor]) -> Operator | None:
    if values[0].dim() == 0:
        return None
    dim, start, step = draw.randrange(values[0].dim()), draw.randint(-2, 1), draw.randint(1, 2)
    return lambda x: torch.ops.aten.slice.Tensor(x, dim, start, None, step)


def _cast(draw: random.Random, values: Sequence[torch.Tensor]) -> Operator:
    dtype = draw.choice((torch.float32, torch.float16, torch.int32, torch.int64, torch.bool))
    return lambda x: x.to(dtype)


def _rms_norm(draw: random.Random, values: Sequence[torch.Tensor]) -> Operator | None:
    """Right in form, or not quite: another power, another dimension."""
    if not values[0].is_floating_point() or values[0].dim() == 0:
        return None
    power, dim = draw.choice((2, 2, 3)), draw.choice((-1, -1, 0))
    return lambda x: x * torch.rsqrt(x.pow(power).mean(dim, keepdim=True) + 1e-5)


class _Weighted:
    """A layer over the last dimensions, its weights drawn for what it reads."""

    def __init__(self, make: Callable[[random.Random, torch.Tensor], nn.Module | None]) -> None:
        self.make = make

    def __call__(self, draw: random.Random, values: Sequence[torch.Tensor]) -> Operator | None:
        (x,) = values
        layer = self.make(draw, x) if x.is_floating_point() and x.dim() else None
        return layer.to(x.dtype).requires_grad_(False) if layer else None


def _linear(draw: random.Random, x: torch.Tensor) -> nn.Module:
    return nn.Linear(x.shape[-1], draw.choice((1, 4, 5)), bias=draw.random() < 0.5)


def _convolution(draw: random.Random, x: torch.Tensor) -> nn.Module | None:
    if x.dim() not in (3, 4):
        return None
    kernel, layer = draw.choice((1, 3)), nn.Conv1d if x.dim() == 3 else nn.Conv2d
    return layer(x.shape[1], draw.choice((2, 4)), kernel, padding=kernel // 2)


def _layer_norm(draw: random.Random, x: torch.Tensor) -> nn.Module:
    return nn.LayerNorm(x.shape[-1])


def _pool(draw: random.Random, values: Sequence[torch.Tensor]) -> Operator | None:
    if values[0].dim() != 4 or not values[0].is_floating_point():
        return None
    pool, stride = draw.choice((F.max_pool2d, F.avg_pool2d)), draw.choice((None, 1))
    return lambda x: pool(x, 2, stride)


TEMPLATES: tuple[Template, ...] = (
    *(_plain(f.__name__, 2, f) for f in (torch.add, torch.sub, torch.mul, torch.maximum)),
    *(_plain(f.__name__, 2, f) for f in (torch.eq, torch.lt, torch.matmul, torch.atan2)),
    *(_plain(f.__name__, 1, f) for f in (torch.abs, torch.neg, torch.relu, torch.square)),
    *(_float(f.__name__, f) for f in (torch.sigmoid, torch.tanh, torch.exp, torch.rsqrt)),
    *(_float(f.__name__, f) for f in (F.gelu, F.silu, F.hardswish, torch.floor, torch.asinh)),
    *(_alpha(f"{f.__name__}_alpha", f) for f in (torch.add, torch.sub, torch.rsub)),
    _plain("doubled", 1, lambda x: torch.add(x, x, alpha=2)),
    _number("add_number", torch.add, (1, 0.5, -3)),
    _number("eq_number", torch.eq, (2, 2.5)),
    _number("lt_number", torch.lt, (1, 2.5, -0.5)),
    _number("pow", torch.pow, (2, 3, 0.5)),
    _number("remainder", torch.remainder, (2, 3, -2)),
    _number("floor_divide", torch.floor_divide, (2, 3)),
    _number("clamp", torch.clamp_min, (0, -1)),
    _along("sum", torch.sum),
    _along("mean", torch.mean),
    _along("amax", torch.amax),
    _along("argmax", torch.argmax),
    _along("any", torch.any),
    _along("vector_norm", lambda x, dim, keep: torch.linalg.vector_norm(x, 2, dim, keep)),
    _along("var", lambda x, dim, keep: torch.var(x, dim, correction=1, keepdim=keep)),
    _along("softmax", lambda x, dim, keep: torch.softmax(x, dim)),
    _along("cumsum", lambda x, dim, keep: torch.cumsum(x, dim)),
    _along("flip", lambda x, dim, keep: torch.flip(x, (dim,))),
    _along("roll", lambda x, dim, keep: torch.roll(x, 1, dim)),
    _along("unsqueeze", lambda x, dim, keep: torch.unsqueeze(x, dim)),
    _along("concatenated", lambda x, dim, keep: torch.cat((x, x), dim)),
    Template("permute", 1, _permute),
    Template("reshape", 1, _reshape),
    Template("slice", 1, _slice),
    Template("cast", 1, _cast),
    Template("where", 2, lambda draw, values: lambda x, y: torch.where(x > 0, x, y)),
    Template("rms_norm", 1, _rms_norm),
    Template("linear", 1, _Weighted(_linear)),
    Template("convolution", 1, _Weighted(_convolution)),
    Template("layer_norm", 1, _Weighted(_layer_norm)),
    Template("pool", 1, _pool),
)
