"""Lower a case, run it from a file, compare it with eager; each case in a child of its own.

A crash, a hang or an abort of one case is an outcome like any other, and says nothing about
the next one. Children are forked, so torch is imported once for all of them.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from backend_common import lowering, program
from backend_common.forked import Outcome as Outcome
from backend_common.forked import in_child as in_child
from backend_common.methods import export_methods

HALF = (torch.float16, torch.bfloat16)
HALF_TOLERANCE = 2e-2
TOLERANCE = 1e-3


class Case(Protocol):
    """What the harness reads of a case.

    make: a module and its example inputs, the same on every call.
    dynamic_shapes: as torch.export.export takes it, or None.
    also: further inputs for the one loaded program, after the example inputs.
    refusable: backends that may refuse it by the operator's name.
    """

    @property
    def make(self) -> Callable[[], tuple[torch.nn.Module, tuple[Any, ...]]]: ...
    @property
    def dynamic_shapes(self) -> Any: ...
    @property
    def also(self) -> Sequence[tuple[Any, ...]]: ...
    @property
    def refusable(self) -> frozenset[str]: ...


def accepted(outcome: Outcome, case: Case, backend: str) -> bool:
    """Whether it equals eager, or is refused by an operator's name where that is allowed."""
    if outcome.kind == "refusal":
        return backend in case.refusable and any(row.operator for row in outcome.rows)
    return outcome.kind == "pass"


def check_case(
    case: Case,
    backend: str,
    *,
    options: Mapping[str, object] | None = None,
    keep: Sequence[str] = (),
    modes: Sequence[str] = ("mmap",),
    layouts: bool = False,
    time_limit: float = 120.0,
) -> Outcome:
    """Lower, save, load from the file in each of `modes`, run, compare; in a child.

    layouts: outputs must have eager's dim order too.
    time_limit: seconds for all of it.
    """

    def check() -> Outcome:
        return _check(case, backend, dict(options or {}), keep, modes, layouts)

    return in_child(check, time_limit)


def _check(
    case: Case,
    backend: str,
    options: Mapping[str, object],
    keep: Sequence[str],
    modes: Sequence[str],
    layouts: bool,
) -> Outcome:
    module, inputs = case.make()
    exported = export_methods(module, inputs, None, case.dynamic_shapes, strict=False)
    tolerance = tolerance_of(exported["forward"])
    lowered = lowering.lower(exported, backend=backend, options=options, keep=keep)
    rows = lowered.report
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.pte"
        lowered.save(path)
        for mode in modes:
            # A fresh module each time: it may count its calls.
            module, inputs = case.make()
            loaded = program.load(path, mode=mode)
            for call, arguments in enumerate((inputs, *case.also)):
                expected = pytree.tree_leaves(module(*_copies(arguments)))
                actual = loaded.forward(*_copies(arguments))
                if text := difference(expected, actual, tolerance, layouts=layouts):
                    return Outcome("difference", f"mode {mode}, call {call}: {text}", rows)
    return Outcome("pass", rows=rows)


def _copies(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies with the same strides, for programs that write to their inputs."""
    return cast(
        tuple[Any, ...],
        pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), arguments),
    )


def tolerance_of(exported: ExportedProgram) -> float:
    """2e-2 where the program computes in fp16 or bf16, in a body of its own too; else 1e-3."""
    for module in exported.graph_module.modules():
        if not isinstance(module, fx.GraphModule):
            continue
        for node in module.graph.nodes:
            for value in pytree.tree_leaves(node.meta.get("val")):
                if isinstance(value, torch.Tensor) and value.dtype in HALF:
                    return HALF_TOLERANCE
    return TOLERANCE


def difference(
    expected: Sequence[Any], actual: Sequence[Any], tolerance: float, *, layouts: bool = False
) -> str:
    """What differs between two flat lists of outputs; "" when nothing does.

    Tensors: dtype, shape, with `layouts` the dim order, and every value within
    `tolerance` x max(1, |expected|); NaN equals NaN. Anything else: type and value.
    """
    if len(expected) != len(actual):
        return f"{len(actual)} outputs, and eager has {len(expected)}"
    found = [
        f"output {index}: {text}"
        for index, pair in enumerate(zip(expected, actual, strict=True))
        if (text := _difference_of_values(*pair, tolerance, layouts))
    ]
    return "; ".join(found)


def _difference_of_values(expected: Any, actual: Any, tolerance: float, layouts: bool) -> str:
    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        same = type(expected) is type(actual) and (expected == actual or expected is actual)
        return "" if same else f"{actual!r}, and eager has {expected!r}"
    if (expected.dtype, expected.shape) != (actual.dtype, actual.shape):
        return f"{_kind_of(actual)}, and eager has {_kind_of(expected)}"
    if layouts and expected.dim_order() != actual.dim_order():
        return f"strides {actual.stride()}, and eager has {expected.stride()}"
    if not expected.dtype.is_floating_point and not expected.dtype.is_complex:
        wrong = expected != actual
        worst = "" if not wrong.any() else "integers"
    else:
        wrong = ~torch.isclose(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
        wide = torch.complex128 if expected.dtype.is_complex else torch.float64
        error = (actual.to(wide) - expected.to(wide)).abs().nan_to_num(0.0, posinf=0.0)
        relative = error / expected.to(wide).abs().nan_to_num(1.0).clamp_min(1e-12)
        worst = (
            ""
            if not wrong.any()
            else (
                f"max abs error {error.max().item():.3g}, max rel error {relative.max().item():.3g}"
            )
        )
    if not worst:
        return ""
    first = tuple(wrong.nonzero()[0].tolist())
    return (
        f"{int(wrong.sum())} of {wrong.numel()} values differ ({worst}), first at "
        f"{list(first)}: {actual[first].item()}, and eager has {expected[first].item()}; "
        f"strides {actual.stride()} against {expected.stride()}"
    )


def _kind_of(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
