"""Scatter and its reductions against ATen's, in place and out of place."""

import ctypes

import pytest
import torch
from shim_calls import (
    COMPLEX,
    EVERYTHING,
    FLOATS,
    INTEGERS,
    ShimError,
    Shims,
    check,
    compare,
    layouts,
    values,
)

SHIMS = Shims()
REDUCTIONS = ["sum", "prod", "mean", "amax", "amin"]


def places(shape, size, dtype=torch.int64):
    generator = torch.Generator().manual_seed(3)
    return torch.randint(0, max(size, 1), tuple(shape), generator=generator).to(dtype)


CASES = [((5,), (9,), 0), ((4, 6), (4, 9), 1), ((4, 6), (3, 5), 0), ((3, 4, 5), (2, 7, 4), 1)]
CASES += [((), (), 0), ((4, 6), (0, 6), 0), ((2, 50, 40), (2, 60, 40), -2)]


@pytest.mark.parametrize("dtype", EVERYTHING)
def test_scatter_from_a_tensor_and_a_number(dtype):
    for shape, index_shape, dim in CASES:
        # Different targets only: which of several values stays is not defined.
        random = torch.rand(index_shape, generator=torch.Generator().manual_seed(1))
        index = torch.argsort(random, dim) if index_shape else places((), 1)
        index = index % (shape[dim] if shape else 1) if index.numel() else index
        unique = torch.zeros(index_shape) if not index_shape else index
        for self in layouts(shape, dtype):
            source = torch.ones(index_shape, dtype=dtype)
            for out in (torch.empty(shape, dtype=dtype), self.clone()):
                SHIMS.call("aoti_torch_cpu_scatter_src_out", out, self, dim, unique.long(), source)
                compare(out, torch.scatter(self, dim, unique.long(), source))
                SHIMS.call("aoti_torch_scatter_out", out, self, dim, unique.long(), source)
                compare(out, torch.scatter(self, dim, unique.long(), source))
                if not dtype.is_complex:
                    SHIMS.call("aoti_torch_cpu_scatter_value_out", out, self, dim, index, 1.0)
                    compare(out, torch.scatter(self, dim, index, 1))


def test_scatter_of_different_values():
    generator = torch.Generator().manual_seed(1)
    index = torch.stack([torch.randperm(6, generator=generator) for _ in range(4)])
    for source in layouts([4, 6], torch.float32):
        out = torch.empty(4, 6)
        SHIMS.call("aoti_torch_cpu_scatter_src_out", out, torch.zeros(4, 6), 1, index, source)
        compare(out, torch.zeros(4, 6).scatter(1, index, source))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS + COMPLEX + [torch.bool])
def test_scatter_reduce(dtype, reduction):
    if (dtype.is_complex and reduction in ("amax", "amin")) or (
        dtype is torch.bool and reduction == "mean"
    ):
        return  # ATen has none
    for shape, index_shape, dim in CASES:
        index = places(index_shape, shape[dim] if shape else 1)
        self = values(shape, dtype)
        for include in (True, False):
            for source in layouts(index_shape, dtype, 1)[:3]:
                out = torch.empty(shape, dtype=dtype)
                for name in (
                    "aoti_torch_cpu_scatter_reduce_two_out",
                    "aoti_torch_scatter_reduce_out",
                ):
                    SHIMS.call(name, out, self, dim, index, source, reduction, include)
                    if dtype.is_complex:
                        assert reduction in ("sum", "prod", "mean")
                        expected = complex_reduce(self, dim, index, source, reduction, include)
                    else:
                        expected = torch.scatter_reduce(
                            self, dim, index, source, reduction, include_self=include
                        )
                    compare(
                        out, expected, 3e-2 if dtype in (torch.bfloat16, torch.float16) else 1e-4
                    )


def complex_reduce(self, dim, index, source, reduction, include):
    """ATen has only the sum of complex numbers."""
    if reduction == "sum" and include:
        return self.scatter_add(dim, index, source)
    result = self.clone().reshape(self.shape or (1,))
    count = torch.ones(result.shape) if include else torch.zeros(result.shape)
    index, source = index.reshape(index.shape or (1,)), source.reshape(index.shape or (1,))
    for at in torch.cartesian_prod(*[torch.arange(n) for n in index.shape]).reshape(
        -1, index.dim()
    ):
        at = tuple(at.tolist())
        to = list(at)
        to[dim] = index[at].item()
        to = tuple(to)
        first = count[to] == 0
        count[to] += 1
        old = result[to]
        new = (
            source[at] if first else (old * source[at] if reduction == "prod" else old + source[at])
        )
        result[to] = new
    if reduction == "mean":
        result = torch.where(count > 0, result / count.clamp(min=1), result)
    return result.reshape(self.shape).to(self.dtype)


def test_scatter_add_in_place_keeps_what_is_there():
    counts = torch.arange(5)
    index = torch.tensor([0, 0, 4, 4, 4])
    expected = counts.scatter_add(0, index, torch.ones(5, dtype=torch.int64))
    SHIMS.call(
        "aoti_torch_cpu_scatter_reduce_two_out",
        counts,
        counts,
        0,
        index,
        torch.ones(5, dtype=torch.int64),
        "sum",
        True,
    )
    compare(counts, expected)


def test_the_largest_is_a_nan_if_there_is_one():
    self, source = torch.zeros(2), torch.tensor([1.0, torch.nan, 2.0])
    index = torch.tensor([0, 0, 1])
    out = torch.empty(2)
    arguments = [out, self, 0, index, source, "amax", True]
    SHIMS.call("aoti_torch_cpu_scatter_reduce_two_out", *arguments)
    compare(out, torch.scatter_reduce(self, 0, index, source, "amax"))


@pytest.mark.parametrize("reduction", ["prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.uint8])
def test_index_reduce(dtype, reduction):
    def operator(self, dim, index, source, reduction, include):
        return torch.index_reduce(self, dim, index, source, reduction, include_self=include)

    for include in (True, False):
        index = places([7], 4, torch.int64)
        for self in layouts([3, 4, 5], dtype)[:3]:
            arguments = [self, 1, index, values([3, 7, 5], dtype, 1), reduction, include]
            check(SHIMS, "index_reduce", operator, arguments, 5e-2 if dtype.itemsize == 2 else None)


@pytest.mark.parametrize("place", [-1, 3])
def test_an_index_outside_is_refused_and_its_text_is_kept(place):
    index = torch.tensor([0, place])
    for name, more in [
        ("aoti_torch_cpu_scatter_src_out", []),
        ("aoti_torch_cpu_scatter_reduce_two_out", ["sum", True]),
    ]:
        with pytest.raises(ShimError, match=f"index {place} is outside of dimension 0 of size 3"):
            SHIMS.call(name, torch.empty(3), torch.zeros(3), 0, index, torch.ones(2), *more)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShimError, match="dtypes are float32 and float64"):
        source = torch.ones(2, dtype=torch.float64)
        index = torch.tensor([0, 1])
        SHIMS.call(
            "aoti_torch_cpu_scatter_src_out", torch.empty(3), torch.zeros(3), 0, index, source
        )
    with pytest.raises(ShimError, match=r"a source of sizes \[1\] for an index of \[2\]"):
        source = torch.ones(1)
        SHIMS.call(
            "aoti_torch_cpu_scatter_src_out", torch.empty(3), torch.zeros(3), 0, index, source
        )
    with pytest.raises(ShimError, match="reduction 'median' is none of sum"):
        arguments = [torch.empty(3), torch.zeros(3), 0, index, torch.ones(2), "median", True]
        SHIMS.call("aoti_torch_cpu_scatter_reduce_two_out", *arguments)


def test_counts_wrap_as_the_sums_do():
    for dtype in (torch.uint8, torch.int8):
        for count in (127, 128, 255, 256, 257):
            index, source = torch.zeros(count, dtype=torch.int64), torch.full((count,), 3)
            self, out = torch.ones(2, dtype=dtype), torch.empty(2, dtype=dtype)
            for include in (False, True):
                arguments = [self, 0, index, source.to(dtype), "mean"]
                SHIMS.call("aoti_torch_cpu_scatter_reduce_two_out", out, *arguments, include)
                compare(out, torch.scatter_reduce(*arguments, include_self=include))


def test_what_is_written_while_it_is_read_is_refused():
    x, index = torch.zeros(5), torch.arange(5)
    for arguments, text in [
        ([x, x, 0, index, x], "share memory with what is written"),
        ([index, index, 0, index, torch.arange(5)], "share memory with what is written"),
        ([x[:1].expand(5), x, 0, index, torch.ones(5)], "written more than once"),
    ]:
        with pytest.raises(ShimError, match=text):
            SHIMS.call("aoti_torch_cpu_scatter_src_out", *arguments)


def test_a_reduction_without_a_name_is_refused():
    handle = ctypes.c_void_p()
    SHIMS.library.aoti_torch_empty_strided(
        ctypes.c_int64(0), None, None, 6, 0, 0, ctypes.byref(handle)
    )
    for name in ("aoti_torch_scatter_reduce_out", "aoti_torch_cpu_scatter_reduce_two_out"):
        call = getattr(SHIMS.library, name)
        assert call(handle, handle, ctypes.c_int64(0), handle, handle, None, 1) == 1
        assert b"no name of a reduction" in SHIMS.library.executorch_backends_aoti_last_error()
        SHIMS.library.executorch_backends_aoti_clear_error()
    SHIMS.library.aoti_torch_delete_tensor_object(handle)
