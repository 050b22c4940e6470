"""Distances against ATen's."""

import math

import pytest
import torch
from shim_calls import ShimError, Shims, check, layouts, values

SHIMS = Shims()
aten = torch.ops.aten


def pdist(x, p):
    return aten._pdist_forward(x.contiguous(), p)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, torch.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cdist_and_pdist(p, dtype):
    shapes = [((4, 3), (5, 3)), ((2, 4, 3), (5, 3)), ((2, 1, 4, 3), (3, 30, 3)), ((0, 3), (2, 3))]
    for left, right in [*shapes, ((2, 0), (3, 0)), ((40, 9), (30, 9))]:
        for x1 in layouts(left, dtype)[:3] if 0 not in left else [values(left, dtype)]:
            arguments = [x1, values(right, dtype, 1), p, None]
            check(SHIMS, "_cdist_forward", aten._cdist_forward, arguments, 1e-4)
    for x in layouts((7, 3), dtype):
        check(SHIMS, "_pdist_forward", pdist, [x, p], 1e-4)


def test_rows_of_different_width_are_refused():
    with pytest.raises(ShimError, match="rows of 3 and 4"):
        SHIMS.call("aoti_torch_cpu__cdist_forward", torch.ones(2, 3), torch.ones(2, 4), 2.0, None)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("width", [5, 17])
def test_numbers_that_are_none(width, p):
    a, b = values([3, width], torch.float32), values([2, width], torch.float32, 1)
    a[0, 3], a[1, width - 1], a[2, 0], b[0, 0] = math.nan, math.nan, math.inf, math.inf
    check(SHIMS, "_cdist_forward", torch.ops.aten._cdist_forward, [a, b, p, None])
    check(SHIMS, "_pdist_forward", torch.ops.aten._pdist_forward, [torch.cat([a, b]), p])


def test_more_pairs_than_can_be_counted():
    rows = 4814665733036938101  # times the number before it: 4 modulo 2^64
    with pytest.raises(ShimError, match=f"all pairs of {rows} rows"):
        SHIMS.call("aoti_torch_cpu__pdist_forward", torch.empty(rows, 0), 2.0)
