"""Indexing by tensors and masks against ATen's."""

import pytest
import torch
from shim_calls import EVERYTHING, REALS, ShimError, Shims, check, compare, layouts, values

SHIMS = Shims()
INT = torch.tensor


def index_lists():
    """Shapes and index lists: one index, neighbours, indices apart, broadcasting, masks."""
    generator = torch.Generator().manual_seed(0)
    mask = torch.randint(0, 2, (4, 5), generator=generator).bool()
    return [
        ((6,), [INT([0, -1, 3, 3])]),
        ((4, 5, 3), [INT([1, -4])]),
        ((4, 5, 3), [None, INT([[0, 4], [2, 2]])]),
        ((4, 5, 3), [None, None, INT([2, 0])]),
        ((4, 5, 3), [INT([1, 2]), INT([0, -1])]),
        ((4, 5, 3), [INT([1, 2]), None, INT([0, -1])]),
        ((4, 5, 3), [None, INT([[1], [2]]), INT([0, -1])]),
        ((4, 5, 3), [INT(2), None, INT([0, -1, 1])]),
        ((4, 5, 3), [mask]),
        ((4, 5), [mask]),
        ((2, 4, 5), [None, mask]),
        ((4, 5), [INT([], dtype=torch.int64)]),
        ((4, 5, 3), [INT([1, 2], dtype=torch.int32), None]),
    ]


@pytest.mark.parametrize("dtype", EVERYTHING)
def test_index(dtype):
    for shape, indices in index_lists():
        for self in layouts(shape, dtype)[:3]:
            (result,) = SHIMS.call("aoti_torch_cpu_index_Tensor", self, indices)
            compare(result, torch.ops.aten.index(self, indices))


def test_index_promises_the_layout_of_its_meta_kernel():
    for shape, indices in index_lists():
        if any(i is not None and i.dtype is torch.bool for i in indices):
            continue  # their sizes are not known to a meta kernel
        for self in layouts(shape, torch.float32):
            check(SHIMS, "index_Tensor", torch.ops.aten.index, [self, indices])


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("dtype", EVERYTHING)
def test_index_put(dtype, accumulate):
    for shape, indices in index_lists():
        self = values(shape, dtype)
        full = torch.ops.aten.index(self, indices).shape
        for put in [torch.ones(full, dtype=dtype), torch.ones((), dtype=dtype)]:
            expected = torch.ops.aten.index_put(self, indices, put, accumulate)
            arguments = [self, indices, put, accumulate]
            check(SHIMS, "index_put", torch.ops.aten.index_put, arguments)
            if None not in indices:
                out = torch.empty(shape, dtype=dtype)
                SHIMS.call("aoti_torch_index_put_out", out, *arguments)
                compare(out, expected)
                SHIMS.call("aoti_torch_index_put_out", self, *arguments)
                compare(self, expected)
                self = values(shape, dtype)


def test_index_put_of_different_values_and_layouts():
    self, put = values([4, 6], torch.float32), values([6, 3], torch.float32, 1)
    indices = [None, INT([5, 0, 2])]
    for target in layouts([4, 6], torch.float32)[:3]:
        arguments = [target, indices, put[:4], False]
        check(SHIMS, "index_put", torch.ops.aten.index_put, arguments)
    arguments = [self, [INT([1, 1, 3])], put.t()[:, :6], True]
    check(SHIMS, "index_put", torch.ops.aten.index_put, arguments)


@pytest.mark.parametrize("dtype", [*REALS, torch.bool, torch.complex64])
def test_nonzero_and_masks(dtype):
    for shape in [(), (7,), (4, 5), (2, 3, 4), (0, 3)]:
        for x in layouts(shape, dtype):
            (result,) = SHIMS.call("aoti_torch_cpu_nonzero", x)
            compare(result, torch.nonzero(x))
            assert result.is_contiguous()
            (result,) = SHIMS.call("aoti_torch_cpu_nonzero_static", x, 6, -1)
            compare(result, torch.ops.aten.nonzero_static(x, size=6))
            mask = values(shape, torch.bool, 1)
            (result,) = SHIMS.call("aoti_torch_cpu_masked_select", x, mask)
            compare(result, torch.masked_select(x, mask))
            source = torch.arange(x.numel()).to(dtype)
            check(SHIMS, "masked_scatter", torch.masked_scatter, [x, mask, source])


def test_masks_broadcast():
    x, mask = values([4, 1, 3], torch.float32), values([5, 1], torch.bool)
    (result,) = SHIMS.call("aoti_torch_cpu_masked_select", x, mask)
    compare(result, torch.masked_select(x, mask))


def test_an_index_outside_is_refused():
    for place in (-5, 4):
        with pytest.raises(ShimError, match=f"index {place} is outside of dimension 0 of size 4"):
            SHIMS.call("aoti_torch_cpu_index_Tensor", torch.ones(4), [INT([0, place])])
        with pytest.raises(ShimError, match=f"index {place} is outside"):
            out = torch.ones(4)
            arguments = [out, out, [INT([place])], torch.ones(1), True]
            SHIMS.call("aoti_torch_index_put_out", *arguments)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShimError, match=r"a mask of sizes \[3\] for a tensor of \[4\]"):
        SHIMS.call("aoti_torch_cpu_index_Tensor", torch.ones(4), [INT([True, False, True])])
    with pytest.raises(ShimError, match="the mask selects 2 elements, the source has 1"):
        SHIMS.call("aoti_torch_cpu_masked_scatter", torch.ones(2), INT([True, True]), torch.ones(1))
