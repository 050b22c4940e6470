"""Runs an operator's samples on a backend and says what became of each.

All samples of an operator are outputs of one program, so that they are exported and lowered
once; it is split only where lowering or running it fails as a whole.
"""

import dataclasses
import types
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Literal

import backend_common
import torch
from arguments import DTYPES, Maker, Sample
from backend_common import harness
from backend_common.harness import HALF, HALF_TOLERANCE, TOLERANCE, Outcome
from backend_common.report import Row
from backend_common.sizes import bounds
from faults import FREE_ORDER, ROUNDED_AT_EACH_STEP
from registry import OPERATORS, Operator
from torch import Tensor
from torch.utils import _pytree as pytree

# Portable kernels keep float64; what computes it in fewer bits is to be found.
DOUBLE_TOLERANCE = 1e-7

# Dtypes that get every sample; the others get the first few and the edges.
_THOROUGH = (torch.float32, torch.int64)
_FEW = 2

Status = Literal["delegated", "left", "refused", "difference", "error", "crash", "control"]


@dataclasses.dataclass(frozen=True)
class Variant:
    """A sample of one dtype; `dynamic` is the dimension in which further calls are larger."""

    dtype: torch.dtype
    sample: Sample
    dynamic: int | None = None

    @property
    def label(self) -> str:
        size = "" if self.dynamic is None else f", dynamic in {self.dynamic}"
        return f"{self.sample.label}{size}"

    @property
    def inputs(self) -> list[Tensor]:
        """The program's inputs."""
        leaves = pytree.tree_leaves(self.sample.arguments)
        found = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        return [
            tensor.transpose(0, -1).contiguous() if at in self.sample.views else tensor
            for at, tensor in enumerate(found)
        ]

    @property
    def dynamic_sizes(self) -> list[set[int]]:
        """For each input its dynamic dimensions: those as large as the first input's one."""
        inputs = self.inputs
        if self.dynamic is None:
            return [set() for _ in inputs]
        size = inputs[0].shape[self.dynamic]
        return [
            {d for d, have in enumerate(tensor.shape) if have == size} if size > 1 else set()
            for tensor in inputs
        ]

    @property
    def larger(self) -> list[Tensor]:
        """Inputs for a further call: dynamic dimensions have double their size."""
        result = []
        for tensor, dims in zip(self.inputs, self.dynamic_sizes, strict=True):
            for dim in sorted(dims):
                tensor = torch.cat([tensor, tensor], dim)
            result.append(tensor)
        return result

    def call(self, function: Callable[..., Any], inputs: Sequence[Tensor]) -> Any:
        """The operator on a program's inputs."""
        given = iter(
            tensor.transpose(0, -1) if at in self.sample.views else tensor
            for at, tensor in enumerate(inputs)
        )
        leaves, tree = pytree.tree_flatten(self.sample.arguments)
        filled = [next(given) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        return function(*pytree.tree_unflatten(filled, tree), **self.sample.settings)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of a variant. reasons: why operators were left, or what is wrong."""

    status: Status
    reasons: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Ran(Outcome):
    """The outcome of a program that ran.

    differences: of each variant's values, "" where there is none.
    orders: of its results' dim orders, likewise.
    """

    differences: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()


def variants_of(name: str) -> list[Variant]:
    """The variants that eager can compute."""
    operator = OPERATORS[name]
    seed = zlib.crc32(name.encode())
    found = []
    for dtype in operator.dtypes:
        for at, sample in enumerate(operator.family(Maker(dtype, seed))):
            variant = Variant(dtype, sample)
            if dtype not in _THOROUGH and at >= _FEW and "edges" not in sample.label:
                continue
            if _works(operator, variant, variant.inputs):
                found.append(variant)
    return found


def dynamic_variants_of(name: str) -> list[Variant]:
    """The first sample with two dimensions or more, in its first and its last, each larger in
    a further call, if eager takes it."""
    operator = OPERATORS[name]
    if not operator.dynamic:
        return []
    plain = (
        variant
        for variant in variants_of(name)
        if variant.inputs and variant.inputs[0].dim() > 1 and variant.inputs[0].numel()
    )
    first = next(plain, None)
    if first is None:
        return []
    dims = {0, first.inputs[0].dim() - 1}
    wanted = [dataclasses.replace(first, dynamic=dim) for dim in sorted(dims)]
    return [
        variant
        for variant in wanted
        if any(variant.dynamic_sizes)
        and _works(operator, variant, variant.larger)
        and _stays_dynamic(name, variant)
    ]


def _stays_dynamic(name: str, variant: Variant) -> bool:
    """Whether torch.export leaves the sizes open: how many results unbind has fixes one."""
    inputs = [torch.ones(2), *(tensor.clone() for tensor in variant.inputs)]
    module = _Program(name, [variant]).eval()
    try:
        exported = torch.export.export(module, tuple(inputs), dynamic_shapes=_shapes([variant]))
    except Exception:
        return True  # for the lowering to say
    values = [node.meta["val"] for node in exported.graph.nodes if node.op == "placeholder"]
    return all(
        len(set(bounds(value.shape[dim]))) > 1
        for value, dims in zip(values[-len(variant.inputs) :], variant.dynamic_sizes, strict=True)
        for dim in dims
    )


def _shapes(variants: Sequence[Variant]) -> Any:
    """The dynamic shapes of the program of these variants."""
    sizes = [set(), *(dims for variant in variants for dims in variant.dynamic_sizes)]
    auto = torch.export.Dim.AUTO(min=2, max=128)  # type: ignore[operator]
    return (tuple(dict.fromkeys(dims, auto) for dims in sizes),)


def _works(operator: Operator, variant: Variant, inputs: list[Tensor]) -> bool:
    try:
        variant.call(operator.function, inputs)
    except (RuntimeError, IndexError, ValueError):
        return False
    return True


def examine(name: str, variants: Sequence[Variant], backend: str) -> list[Verdict]:
    """A verdict for each variant."""
    if not variants:
        return []
    outcome = harness.in_child(lambda: _run(name, variants, backend), 600.0)
    if isinstance(outcome, Ran):
        return [
            _verdict(outcome.differences[at], outcome.orders[at], _rows_of(outcome.rows, at))
            for at in range(len(variants))
        ]
    guilty = [at for at in range(len(variants)) if _rows_of(outcome.rows, at)]
    if outcome.kind == "refusal" and guilty:
        groups = [guilty, [at for at in range(len(variants)) if at not in guilty]]
    elif len(variants) > 1:
        groups = _halves(variants)
    else:
        return [_failure(outcome)]
    verdicts: dict[int, Verdict] = {}
    for group in groups:
        if outcome.kind == "refusal" and group is guilty:
            for at in group:
                rows = _rows_of(outcome.rows, at)
                verdicts[at] = Verdict("refused", tuple(f"{r.operator}: {r.reason}" for r in rows))
            continue
        parts = examine(name, [variants[at] for at in group], backend)
        verdicts.update(zip(group, parts, strict=True))
    return [verdicts[at] for at in range(len(variants))]


def _halves(variants: Sequence[Variant]) -> list[list[int]]:
    """By labels, as long as there are several: what fails, fails in most dtypes."""
    labels = list(dict.fromkeys(variant.label for variant in variants))
    if len(labels) > 1:
        some = set(labels[: len(labels) // 2])
        first = [at for at, variant in enumerate(variants) if variant.label in some]
    else:
        first = list(range(len(variants) // 2))
    return [first, [at for at in range(len(variants)) if at not in first]]


def _failure(outcome: Outcome) -> Verdict:
    if outcome.kind == "refusal":
        reasons = tuple(dict.fromkeys(f"{row.operator}: {row.reason}" for row in outcome.rows)) or (
            outcome.text,
        )
        return Verdict("refused", reasons)
    if outcome.kind in ("crash", "time limit"):
        return Verdict("crash", (outcome.text,))
    return Verdict("error", (outcome.text,))


def _verdict(difference: str, order: str, rows: Sequence[Row]) -> Verdict:
    left = {f"{row.operator}: {row.reason}" for row in rows if not row.delegated}
    if not left:
        difference = difference or order  # where all is ours, the order is, too
    if difference:
        return Verdict("difference", (difference, *sorted(left)))
    return Verdict("left", tuple(sorted(left))) if left else Verdict("delegated")


def _rows_of(rows: Sequence[Row], at: int) -> list[Row]:
    return [row for row in rows if row.source.partition(":")[0] == _file(at)]


def _file(at: int) -> str:
    """The file that the report says variant `at` is in."""
    return f"variant{at}.py"


def _located(function: Callable[..., Any], at: int) -> Callable[..., Any]:
    """The function as if written in the variant's own file, by which a report's rows are told."""
    code = compile(
        "lambda function: lambda *args, **kwargs: function(*args, **kwargs)", _file(at), "eval"
    )
    return eval(code)(_moved(function, at))  # type: ignore[no-any-return]


def _moved(function: Callable[..., Any], at: int) -> Callable[..., Any]:
    if not isinstance(function, types.FunctionType) or function.__module__ not in (
        "registry",
        "arguments",
    ):
        return function

    def move(code: types.CodeType) -> types.CodeType:
        inner = (move(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
        return code.replace(co_filename=_file(at), co_consts=tuple(inner))

    moved = types.FunctionType(
        move(function.__code__),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    moved.__kwdefaults__ = function.__kwdefaults__
    return moved


class _Program(torch.nn.Module):
    """Every variant of an operator; and an anchor, beside which moves are worth delegating."""

    def __init__(self, name: str, variants: Sequence[Variant]) -> None:
        super().__init__()
        self.variants = variants
        function = OPERATORS[name].function
        self.functions = [_located(function, at) for at in range(len(variants))]

    def forward(self, *inputs: Tensor) -> Any:
        given = iter(inputs)
        anchor = torch.sin(next(given))
        return anchor, [
            variant.call(function, [next(given) for _ in variant.inputs])
            for variant, function in zip(self.variants, self.functions, strict=True)
        ]


def _run(name: str, variants: Sequence[Variant], backend: str) -> Outcome:
    module = _Program(name, variants).eval()
    # Copies: one tensor as two inputs would have one size.
    first = [torch.ones(2), *(tensor.clone() for v in variants for tensor in v.inputs)]
    calls = [first]
    shapes = None
    if any(variant.dynamic is not None for variant in variants):
        calls.append([torch.ones(2), *(tensor for v in variants for tensor in v.larger)])
        shapes = _shapes(variants)
    lowered = backend_common.lower(module, first, backend=backend, dynamic_shapes=shapes)
    loaded = backend_common.load(lowered.buffer)
    differences, orders = [""] * len(variants), [""] * len(variants)
    for call, inputs in enumerate(calls):
        results = module(*(tensor.clone() for tensor in inputs))[1]
        outputs = iter(loaded.forward(*(tensor.clone() for tensor in inputs))[1:])
        for at, (variant, result) in enumerate(zip(variants, results, strict=True)):
            expected = pytree.tree_leaves(result)
            actual = [next(outputs) for _ in expected]
            tolerance = _tolerance(name, variant, expected)
            text = harness.difference(expected, actual, tolerance)
            differences[at] = differences[at] or (f"call {call}: {text}" if text else "")
            if name not in FREE_ORDER:
                orders[at] = orders[at] or _order(variant, expected, actual)
    return Ran("pass", rows=lowered.report, differences=tuple(differences), orders=tuple(orders))


_CHANNELS_LAST = ((0, 2, 3, 1), (0, 2, 3, 4, 1))


def _order(variant: Variant, expected: Sequence[Any], actual: Sequence[Any]) -> str:
    """Channels-last in, channels-last out; the order of a view's copy is eager's own affair."""
    if "channels last" not in variant.label:
        return ""
    for want, have in zip(expected, actual, strict=True):
        if (
            isinstance(want, Tensor)
            and want.dim_order() in _CHANNELS_LAST
            and not want.is_contiguous()
            and want.shape == have.shape
            and want.dim_order() != have.dim_order()
        ):
            return f"strides {have.stride()}, and eager has {want.stride()}"
    return ""


def _tolerance(name: str, variant: Variant, results: Sequence[Any]) -> float:
    dtypes = {t.dtype for t in (*variant.inputs, *results) if isinstance(t, Tensor)}
    if half := dtypes & set(HALF):
        if name not in ROUNDED_AT_EACH_STEP:
            return HALF_TOLERANCE
        sizes = [size for t in variant.inputs if isinstance(t, Tensor) for size in t.shape]
        step = max(torch.finfo(dtype).eps for dtype in half) / 2
        return max(HALF_TOLERANCE, *(size * step for size in sizes))
    floats = {dtype for dtype in dtypes if dtype.is_floating_point}
    return DOUBLE_TOLERANCE if floats == {torch.float64} else TOLERANCE


__all__ = [
    "DTYPES",
    "OPERATORS",
    "Variant",
    "Verdict",
    "dynamic_variants_of",
    "examine",
    "variants_of",
]
