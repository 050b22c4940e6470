"""Every case on QNN's emulator, in 16-bit floats."""

import pytest
from backend_common import harness
from programs import CASES
from qualcomm_backend import emulator, partitioner, trial_run

BACKEND = "qualcomm"

# Imported here, once, for the cases, which are forked.
IMPORTED = partitioner, trial_run


@pytest.fixture(scope="session", autouse=True)
def server():
    """One for all cases."""
    emulator.start()


@pytest.mark.parametrize(
    "name",
    [name for name, case in CASES.items() if BACKEND not in case.wrong_on],
)
def test(name, monkeypatch):
    # What is delegated computes in 16-bit floats, whatever the program says.
    monkeypatch.setattr(harness, "TOLERANCE", harness.HALF_TOLERANCE)
    outcome = harness.check_case(CASES[name], BACKEND)
    assert harness.accepted(outcome, CASES[name], BACKEND), f"{outcome.kind}: {outcome.text}"
    # What is left says why.
    assert all(row.reason for row in outcome.rows if not row.delegated and row.operator)
