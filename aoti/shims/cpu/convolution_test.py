"""Convolutions against ATen's, at any rank, with and without groups, dilated, and transposed."""

import random

import pytest
import torch
from shim_calls import COMPLEX, FLOATS, ShimError, Shims, check, compare, values

SHIMS = Shims()
TOLERANCE = {torch.float16: 5e-3, torch.bfloat16: 3e-2, torch.float64: 1e-10}


@pytest.fixture(autouse=True)
def layouts_without_mkldnn():
    # As programs are lowered: its kernels would promise other layouts.
    with torch.backends.mkldnn.flags(enabled=False):
        yield


def run(x, w, bias=None, stride=1, padding=0, dilation=1, transposed=False, extra=0, groups=1):
    rank = x.dim() - 2
    numbers = [[n] * rank if isinstance(n, int) else n for n in (stride, padding, dilation, extra)]
    arguments = [x, w, bias, *numbers[:3], transposed, numbers[3], groups]
    tolerance = TOLERANCE.get(x.dtype, 1e-4)
    # ATen itself sums up some of them in 16 bits.
    check(SHIMS, "convolution", torch.ops.aten.convolution, arguments, tolerance, in_float=True)


def sizes(rank):
    return {1: [19], 2: [9, 11], 3: [5, 6, 7]}[rank]


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_every_combination(rank, transposed):
    for groups, bias in [(1, True), (2, False), (4, True)]:
        for stride, padding, dilation in [(1, 0, 1), (2, 1, 1), (1, 2, 2), (3, 1, 2)]:
            w = values(
                [4, (6 if transposed else 4) // (1 if transposed else groups), *[3] * rank],
                torch.float32,
                1,
            )
            channels = w.shape[1] * groups if transposed else 4
            run(
                values([2, 4, *sizes(rank)], torch.float32),
                w,
                values([channels], torch.float32, 2) if bias else None,
                stride,
                padding,
                dilation,
                transposed,
                1 if transposed and stride > 1 else 0,
                groups,
            )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("transposed", [False, True])
def test_dtypes(dtype, transposed):
    for groups in (1, 2):
        w = values([4, 2 if not transposed and groups == 2 else 4, 3, 2], dtype, 1)
        bias = values([4 * (groups if transposed else 1)], dtype, 2)
        x = values([2, 4, 7, 8], dtype)
        run(x, w, bias, [2, 1], [1, 0], [1, 2], transposed, 0, groups)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers(dtype):
    x, w, bias = values([2, 4, 7, 8], dtype), values([6, 2, 3, 2], dtype, 1), values([6], dtype, 2)
    arguments = [x, w, bias, [2, 1], [1, 0], [1, 2], False, [0, 0], 2]
    (result,) = SHIMS.call("aoti_torch_cpu_convolution", *arguments)
    expected = torch.nn.functional.conv2d(x, w, bias, [2, 1], [1, 0], [1, 2], 2)
    compare(result, expected, 1e-4)


def test_integers(dtype=torch.int64):
    run(values([2, 3, 7, 8], dtype), values([4, 3, 3, 2], dtype, 1), values([4], dtype, 2))


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_channels_last_in_either_operand(rank, dtype):
    last = torch.channels_last if rank == 2 else torch.channels_last_3d
    x, w = values([2, 4, *sizes(rank)], dtype), values([6, 4, *[3] * rank], dtype, 1)
    d = values([4, 1, *[3] * rank], dtype, 1)
    for image in (x, x.contiguous(memory_format=last)):
        for weight in (w, w.contiguous(memory_format=last)):
            run(image, weight, padding=1)
            run(image, weight.transpose(0, 1), transposed=True)
        run(image, d, padding=1, groups=4)


def test_sliced_transposed_and_expanded_images():
    w = values([5, 3, 3, 3], torch.float32)
    run(values([2, 3, 9, 20], torch.float32)[..., 1::2], w)
    run(values([2, 9, 8, 3], torch.float32).permute(0, 3, 2, 1), w)
    run(values([1, 1, 9, 8], torch.float32).expand(2, 3, 9, 8), w)
    run(values([2, 19, 3], torch.float32).transpose(1, 2), values([5, 3, 3], torch.float32))


def test_one_by_one_and_large_kernels():
    run(values([1, 70, 12, 12], torch.float32), values([90, 70, 1, 1], torch.float32))
    run(values([1, 3, 30, 30], torch.float32), values([8, 3, 11, 11], torch.float32), None, 4, 2)
    run(values([1, 1, 900], torch.float32), values([3, 1, 400], torch.float32), None, 160)
    run(values([2, 8, 9, 9], torch.float32), values([24, 1, 3, 3], torch.float32), None, groups=8)


def test_nothing_in_the_batch():
    run(values([0, 3, 9, 8], torch.float32), values([5, 3, 3, 3], torch.float32))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShimError, match=r"weights of sizes \[4, 3, 3, 3\] do not fit 2 channels"):
        run_shim(values([1, 2, 9, 9], torch.float32), values([4, 3, 3, 3], torch.float32))
    with pytest.raises(ShimError, match="smaller than the kernel's reach of 3"):
        run_shim(values([1, 3, 2, 9], torch.float32), values([4, 3, 3, 3], torch.float32))
    with pytest.raises(ShimError, match="dtypes are float32 and float64"):
        run_shim(values([1, 3, 9, 9], torch.float32), values([4, 3, 3, 3], torch.float64))


def run_shim(x, w):
    arguments = [x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1]
    return SHIMS.call("aoti_torch_cpu_convolution", *arguments)


def test_numbers_that_overflow_are_refused():
    for channels in (1, 2):
        for stride, padding, dilation, transposed in [
            (1, 0, 2**62, False),
            (1, 2**63 - 1, 1, False),
            (1, 2**62 - 1, 1, True),
            (2**62, 0, 1, True),
            (1, 0, 2**61, True),
        ]:
            image, weight = torch.ones(1, channels, 8), torch.ones(channels, channels, 5)
            lists = [[stride], [padding], [dilation], transposed, [0]]
            with pytest.raises(ShimError):
                SHIMS.call("aoti_torch_cpu_convolution", image, weight, None, *lists, 1)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64])
def test_a_filter_for_each_channel_where_channels_lie_next_to_each_other(dtype):
    for channels in (2, 8, 37, 96):
        for kernel, stride, padding, dilation in [
            ([3, 3], [1, 1], [1, 1], [1, 1]),
            ([3, 5], [2, 3], [1, 2], [1, 1]),
            ([2, 3], [1, 2], [0, 4], [3, 2]),
            ([1, 1], [1, 1], [0, 0], [1, 1]),
        ]:
            x = values([2, channels, 9, 11], dtype).contiguous(memory_format=torch.channels_last)
            weight = values([channels, 1, *kernel], dtype, 1)
            for bias in (None, values([channels], dtype, 2)):
                lists = [stride, padding, dilation, False, [0, 0]]
                run = [x, weight, bias, *lists, channels]
                if dtype is torch.int64:
                    (actual,) = SHIMS.call("aoti_torch_cpu_convolution", *run)
                    wide = [t if t is None else t.double() for t in run[:3]]
                    expected = torch.ops.aten.convolution(*wide, *run[3:])
                    compare(actual, expected.to(dtype))
                else:
                    operator = torch.ops.aten.convolution
                    check(
                        SHIMS,
                        "convolution",
                        operator,
                        run,
                        2e-2 if dtype in FLOATS[2:] else 1e-4,
                        in_float=True,
                    )


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_many_geometries(rank):
    """Strides beyond the dilation and the kernel, wide paddings, images of a few vectors."""
    chance = random.Random(rank)

    def each(*numbers):
        return [chance.choice(numbers) for _ in range(rank)]

    done = 0
    while done < 60:
        kernel, stride, dilation = each(1, 2, 3, 3, 5, 7), each(1, 1, 2, 3, 4), each(1, 1, 2, 3, 4)
        padding, image = (
            each(0, 0, 1, 2, 5),
            each(*((1, 3, 8, 17, 40) if rank > 1 else (5, 33, 300))),
        )
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
        if any(i + 2 * p < r for i, p, r in zip(image, padding, reach, strict=True)):
            continue
        groups, channels = chance.choice([(1, 1), (1, 5), (2, 3), (8, 1)])
        filters = groups * chance.choice([1, 2, 13])
        x = values([chance.choice([1, 3]), groups * channels, *image], torch.float32, done)
        w = values([filters, channels, *kernel], torch.float32, done + 1)
        bias = values([filters], torch.float32, 2) if chance.random() < 0.5 else None
        run(x, w, bias, stride, padding, dilation, groups=groups)
        done += 1
