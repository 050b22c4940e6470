import pytest
import torch

from qualcomm_backend.passes.harness import EDGES, check
from qualcomm_backend.passes.scale_second_operand import ScaleSecondOperand

INTS = torch.tensor([0, -1, 7, 2**31 - 1, -(2**31)], dtype=torch.int32)


def test_both_operands_may_be_one_value():
    found = check(
        ScaleSecondOperand, lambda x: torch.add(x, x, alpha=2), torch.rand(4), exact=False
    )
    assert found.operators == ["aten.mul.Tensor", "aten.add.Tensor"]


def test_a_difference_of_a_product_with_itself():
    def function(a):
        b = a * 2
        return torch.sub(b, b, alpha=3)

    check(ScaleSecondOperand, function, torch.rand(4), exact=False)


@pytest.mark.parametrize("alpha", [2, 0.5, -1])
def test_special_values(alpha):
    function = lambda x: (
        torch.add(x, x.flip(0), alpha=alpha),
        torch.sub(x.flip(0), x, alpha=alpha),
        torch.rsub(x, 3.0, alpha=alpha),
        torch.rsub(x, x.flip(0), alpha=alpha),
        torch.add(x, 1.5, alpha=alpha),
    )
    assert check(ScaleSecondOperand, function, EDGES).count == 5


# 512: what is left of eager's vectors rounds, and overflows, in between.
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_halves_may_be_out_of_their_range(dtype):
    x, y = (torch.randn(512) * 6e4).clamp(-6e4, 6e4).to(dtype), torch.full([512], 6e4).to(dtype)
    function = lambda x, y: (torch.sub(x, y, alpha=1.5), torch.add(x, y, alpha=0.001))
    check(ScaleSecondOperand, function, x, y, exact=False, tolerance=1e-2)


def test_integers_wrap_as_in_eager():
    function = lambda x: (
        torch.add(x, x, alpha=3),
        torch.rsub(x, 5, alpha=2),
        torch.sub(x, 7, alpha=2),
    )
    check(ScaleSecondOperand, function, INTS)


def test_the_result_may_have_another_dtype_than_an_operand():
    function = lambda x, n: (torch.add(n, x, alpha=2.5), torch.rsub(n, 3.0, alpha=2))
    check(ScaleSecondOperand, function, torch.rand(5), INTS, exact=False)


def test_a_plain_difference_from_a_number():
    assert "aten.rsub.Scalar" not in check(ScaleSecondOperand, lambda x: 3.0 - x, EDGES).operators


def test_a_factor_of_1_is_none():
    assert not check(ScaleSecondOperand, lambda x: x + x - x, EDGES).count
