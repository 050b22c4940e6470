"""Lower a case, run it from a file, compare it with eager; each case in a child of its own.

A crash, a hang or an abort of one case is an outcome like any other, and says nothing about
the next one. Children are forked, so torch is imported once for all of them.
"""

import contextlib
import dataclasses
import faulthandler
import os
import pickle
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from backend_common import lowering, program
from backend_common.errors import ExecutionError, LoweringError
from backend_common.methods import export_methods
from backend_common.report import Row

Kind = Literal["pass", "difference", "refusal", "execution error", "crash", "time limit", "error"]

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


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a case.

    kind: `pass`, `difference` (ran, and differs from eager), `refusal` (LoweringError),
        `execution error`, `crash` (killed by a signal, or ended without a word),
        `time limit`, `error` (any other exception).
    text: what differs, the error's text, or the signal and the child's last words.
    rows: the report of what was lowered, or the causes of the refusal.
    seconds: wall time, lowering included.
    """

    kind: Kind
    text: str = ""
    rows: tuple[Row, ...] = ()
    seconds: float = 0.0

    @property
    def delegated(self) -> list[str]:
        """The operators that the backend runs."""
        return [row.operator for row in self.rows if row.delegated]


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


def in_child(function: Callable[[], Outcome], time_limit: float = 120.0) -> Outcome:
    """What `function` returns in a forked child, or how the child ended.

    The child computes on one thread: an OpenMP pool does not survive a fork. A parent that
    ran a delegate with threads of its own before is not supported; such a child may run
    into its time limit.
    """
    started = time.monotonic()
    receiver, sender = os.pipe()
    with tempfile.TemporaryFile() as words:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            os.close(receiver)
            _be_the_child(function, sender, words.fileno())
        os.close(sender)
        try:
            answer, in_time = _read_all(receiver, started + time_limit)
        finally:
            os.close(receiver)
            # Whatever it started goes with it; its group is empty if it has ended.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
        seconds = time.monotonic() - started
        words.seek(0)
        last_words = _last_words(words.read().decode(errors="replace"))
    if not in_time:
        text = f"not done after {time_limit:g} s\n{last_words}".rstrip()
        return Outcome("time limit", text, seconds=seconds)
    if answer:
        # The child is ours; what it pickled is an Outcome.
        return dataclasses.replace(cast(Outcome, pickle.loads(answer)), seconds=seconds)
    return Outcome("crash", f"{_ending(status)}\n{last_words}".rstrip(), seconds=seconds)


def _be_the_child(function: Callable[[], Outcome], sender: int, words: int) -> None:
    """Runs `function`, sends its outcome, and ends without the parent's exit handlers."""
    try:
        os.setpgid(0, 0)
        os.dup2(words, 1)
        os.dup2(words, 2)
        # A test runner may have replaced them by streams of its own.
        sys.stdout = sys.stderr = os.fdopen(words, "w", buffering=1, closefd=False)
        faulthandler.enable(file=words)
        torch.set_num_threads(1)
        answer = pickle.dumps(_outcome_of(function))
        with os.fdopen(sender, "wb") as stream:
            stream.write(answer)
    except BaseException:
        os.write(words, traceback.format_exc().encode())
    finally:
        os._exit(0)


def _outcome_of(function: Callable[[], Outcome]) -> Outcome:
    try:
        return function()
    except LoweringError as error:
        return Outcome("refusal", str(error), error.rows)
    except ExecutionError as error:
        return Outcome("execution error", str(error))
    except Exception:
        return Outcome("error", traceback.format_exc())


def _read_all(receiver: int, deadline: float) -> tuple[bytes, bool]:
    """All that comes before the pipe's other end closes; False when the deadline passed."""
    answer = bytearray()
    while True:
        ready, _, _ = select.select([receiver], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return bytes(answer), False
        part = os.read(receiver, 1 << 20)
        if not part:
            return bytes(answer), True
        answer += part


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"ended with status {os.waitstatus_to_exitcode(status)} and no outcome"


def _last_words(text: str) -> str:
    """The end of what the child printed; with a traceback of the crash, where it happened."""
    lines = text.strip().splitlines()
    crash = next((i for i, line in enumerate(lines) if line.startswith("Fatal Python error")), None)
    if crash is None:
        return "\n".join(lines[-20:])
    return "\n".join(lines[max(0, crash - 10) : crash + 15])


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
