"""Lower a model, run it from a file in every load mode, compare with eager; in a child."""

import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from backend_common import harness, lowering, program
from backend_common.methods import export_methods
from executorch.exir._serialize._program import deserialize_pte_binary
from torch.utils import _pytree as pytree

from corpus.registry import Model

# All but the one that a limit on locked memory may refuse.
MODES = [mode for mode in program.MODES if mode != "mmap-mlock"]


@dataclasses.dataclass(frozen=True)
class Result(harness.Outcome):
    """delegates: how many parts of the program a delegate runs, over all methods."""

    delegates: int = 0

    def shares(self) -> tuple[int, int]:
        """Operators that a delegate runs, and operators in all."""
        rows = [row for row in self.rows if row.operator]
        return sum(row.delegated for row in rows), len(rows)


def check(model: Model, backend: str, *, time_limit: float = 300.0) -> harness.Outcome:
    """A Result, or another Outcome where it did not come to one."""
    return harness.in_child(lambda: _check(model, backend), time_limit)


def _check(model: Model, backend: str) -> Result:
    lowered, tolerance = lower(model, backend)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pte"
        lowered.save(path)
        expected = eager(model)
        found = {
            mode: differences(
                expected, run(program.load(path, mode=mode), model.every_call()), tolerance
            )
            for mode in MODES
        }
    wrong = "; ".join(f"{mode}: {text}" for mode, text in found.items() if text)
    kind: harness.Kind = "difference" if wrong else "pass"
    return Result(kind, wrong, lowered.report, delegates=delegates(lowered.buffer))


def lower(model: Model, backend: str) -> tuple[lowering.Lowered, float]:
    """The lowered program, and the tolerance that its dtypes ask for."""
    if model.methods is None:
        module, inputs = model.make()
        exported = export_methods(module, inputs, None, model.dynamic_shapes, model.strict)
    else:
        exported = export_methods(model.methods(), None, None, None, model.strict)
    tolerance = max(harness.tolerance_of(method) for method in exported.values())
    return lowering.lower(exported, backend=backend), tolerance


def eager(model: Model) -> list[list[Any]]:
    """What the model says to each call, in order, as flat outputs."""
    if model.methods is None:
        module, _ = model.make()
        modules = {"forward": module}
    else:
        modules = {name: method.module for name, method in model.methods().items()}
    with torch.no_grad():
        return [
            copies(pytree.tree_leaves(modules[name](*copies(inputs))))
            for name, inputs in model.every_call()
        ]


def run(loaded: program.Program, calls: Sequence[tuple[str, Any]]) -> list[list[Any]]:
    """What a loaded program says to each call, in order."""
    return [loaded.method(name)(*copies(inputs)) for name, inputs in calls]


def copies(values: Any) -> Any:
    return pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), values)


def differences(
    expected: Sequence[Sequence[Any]], actual: Sequence[Sequence[Any]], tolerance: float
) -> str:
    """What differs in which call; "" when nothing does."""
    found = []
    for call, pair in enumerate(zip(expected, actual, strict=True)):
        if text := harness.difference(*pair, tolerance):
            found.append(f"call {call}: {text}")
    return "; ".join(found)


def delegates(buffer: bytes) -> int:
    plans = deserialize_pte_binary(buffer).program.execution_plan
    return sum(len(plan.delegates) for plan in plans)
