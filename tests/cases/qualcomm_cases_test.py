"""Every case on QNN's emulator, in 16-bit floats."""

import pytest
from backend_common import harness
from programs import CASES

BACKEND = "qualcomm"

# The HTP's floats end in numbers: where eager has NaN or infinity it has ±131008. Their inputs
# hold either.
NOT_FINITE = frozenset(
    {
        "addmm_with_factors_of_zero",
        "amax_of_nan",
        "clamp_of_nan",
        "exp_of_nan",
        "max_pool_of_nan",
        "maximum_of_nan",
        "powers_of_two_and_signs",
        "relu6_of_nan",
        "relu_of_nan",
        "softmax_of_nan",
    }
)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, case in CASES.items()
        if BACKEND not in case.wrong_on and name not in NOT_FINITE
    ],
)
def test(name, monkeypatch):
    # What is delegated computes in 16-bit floats, whatever the program says.
    monkeypatch.setattr(harness, "TOLERANCE", harness.HALF_TOLERANCE)
    outcome = harness.check_case(CASES[name], BACKEND)
    assert harness.accepted(outcome, CASES[name], BACKEND), f"{outcome.kind}: {outcome.text}"
    # What is left says why.
    assert all(row.reason for row in outcome.rows if not row.delegated and row.operator)


def test_the_cases_that_are_left_out_are_there():
    assert set(CASES) >= NOT_FINITE
