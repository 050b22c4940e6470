import pytest
import torch
import torch.nn.functional as F

from qualcomm_backend.passes.attend import Attend
from qualcomm_backend.passes.harness import INF, check

Q, K, V = (torch.randn(2, 4, length, 8) for length in (5, 7, 7))
BOOL = torch.rand(5, 7) > 0.4


def test_plain_and_causal():
    function = lambda q, k, v: (
        F.scaled_dot_product_attention(q, k, v),
        F.scaled_dot_product_attention(q, k, v, is_causal=True),
        F.scaled_dot_product_attention(q, k, v, scale=0.3),
        F.scaled_dot_product_attention(k, q, q, is_causal=True),
    )
    assert check(Attend, function, Q, K, V, exact=False).count == 4


@pytest.mark.parametrize("mask", [BOOL, torch.randn(5, 7), torch.randn(2, 1, 5, 7)])
def test_masks(mask):
    mask = mask.clone()
    mask.reshape(-1, 7)[0] = False if mask.dtype is torch.bool else -INF  # all of a row
    function = lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m)
    assert check(Attend, function, Q, K, V, mask, exact=False).count == 1


def test_grouped_heads():
    function = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    assert check(Attend, function, Q, K[:, :2], V[:, :2], exact=False).count == 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves(dtype):
    q, k, v = (each.to(dtype) for each in (Q, K, V))
    function = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert check(Attend, function, q, k, v, exact=False, tolerance=2e-2).count == 1


def test_three_dimensions():
    function = lambda q, k, v: F.scaled_dot_product_attention(q[0], k[0], v[0])
    assert check(Attend, function, Q, K, V, exact=False).count == 1
