import pytest
import torch

from qualcomm_backend.passes.harness import EDGES, check
from qualcomm_backend.passes.promote_operands import PromoteOperands

COUNTS = torch.tensor([0, 1, -1, 2**24 + 1, -7, 3, 2, 100, -(2**31), 5, 6, 8])


def test_two_dtypes_become_one():
    function = lambda x, n: (x * n, n + x, x > n, torch.maximum(x, n.to(torch.int16)), n / 3)
    found = check(PromoteOperands, function, EDGES, COUNTS)
    assert found.count == 5
    for node in found.program.graph.nodes:
        if node.op == "call_function" and "_to_copy" not in node.name:
            operands = [each.meta["val"].dtype for each in node.all_input_nodes]
            assert len(set(operands)) == 1


def test_integers_are_divided_as_floats():
    check(PromoteOperands, lambda n, m: n / m, COUNTS, COUNTS.flip(0).to(torch.int32))


@pytest.mark.parametrize("name", ["sinh", "exp", "rsqrt", "sigmoid", "atan", "log", "asinh"])
def test_functions_of_integers_are_those_of_floats(name):
    found = check(PromoteOperands, getattr(torch, name), COUNTS)
    assert found.operators == ["aten._to_copy.default", f"aten.{name}.default"]


def test_asinh_of_large_negative_numbers_and_atan2_stay_with_kernels_that_are_right():
    x = torch.tensor([-1e4, -1e30, -0.0, 0.0, 1.0])
    y = torch.tensor([-1.0, 1.0, -1.0, -0.0, 0.0])
    assert not check(PromoteOperands, lambda x, y: (x.asinh(), torch.atan2(x, y)), x, y).count


def test_a_choice_has_the_result_dtype():
    check(PromoteOperands, lambda x, n: torch.where(x > 0, x, n), EDGES, COUNTS)


def test_one_dtype_stays():
    assert not check(PromoteOperands, lambda x: x * 2 + x.exp(), EDGES).count


def test_a_number_beside_halves_keeps_its_precision():
    found = check(
        PromoteOperands,
        lambda x, s: x * s,
        EDGES.to(torch.float16),
        torch.tensor(0.1, dtype=torch.float32),
    )
    assert not found.count
    assert "precision" in found.reasons
