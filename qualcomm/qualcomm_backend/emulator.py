"""Runs lowered programs on QNN's x86 emulator of the HTP, each in a process of its own.

QNN's threads do not survive a fork, and who lowers has them. So one server process, which never
uses QNN itself, imports what is needed once and forks for each program.
"""

import atexit
import contextlib
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any, cast

import torch
from backend_common import program
from backend_common.errors import ExecutionError
from backend_common.forked import Outcome, in_child

from qualcomm_backend import sdk

_PROGRAM, _CALLS, _RESULTS = "program.pte", "calls.pt", "results.pt"
_FAMILY = "AF_UNIX"

# Programs that may wait for their turn.
_BACKLOG = 64

_SECONDS_TO_START = 120


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
        try:
            with _connect() as connection:
                connection.send((folder, time_limit))
                outcome = cast(Outcome, connection.recv())
        except (EOFError, OSError) as error:
            _launch.cache_clear()
            raise ExecutionError(f"QNN's emulator: its server ended: {error}") from error
        if outcome.kind != "pass":
            raise ExecutionError(f"QNN's emulator: {outcome.kind}: {outcome.text}")
        return cast(list[list[Any]], torch.load(folder / _RESULTS))


def start() -> str:
    """Starts the server, whose address this is; children that are forked afterwards share it."""
    return _launch()[0]


@functools.cache
def _launch() -> "tuple[str, subprocess.Popen[bytes]]":
    folder = tempfile.mkdtemp()
    address = str(Path(folder) / "emulator")
    command = [sys.executable, "-c", "from qualcomm_backend import emulator; emulator.serve()"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    server = subprocess.Popen(
        [*command, address], stdin=subprocess.PIPE, env=environment, start_new_session=True
    )
    atexit.register(_stop, server, folder, os.getpid())
    return address, server


def _connect() -> "Connection[Any, Any]":
    """To the server, which listens when it has imported what it needs."""
    address = start()
    deadline = time.monotonic() + _SECONDS_TO_START
    while not Path(address).exists():
        if time.monotonic() > deadline:
            raise EOFError(f"it does not listen after {_SECONDS_TO_START} s")
        time.sleep(0.01)
    return Client(address, _FAMILY)


def _stop(server: "subprocess.Popen[bytes]", folder: str, owner: int) -> None:
    if os.getpid() != owner:
        return
    assert server.stdin is not None
    server.stdin.close()
    server.wait()
    shutil.rmtree(folder, ignore_errors=True)


def serve() -> None:
    """The server: a program and a time limit, answered by an Outcome, one after another."""
    with Listener(sys.argv[1], _FAMILY, _BACKLOG) as listener:
        threading.Thread(target=_end_with_the_owner, daemon=True).start()
        _prepare()
        while True:
            with listener.accept() as connection:
                folder, limit = connection.recv()
                connection.send(in_child(functools.partial(_run, folder), limit))


def _prepare() -> None:
    """What every child would do again, and needs no QNN in this process."""
    program.registered_kernels()
    with contextlib.suppress(sdk.SdkError):  # each child says it
        sdk.refuse_other_versions(sdk.find())


def _end_with_the_owner() -> None:
    """Who started the server holds its input open, and so do the children it forks."""
    sys.stdin.read()
    os._exit(0)


def _run(folder: Path) -> Outcome:
    loaded = program.load(folder / _PROGRAM)
    calls = torch.load(folder / _CALLS)
    torch.save([loaded.forward(*inputs) for inputs in calls], folder / _RESULTS)
    return Outcome("pass")
