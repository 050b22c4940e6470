import pytest
import torch
import torch.nn.functional as F

from qualcomm_backend.passes.harness import check
from qualcomm_backend.passes.recompose_rms_norm import RecomposeRmsNorm

X, W = torch.randn(2, 3, 8), torch.rand(8)


def norm(x, eps=1e-6, dim=-1):
    return x * torch.rsqrt(x.pow(2).mean(dim, keepdim=True) + eps)


RIGHT = {
    "as_written_most_often": lambda m, x: norm(x) * m.w,
    "weight_first": lambda m, x: m.w * norm(x),
    "root_first": lambda m, x: torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * x * m.w,
    "epsilon_first": lambda m, x: x * torch.rsqrt(1e-5 + x.square().mean(-1, True)) * m.w,
    "reciprocal_of_a_root": lambda m, x: (
        x * torch.sqrt((x**2).mean(-1, True) + 1e-5).reciprocal() * m.w
    ),
    "power_of_minus_a_half": lambda m, x: x * ((x**2).mean(2, True) + 1e-5) ** -0.5 * m.w,
    "divided_by_a_root": lambda m, x: x / torch.sqrt((x**2).mean(-1, True) + 1e-5) * m.w,
    "without_weight": lambda m, x: norm(x) + m.w,
}


@pytest.mark.parametrize("name", RIGHT)
def test_recognises(name):
    found = check(RecomposeRmsNorm, RIGHT[name], X, exact=False, w=W)
    assert found.operators[0] == "aten.rms_norm.default"
    assert len(found.operators) == 1 + (name == "without_weight")


def test_the_weight_is_taken_in_where_it_is_a_constant_of_the_last_size():
    arguments = lambda found: next(
        node.args for node in found.program.graph.nodes if "rms_norm" in str(node.target)
    )
    assert (
        str(arguments(check(RecomposeRmsNorm, lambda m, x: norm(x) * m.w, X, exact=False, w=W))[2])
        == "b_w"
    )
    for function, other in (
        (lambda x, w: norm(x) * w, W),
        (lambda x, w: norm(x) * w, torch.rand(3, 8)),
    ):
        found = check(RecomposeRmsNorm, function, X, other, exact=False)
        assert arguments(found)[2] is None
        assert "aten.mul.Tensor" in found.operators


def test_a_norm_that_is_read_twice_keeps_its_weight_outside():
    def function(m, x):
        y = norm(x)
        return y * m.w + y

    found = check(RecomposeRmsNorm, function, X, exact=False, w=W)
    assert found.operators == ["aten.rms_norm.default", "aten.mul.Tensor", "aten.add.Tensor"]


def test_two_norms_and_halves_around():
    function = lambda m, x: norm(norm(x.float()) * m.w).to(torch.float16) * 2
    found = check(RecomposeRmsNorm, function, X.to(torch.float16), exact=False, tolerance=1e-2, w=W)
    assert found.operators.count("aten.rms_norm.default") == 2


WRONG = {
    "relu_inside": lambda m, x: F.relu(norm(x)) * m.w,
    "cube": lambda m, x: x * torch.rsqrt(x.pow(3).mean(-1, keepdim=True).abs() + 1e-6) * m.w,
    "cube_as_it_is": lambda m, x: x * torch.rsqrt(x.abs().pow(3).mean(-1, True) + 1e-6) * m.w,
    "another_numerator": lambda m, x: F.relu(x) * torch.rsqrt(x.pow(2).mean(-1, True) + 1e-6) * m.w,
    "two_factors": lambda m, x: x * torch.rsqrt((x * (x + 1)).mean(-1, True).abs() + 1e-6) * m.w,
    "another_dimension": lambda m, x: norm(x, dim=1) * m.w,
    "two_dimensions": lambda m, x: norm(x, dim=(1, 2)) * m.w,
    "first_dimension": lambda m, x: norm(x[0].t(), dim=0) + 1,
    "a_residual_inside": lambda m, x: (x + x * torch.rsqrt(x.pow(2).mean(-1, True) + 1e-6)) * m.w,
    "a_residual_in_the_mean": lambda m, x: (
        x * torch.rsqrt(x.pow(2).mean(-1, True) + x.abs() + 1e-6)
    ),
    "a_root_of_it_all": lambda m, x: x * torch.rsqrt(x.pow(2).mean(-1, True)) * m.w,
    "a_sum": lambda m, x: x * torch.rsqrt(x.pow(2).sum(-1, True) + 1e-6) * m.w,
    "a_root": lambda m, x: x * torch.sqrt(x.pow(2).mean(-1, True) + 1e-6) * m.w,
    "epsilons": lambda m, x: x * torch.rsqrt(x.pow(2).mean(-1, True) + m.w) * m.w,
    "scaled_epsilon": lambda m, x: (
        x * torch.rsqrt(torch.add(x.pow(2).mean(-1, True), 1e-6, alpha=3))
    ),
    "lost_dimension": lambda m, x: x[0, :1] * torch.rsqrt(x[0, :1].pow(2).mean(-1) + 1e-6),
}


@pytest.mark.parametrize("name", WRONG)
def test_look_alikes_stay(name):
    found = check(RecomposeRmsNorm, WRONG[name], X, exact=False, w=W)
    wrong = [each for each in found.operators if each == "aten.rms_norm.default"]
    assert not wrong or name in ("relu_inside", "a_residual_inside")
    if name == "relu_inside":  # the norm itself is one; the weight is not its own
        assert found.operators == ["aten.rms_norm.default", "aten.relu.default", "aten.mul.Tensor"]


@pytest.mark.parametrize(
    "name", ["cube_as_it_is", "another_numerator", "another_dimension", "epsilons"]
)
def test_reasons_are_told(name):
    assert check(RecomposeRmsNorm, WRONG[name], X, exact=False, w=W).reasons


def test_halves_stay():
    found = check(RecomposeRmsNorm, lambda x: norm(x), X.to(torch.float16))
    assert not found.count
    assert "float16" in found.reasons


def test_of_dimensions_in_another_order():
    x = torch.randn(3, 2, 8)
    found = check(RecomposeRmsNorm, lambda x: norm(x.transpose(0, 1)) + 1, x, exact=False)
    assert found.operators[1] == "aten.rms_norm.default"
    found = check(RecomposeRmsNorm, lambda x: norm(x.transpose(0, 1)), x, exact=False)
    assert "order of dimensions" in found.reasons
