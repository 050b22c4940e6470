"""Every case on AOTI's CPU device."""

import pytest
from backend_common import harness, program
from programs import CASES

BACKEND = "aoti-cpu"

# All but the one that the limit on locked memory may refuse.
MODES = [mode for mode in program.MODES if mode != "mmap-mlock"]


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if BACKEND not in case.wrong_on]
)
def test(name):
    outcome = harness.check_case(CASES[name], BACKEND, modes=MODES)
    assert harness.accepted(outcome, CASES[name], BACKEND), f"{outcome.kind}: {outcome.text}"
    # What is left says why.
    assert all(row.reason for row in outcome.rows if not row.delegated and row.operator)
