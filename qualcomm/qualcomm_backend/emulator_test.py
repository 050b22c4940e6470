import pytest
import torch
from backend_common.errors import ExecutionError
from torch import nn

from qualcomm_backend import emulator
from qualcomm_backend.conftest import lower


def test_one_loaded_program_answers_every_call(tmp_path):
    module = nn.Linear(8, 4)
    calls = [(torch.randn(2, 8),) for _ in range(3)]
    lowered = lower(module, *calls[0])
    lowered.save(tmp_path / "linear.pte")
    for source in (lowered.buffer, tmp_path / "linear.pte"):
        for (x,), (found,) in zip(calls, emulator.run(source, calls), strict=True):
            torch.testing.assert_close(found, module(x), atol=1e-2, rtol=1e-2)


def test_what_is_no_program_is_an_error():
    with pytest.raises(ExecutionError, match="QNN's emulator: execution error"):
        emulator.run(b"no program", [()])


def test_a_crash_is_an_error_and_the_next_program_runs(monkeypatch):
    lowered = lower(nn.Linear(8, 4), torch.randn(2, 8))
    with pytest.raises(ExecutionError, match="QNN's emulator: time limit"):
        emulator.run(lowered.buffer, [(torch.randn(2, 8),)], time_limit=0.0)
    assert emulator.run(lowered.buffer, [(torch.zeros(2, 8),)])


def test_a_server_that_ended_is_an_error_and_the_next_program_has_another():
    lowered = lower(nn.Linear(8, 4), torch.randn(2, 8))
    call = (torch.zeros(2, 8),)
    assert emulator.run(lowered.buffer, [call])
    _, server = emulator._launch()
    server.kill()
    server.wait()
    with pytest.raises(ExecutionError, match="its server ended"):
        emulator.run(lowered.buffer, [call])
    assert emulator.run(lowered.buffer, [call])
