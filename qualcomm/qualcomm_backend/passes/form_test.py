import pytest
import torch

from qualcomm_backend.passes.form import Leave, WriteWithOthers
from qualcomm_backend.passes.harness import check

aten = torch.ops.aten


def made(form):
    """A pass with one form, for aten.sin."""
    return type("Pass", (WriteWithOthers,), {"forms": {aten.sin.default: form}})


def test_a_form_takes_the_place_of_its_operator():
    form = lambda x: (x + torch.pi / 2).cos().neg()
    found = check(made(form), torch.sin, -torch.rand(3), exact=False)
    assert "aten.sin.default" not in found.operators


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        (lambda x: x.double(), "its form gives"),
        (lambda x: x[:1], "its form gives"),
        (lambda x: x @ x[:1], "its form does not take it"),
        (lambda x: x.item(), "its form does not take it"),
    ],
)
def test_a_form_that_is_wrong_leaves_the_operator(form, reason):
    found = check(made(form), torch.sin, torch.rand(3))
    assert found.operators == ["aten.sin.default"]
    assert reason in found.reasons


def test_a_reason_is_told():
    def form(x):
        raise Leave("of a reason")

    assert check(made(form), torch.sin, torch.rand(3)).reasons == "of a reason"


def test_not_implemented_is_no_concern():
    found = check(made(lambda x: NotImplemented), torch.sin, torch.rand(3))
    assert not found.count
    assert not found.rows


def test_a_result_that_is_an_operand_is_copied():
    found = check(made(lambda x: x), lambda x: x.sin(), torch.zeros(3))
    assert found.operators == ["aten.clone.default"]


def test_views_may_get_other_strides():
    found = check(
        made(lambda x: x.view(-1).sign().view(3, 2) * 0), lambda x: x.sin() * 0, torch.rand(3, 2)
    )
    assert "aten.view.default" not in found.operators


def test_bodies_are_rewritten_too():
    function = lambda x: torch.cond(x.sum() > 0, lambda x: x.sin() * 0, lambda x: x + 1, (x,))
    found = check(made(lambda x: x.cos()), function, torch.rand(3))
    assert found.count == 1
