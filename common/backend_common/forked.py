"""Work in a forked child: a crash, a hang or an abort of it is an outcome like any other."""

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
from collections.abc import Callable
from typing import Literal, cast

import torch

from backend_common.errors import ExecutionError, LoweringError
from backend_common.report import Row

Kind = Literal["pass", "difference", "refusal", "execution error", "crash", "time limit", "error"]


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
