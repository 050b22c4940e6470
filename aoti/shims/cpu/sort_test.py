"""Sorting and selecting against ATen's."""

import pytest
import torch
from shim_calls import (
    FLOATS,
    REALS,
    ShimError,
    Shims,
    check,
    compare,
    layouts,
    promised,
    same_layout,
    values,
)

SHIMS = Shims()
SHAPES = [((), 0), ((7,), 0), ((4, 6), 1), ((4, 6), 0), ((2, 5, 3), 1), ((0, 3), 0), ((3, 0), 0)]


def inputs(shape, dtype):
    for x in layouts(shape, dtype):
        yield x
    if dtype.is_floating_point and len(shape) == 2 and x.numel():
        x = values(shape, dtype)
        x[1, 0] = torch.nan
        x[2, 1] = torch.inf
        yield x


@pytest.mark.parametrize("dtype", [*REALS, torch.bool])
def test_sort_is_stable(dtype):
    for shape, dim in SHAPES:
        for x in inputs(shape, dtype):
            for descending in (False, True):
                check(
                    SHIMS,
                    "sort",
                    lambda x, d, r: torch.sort(x, stable=True, dim=d, descending=r),
                    [x, dim, descending],
                )
                check(
                    SHIMS,
                    "sort_stable",
                    lambda x, s, d, r: torch.sort(x, stable=s, dim=d, descending=r),
                    [x, True, dim, descending],
                )


@pytest.mark.parametrize("dtype", REALS)
def test_topk(dtype):
    for shape, dim in SHAPES:
        size = shape[dim] if shape else 1
        for x in inputs(shape, dtype):
            for k in {0, 1, (size + 1) // 2, size}:
                if k <= size:
                    for largest in (True, False):
                        check(SHIMS, "topk", torch.topk, [x, k, dim, largest, True])
    x = values([3, 500], dtype)
    check(SHIMS, "topk", torch.topk, [x, 5, 1, True, True])
    found, places = SHIMS.call("aoti_torch_cpu_topk", x, 20, 1, True, False)
    compare(found.sort().values, torch.topk(x, 20, 1).values.sort().values)
    compare(x.gather(1, places), found)


@pytest.mark.parametrize("dtype", REALS)
def test_kthvalue(dtype):
    for shape, dim in SHAPES:
        size = shape[dim] if shape else 1
        for x in inputs(shape, dtype) if size else []:
            for keepdim in (False, True):
                for k in {1, (size + 1) // 2, size} - {0}:
                    arguments = [x, k, dim, keepdim]
                    found, places = SHIMS.call("aoti_torch_cpu_kthvalue", *arguments)
                    compare(found, torch.kthvalue(*arguments).values)
                    for ours, theirs in zip((found, places), promised(torch.kthvalue, *arguments)):
                        same_layout(ours, theirs)
                    if x.numel():  # which of equal ones is not defined
                        at = places if keepdim or not shape else places.unsqueeze(dim)
                        picked = x.gather(dim, at)
                        compare(picked if keepdim or not shape else picked.squeeze(dim), found)


@pytest.mark.parametrize("dtype", REALS)
def test_mode(dtype):
    for shape, dim in SHAPES:
        if 0 in shape:
            continue
        for x in layouts(shape, dtype):
            for keepdim in (False, True):
                check(SHIMS, "mode", torch.mode, [x, dim, keepdim])


@pytest.mark.parametrize("dtype", REALS)
def test_median(dtype):
    for shape, _ in SHAPES[:5]:
        for x in inputs(shape, dtype):
            check(SHIMS, "median", torch.median, [x])
            check(SHIMS, "nanmedian", torch.nanmedian, [x])
    if dtype in FLOATS:
        check(SHIMS, "median", torch.median, [torch.empty(0, dtype=dtype)])
        check(SHIMS, "nanmedian", torch.nanmedian, [torch.full([2], torch.nan, dtype=dtype)])


def test_a_k_that_is_too_large_is_refused():
    with pytest.raises(ShimError, match="k is 4, dimension 0 has 3 elements"):
        SHIMS.call("aoti_torch_cpu_topk", torch.ones(3), 4, 0, True, True)
    with pytest.raises(ShimError, match="k is 0, dimension 0 has 3 elements"):
        SHIMS.call("aoti_torch_cpu_kthvalue", torch.ones(3), 0, 0, False)


def test_complex_numbers_have_no_order():
    with pytest.raises(ShimError, match="no kernel for complex64"):
        SHIMS.call("aoti_torch_cpu_sort", torch.ones(3, dtype=torch.complex64), 0, False)


def test_a_line_without_elements_has_no_mode():
    with pytest.raises(ShimError, match="dimension 0 has no element"):
        SHIMS.call("aoti_torch_cpu_mode", torch.empty(0, 3), 0, False)
    check(SHIMS, "mode", torch.mode, [torch.empty(3, 0), 0, False])
