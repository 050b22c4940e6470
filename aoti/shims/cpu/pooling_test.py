"""Pooling against ATen's."""

import pytest
import torch
from shim_calls import FLOATS, ShimError, Shims, check, compare, values

SHIMS = Shims()
aten = torch.ops.aten
TOLERANCE = {torch.float16: 5e-3, torch.bfloat16: 3e-2}


def images(rank, dtype):
    """With and without a batch; channels last; sliced."""
    sizes = [9, 8] if rank == 2 else [5, 9, 8]
    last = torch.channels_last if rank == 2 else torch.channels_last_3d
    x = values([2, 3, *sizes], dtype)
    yield x
    yield x[0]
    yield x.contiguous(memory_format=last)
    yield values([2, 3, *sizes[:-1], 17], dtype)[..., 1::2]


WINDOWS = [(2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 2), (2, 3, 1, 1), (3, 3, 0, 2)]


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64])
def test_max_pool(rank, dtype):
    operator = getattr(aten, f"max_pool{rank}d_with_indices")
    for x in images(rank, dtype):
        for kernel, stride, padding, dilation in WINDOWS:
            for ceil in (False, True):
                windows = [[n] * rank for n in (kernel, stride, padding, dilation)]
                check(SHIMS, f"max_pool{rank}d_with_indices", operator, [x, *windows, ceil])


def test_a_nan_is_the_largest_and_the_default_stride_is_the_kernel():
    x = values([1, 1, 6, 6], torch.float32)
    x[0, 0, 2, 3] = torch.nan
    operator = aten.max_pool2d_with_indices
    check(SHIMS, "max_pool2d_with_indices", operator, [x, [3, 3], [], [0, 0], [1, 1], False])


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_avg_pool(rank, dtype):
    operator = getattr(aten, f"avg_pool{rank}d")
    for x in images(rank, dtype):
        for kernel, stride, padding, _ in WINDOWS:
            for ceil in (False, True):
                for include, divisor in [(True, None), (False, None), (True, 5)]:
                    windows = [[n] * rank for n in (kernel, stride, padding)]
                    arguments = [x, *windows, ceil, include, divisor]
                    tolerance = TOLERANCE.get(dtype)
                    check(SHIMS, f"avg_pool{rank}d", operator, arguments, tolerance, in_float=True)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_adaptive(rank, dtype):
    for x in images(rank, dtype):
        for size in ([1] * rank, [4, 3, 5][:rank], [11] * rank):
            average = getattr(aten, f"_adaptive_avg_pool{rank}d")
            check(SHIMS, f"_adaptive_avg_pool{rank}d", average, [x, size], TOLERANCE.get(dtype))
            maximum = getattr(aten, f"adaptive_max_pool{rank}d")
            check(SHIMS, f"adaptive_max_pool{rank}d", maximum, [x, size])


@pytest.mark.parametrize("rank", [2, 3])
def test_unpool(rank):
    for x in images(rank, torch.float32):
        pool = getattr(torch.nn.functional, f"max_pool{rank}d")
        y, places = pool(x, 2, return_indices=True)
        size = list(x.shape[-rank:])
        arguments = [y, places, size] + ([[2] * 3, [0] * 3] if rank == 3 else [])
        check(SHIMS, f"max_unpool{rank}d", getattr(aten, f"max_unpool{rank}d"), arguments)


def test_nothing_in_the_batch():
    x = torch.ones(0, 3, 8, 8)
    operator = aten.max_pool2d_with_indices
    check(SHIMS, "max_pool2d_with_indices", operator, [x, [2, 2], [2, 2], [0, 0], [1, 1], False])
    check(SHIMS, "_adaptive_avg_pool2d", aten._adaptive_avg_pool2d, [x, [2, 2]])


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShimError, match="too small for a reach of 3"):
        arguments = [torch.ones(1, 2, 2), [3, 3], [1, 1], [0, 0], False, True, None]
        SHIMS.call("aoti_torch_cpu_avg_pool2d", *arguments)
    with pytest.raises(ShimError, match="index 4 is outside of an output of"):
        x = torch.ones(1, 1, 1)
        SHIMS.call("aoti_torch_cpu_max_unpool2d", x, torch.full([1, 1, 1], 4), [2, 2])


def test_numbers_that_overflow_are_refused():
    image = torch.ones(1, 3, 3)
    for name, arguments, text in [
        ("max_pool2d_with_indices", [[1, 5], [1, 1], [0, 0], [1, 2**62], False], "dilation"),
        ("max_pool2d_with_indices", [[1, 1], [1, 1], [0, 2**62], [1, 1], False], "padding"),
        ("avg_pool2d", [[2**62, 2], [1, 1], [2**61, 0], False, True, None], "kernel of sizes"),
    ]:
        with pytest.raises(ShimError, match=text):
            SHIMS.call(f"aoti_torch_cpu_{name}", image, *arguments)


def test_a_large_kernel_over_a_small_image():
    image = values([1, 3, 4], torch.float32)  # ATen's kernels are counted in int32
    lists = [2**40 + 1, 1], [1, 1], [2**39, 0], [1, 1]
    best, places = SHIMS.call("aoti_torch_cpu_max_pool2d_with_indices", image, *lists, False)
    compare(best, image.amax(1, keepdim=True).expand(1, 3, 4))
    compare(places, (image.argmax(1, keepdim=True) * 4 + torch.arange(4)).expand(1, 3, 4))


def test_nothing_to_pool_is_refused():
    for name in ("_adaptive_avg_pool2d", "adaptive_max_pool2d"):
        with pytest.raises(ShimError, match="has no elements to pool"):
            SHIMS.call(f"aoti_torch_cpu_{name}", torch.ones(1, 2, 0, 3), [2, 2])
