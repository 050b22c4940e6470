import pytest
import torch

from qualcomm_backend.passes.contract_by_products import ContractByProducts
from qualcomm_backend.passes.harness import check

SIZES = dict(zip("bcijkl", (2, 3, 4, 5, 6, 2)))
EQUATIONS = [
    *("ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "ij,jk->ki", "ij,jk", "bij,bjk->bik"),
    *("bij,jk->bik", "ibj,bjk->kib", "ij,ij->ij", "ij,ij->i", "ij,ij->", "ij,ij->j", "i,j->ij"),
    *(
        "i,i->",
        "ij->ji",
        "ij->i",
        "ij->",
        "bij,kj->bik",
        "ij,j->i",
        "bcij,bckj->bcik",
        "bi,bj->bij",
    ),
    *(
        "ij,jk,kl->il",
        "i,ij,j->",
        "bij,bkl->bik",
        "ij,kl->ik",
        "bcij,cj->bi",
        "ij,->ij",
        "ib,jb->ji",
    ),
]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equals_eager(equation):
    terms = equation.partition("->")[0].split(",")
    operands = [torch.randn([SIZES[each] for each in term]) for term in terms]
    function = lambda *x: torch.einsum(equation, *x) + 0
    found = check(ContractByProducts, function, *operands, exact=False)
    assert "aten.einsum.default" not in found.operators


def test_a_product_of_matrices_is_nothing_else():
    x, y = torch.rand(4, 5), torch.rand(5, 6)
    found = check(
        ContractByProducts, lambda x, y: torch.einsum("ij,jk->ik", x, y), x, y, exact=False
    )
    assert found.operators == ["aten.mm.default"]


def test_a_size_of_1_is_repeated():
    x, y = torch.rand(2, 4, 5), torch.rand(1, 5, 6)
    check(ContractByProducts, lambda x, y: torch.einsum("bij,bjk->bik", x, y), x, y, exact=False)
    check(
        ContractByProducts, lambda x, y: torch.einsum("bij,bjk->ik", y, x), x.mT, y.mT, exact=False
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64])
def test_other_dtypes(dtype):
    x, y = (torch.randn(4, 4) * 5).to(dtype), (torch.randn(4, 4) * 5).to(dtype)
    function = lambda x, y: torch.einsum("ij,jk->ik", x, y)
    check(ContractByProducts, function, x, y, exact=False, tolerance=2e-2)


@pytest.mark.parametrize("equation", ["ii->i", "...ij,jk->...ik", "iij,jk->ik"])
def test_what_it_does_not_know_stays(equation):
    operands = [torch.rand(4, 4, 4) if "..." in equation or "iij" in equation else torch.rand(4, 4)]
    operands += [torch.rand(4, 4)] if "," in equation else []
    found = check(ContractByProducts, lambda *x: torch.einsum(equation, *x), *operands)
    assert not found.count
    assert equation in found.reasons
