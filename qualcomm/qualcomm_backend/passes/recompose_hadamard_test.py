import functools

import pytest
import torch
import torch.nn.functional as F
from backend_common.subgraph import constant_of

from qualcomm_backend.passes.application import Rows, name_outputs, own
from qualcomm_backend.passes.harness import compare, program_of, run
from qualcomm_backend.passes.recompose_hadamard import RecomposeHadamard, sylvester

X = torch.randn(3, 8)
H = sylvester(8, torch.float32)
PRODUCTS = {
    "linear": lambda m, x: F.linear(x, m.w),
    "matmul": lambda m, x: x @ m.w,
    "mm": lambda m, x: torch.mm(x, m.w),
}


def recompose(function, weight, x=X):
    module, program = program_of(function, x, w=weight)
    program, rows = own(program), []
    rewrite = RecomposeHadamard(functools.partial(constant_of, program))
    count = rewrite(program.graph_module, Rows(rows.append))
    name_outputs(program)
    compare([module(x)], run(program, x), exact=False)
    return count, rows


def test_the_matrix_is_a_hadamard_matrix():
    assert torch.equal(H @ H, 8 * torch.eye(8))
    assert torch.equal(H, H.t())


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("scale", [1.0, 8**-0.5, 0.3])
def test_a_product_is_a_transform(name, scale):
    assert recompose(PRODUCTS[name], H * scale)[0] == 1


def test_batches():
    assert recompose(PRODUCTS["linear"], H, torch.randn(2, 3, 8))[0] == 1


def changed(row, column, value):
    weight = H.clone()
    weight[row, column] = value
    return weight


WRONG = {
    "one_sign": changed(7, 7, -H[7, 7]),
    "one_bit": changed(3, 4, H[3, 4] * (1 + 2**-23)),
    "negative": -H,
    "zero": H * 0,
    "other_order": H[torch.randperm(8, generator=torch.Generator().manual_seed(1))],
    "scaled_rows": H * torch.arange(1.0, 9.0)[:, None],
    "nan": H * float("nan"),
}


@pytest.mark.parametrize("name", WRONG)
def test_other_matrices_stay(name):
    _, program = program_of(PRODUCTS["linear"], X, w=WRONG[name])
    rewrite = RecomposeHadamard(functools.partial(constant_of, program))
    assert not rewrite(own(program).graph_module)


def test_a_matrix_that_is_no_square_or_no_power_of_2_stays():
    assert not recompose(PRODUCTS["linear"], H[:4])[0]
    assert not recompose(PRODUCTS["linear"], torch.ones(6, 6), torch.randn(3, 6))[0]


def test_a_bias_is_told():
    count, rows = recompose(lambda m, x: F.linear(x, m.w, x[0]), H)
    assert not count
    assert "bias" in rows[0].reason


def test_a_matrix_that_is_given_stays():
    _, program = program_of(lambda x, w: x @ w, X, H)
    rewrite = RecomposeHadamard(functools.partial(constant_of, program))
    assert not rewrite(own(program).graph_module)
