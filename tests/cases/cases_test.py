"""Every case, as a test of its own name, on each backend."""

import programs
import pytest
from backend_common import harness
from programs import CASES

RUNS = [
    pytest.param(name, backend, id=f"{name}-{backend}")
    for name, case in CASES.items()
    for backend in ("openvino", "portable")
    if backend not in case.wrong_on
]


@pytest.mark.parametrize(("name", "backend"), RUNS)
def test(name, backend):
    case = CASES[name]
    outcome = harness.check_case(case, backend)
    assert harness.accepted(outcome, case, backend), f"{outcome.kind}: {outcome.text}"
    if backend == "openvino" and outcome.kind == "pass":
        assert not case.left & set(outcome.delegated)
        # What is left says why.
        assert all(row.reason for row in outcome.rows if not row.delegated and row.operator)


def test_a_case_that_differs_is_found():
    class Changing(programs.nn.Module):
        """Adds another number in eager than it did when it was exported."""

        calls = 0

        def forward(self, x):
            Changing.calls += 1
            return x + Changing.calls

    case = programs.Case(lambda: (Changing().eval(), (programs.torch.zeros(3),)))
    assert harness.check_case(case, "openvino").kind == "difference"
