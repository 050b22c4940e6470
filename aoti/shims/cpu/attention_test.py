"""Attention against ATen's flash kernel."""

import pytest
import torch
from shim_calls import FLOATS, ShimError, Shims, check, compare, values

SHIMS = Shims()
NAME = "_scaled_dot_product_flash_attention_for_cpu"
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float64: 1e-10}


def operator(query, key, value, dropout, causal, mask, scale):
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, dropout, causal, attn_mask=mask, scale=scale
    )


def run(query, key, value, causal=False, mask=None, scale=None):
    arguments = [query, key, value, 0.0, causal, mask, scale]
    check(SHIMS, NAME, operator, arguments, TOLERANCE.get(query.dtype, 1e-5))


@pytest.mark.parametrize("dtype", FLOATS)
def test_sizes_masks_and_scales(dtype):
    for batch, heads, queries, keys, width in [
        (1, 1, 1, 1, 8),
        (2, 3, 7, 9, 16),
        (1, 2, 70, 300, 32),
        (1, 4, 130, 130, 20),
    ]:
        query = values([batch, heads, queries, width], dtype)
        key = values([batch, heads, keys, width], dtype, 1)
        value = values([batch, heads, keys, width], dtype, 2)
        run(query, key, value)
        run(query, key, value, scale=0.3)
        run(query, key, value, causal=True)
        for shape in ([batch, heads, queries, keys], [1, 1, queries, keys], [queries, keys]):
            run(query, key, value, mask=values(shape, dtype, 3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_heads_that_lie_apart(dtype):
    # (batch, position, head, width), as projections make it: the result lies so too.
    query, key, value = (values([2, 9, 4, 16], dtype, s).transpose(1, 2) for s in range(3))
    run(query, key, value)
    run(query, values([2, 1, 9, 16], dtype).expand(2, 4, 9, 16), value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("heads", [1, 2, 8])
def test_heads_in_groups(dtype, heads):
    query = values([2, 8, 70, 16], dtype)
    key, value = (values([2, heads, 70, 16], dtype, s) for s in (1, 2))
    run(query, key, value)
    run(query, key, value, causal=True)


def test_heads_that_make_no_groups_are_refused():
    query, key = values([2, 8, 5, 16], torch.float32), values([2, 3, 5, 16], torch.float32, 1)
    with pytest.raises(ShimError, match="do not fit"):
        SHIMS.call(f"aoti_torch_cpu_{NAME}", query, key, key, 0.0, False, None, None)


def test_hidden_keys():
    query, key, value = (values([1, 2, 5, 8], torch.float32, s) for s in range(3))
    mask = torch.zeros(5, 5).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
    run(query, key, value, mask=mask)
    seen = torch.ones(5, 5).tril().bool()
    out, _ = SHIMS.call(f"aoti_torch_cpu_{NAME}", query, key, value, 0.0, False, seen, None)
    compare(out, operator(query, key, value, 0.0, False, mask, None)[0])


def test_a_query_that_sees_nothing():
    query, key, value = (values([1, 1, 2, 8], torch.float32, s) for s in range(3))
    mask = torch.tensor([[0.0, 0.0], [-torch.inf, -torch.inf]])
    out, _ = SHIMS.call(f"aoti_torch_cpu_{NAME}", query, key, value, 0.0, False, mask, None)
    compare(out, operator(query, key, value, 0.0, False, mask, None)[0])


def test_a_nan_stays_in_its_row():
    query, key, value = (values([1, 1, 3, 8], torch.float32, s) for s in range(3))
    query[0, 0, 1, 2] = torch.nan
    out, _ = SHIMS.call(f"aoti_torch_cpu_{NAME}", query, key, value, 0.0, False, None, None)
    assert out.isnan().any(-1).flatten().tolist() == [False, True, False]


def test_what_is_not_supported_is_refused():
    x = torch.ones(1, 2, 3, 4)
    with pytest.raises(ShimError, match=r"dropout is 0\.5"):
        SHIMS.call(f"aoti_torch_cpu_{NAME}", x, x, x, 0.5, False, None, None)
    with pytest.raises(ShimError, match=r"sizes \[1, 2, 3, 4\], \[1, 2, 3, 2\]"):
        SHIMS.call(f"aoti_torch_cpu_{NAME}", x, x[..., :2], x[..., :2], 0.0, False, None, None)
