"""Runs lowered programs on QNN's x86 emulator of the HTP, each in a process of its own.

QNN's threads do not survive a fork, and who lowers has them. So one server process, which never
uses QNN itself, imports what is needed once and forks for each program.
"""

import atexit
import functools
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from backend_common import harness, program
from backend_common.errors import ExecutionError
from backend_common.harness import Outcome

_PROGRAM, _CALLS, _RESULTS, _OUTCOME = "program.pte", "calls.pt", "results.pt", "outcome"

_turn = threading.Lock()


def run(
    source: str | Path | bytes, calls: Sequence[Sequence[Any]], *, time_limit: float = 120.0
) -> list[list[Any]]:
    """The outputs of `forward` for each call's inputs, in order, on one loaded program.

    ExecutionError says what became of it otherwise: the delegate's error, the signal that ended
    it, or that it was not done in `time_limit` seconds.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        content = source if isinstance(source, bytes) else Path(source).read_bytes()
        (folder / _PROGRAM).write_bytes(content)
        torch.save([list(inputs) for inputs in calls], folder / _CALLS)
        with _turn:
            server = _server()
            assert server.stdin is not None and server.stdout is not None
            server.stdin.write(f"{time_limit} {folder}\n")
            server.stdin.flush()
            answered = server.stdout.readline()
        if not answered:
            _server.cache_clear()
            raise ExecutionError("QNN's emulator: its server ended without a word")
        # The server is ours; what it pickled is an Outcome.
        outcome = cast(Outcome, pickle.loads((folder / _OUTCOME).read_bytes()))
        if outcome.kind != "pass":
            raise ExecutionError(f"QNN's emulator: {outcome.kind}: {outcome.text}")
        return cast(list[list[Any]], torch.load(folder / _RESULTS))


@functools.cache
def _server() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from qualcomm_backend import emulator; emulator.serve()"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipe = subprocess.PIPE
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
    atexit.register(_stop, server)
    return server


def _stop(server: subprocess.Popen[str]) -> None:
    if server.stdin is not None:
        server.stdin.close()
    server.wait()


def serve() -> None:
    """The server's loop: a time limit and a folder a line, answered by a line when it is done."""
    for line in sys.stdin:
        limit, _, name = line.rstrip("\n").partition(" ")
        folder = Path(name)
        outcome = harness.in_child(functools.partial(_run, folder), float(limit))
        (folder / _OUTCOME).write_bytes(pickle.dumps(outcome))
        print("done", flush=True)


def _run(folder: Path) -> Outcome:
    loaded = program.load(folder / _PROGRAM)
    calls = torch.load(folder / _CALLS)
    torch.save([loaded.forward(*inputs) for inputs in calls], folder / _RESULTS)
    return Outcome("pass")
