"""Views, joins and paddings against ATen's."""

import pytest
import torch
from shim_calls import EVERYTHING, ShimError, Shims, check, compare, layouts, values

SHIMS = Shims()
aten = torch.ops.aten


def test_views():
    for x in layouts((4, 1, 6), torch.float32):
        check(SHIMS, "permute", aten.permute, [x, [2, 0, -2]])
        check(SHIMS, "narrow", torch.narrow, [x, 2, 1, 3])
        check(SHIMS, "squeeze_dim", aten.squeeze.dim, [x, 1])
        check(SHIMS, "squeeze_dim", aten.squeeze.dim, [x, 0])
        for start, end, step in [(None, None, 2), (1, -1, 1), (-3, 99, 2), (5, 2, 1)]:
            check(SHIMS, "slice_Tensor", aten.slice.Tensor, [x, 2, start, end, step])


def test_reshape_is_a_view_where_it_can_be():
    for x in [*layouts((4, 1, 6), torch.float32), torch.ones(()), torch.ones(0, 3)]:
        shapes = [[24], [4, 6], [2, 2, 6], [-1, 3], [8, 3, 1], [1, 4, 1, 6]]
        for shape in shapes if x.numel() == 24 else [[-1], [x.numel(), 1]]:
            check(SHIMS, "reshape", torch.reshape, [x, shape])
    x = torch.ones(4, 6)
    with pytest.raises(ShimError, match=r"sizes \[5, -1\] for 24 elements"):
        SHIMS.call("aoti_torch_cpu_reshape", x, [5, -1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_complex_numbers_as_pairs(dtype):
    z = {torch.float32: torch.complex64, torch.float64: torch.complex128}[dtype]
    for x in layouts((4, 6), z):
        check(SHIMS, "view_as_real", torch.view_as_real, [x])
    check(SHIMS, "view_as_complex", torch.view_as_complex, [values([3, 4, 2], dtype)])
    check(
        SHIMS, "view_as_complex", torch.view_as_complex, [values([4, 3, 2], dtype).transpose(0, 1)]
    )
    with pytest.raises(ShimError, match="two numbers side by side"):
        SHIMS.call("aoti_torch_cpu_view_as_complex", values([2, 4], dtype).t())


def test_view_dtype():
    for to in (torch.int32, torch.int16, torch.float64):
        check(SHIMS, "view_dtype", aten.view.dtype, [values([3, 4], torch.float32), to])
    check(SHIMS, "view_dtype", aten.view.dtype, [values([3, 4], torch.float32).t(), torch.int32])


@pytest.mark.parametrize("dtype", EVERYTHING)
def test_cat(dtype):
    for x in layouts((4, 6), dtype):
        for dim, other in [(0, (2, 6)), (1, (4, 3)), (-1, (4, 0))]:
            arguments = [[x, values(other, dtype), torch.empty(0, dtype=dtype)], dim]
            check(SHIMS, "cat", torch.cat, arguments)
    last = values([2, 3, 4, 5], dtype).contiguous(memory_format=torch.channels_last)
    check(SHIMS, "cat", torch.cat, [[last, last], 1])
    check(SHIMS, "cat", torch.cat, [[last, last.contiguous()], 1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16])
def test_pad(dtype):
    for x in layouts((2, 4, 6), dtype):
        for padding in ([1, 2], [0, 1, 2, 0], [-1, 2, 1, -2]):
            check(SHIMS, "pad", aten.pad, [x, padding, "constant", 3.0])
            check(SHIMS, "pad", aten.pad, [x, padding, "constant", None])
    with pytest.raises(ShimError, match="mode 'reflect' is not supported"):
        SHIMS.call("aoti_torch_cpu_pad", torch.ones(1, 3), [1, 1], "reflect", None)


def test_repeat_interleave():
    for dtype in (torch.int64, torch.int32):
        repeats = torch.tensor([2, 0, 3], dtype=dtype)
        (result,) = SHIMS.call("aoti_torch_cpu_repeat_interleave_Tensor", repeats, None)
        compare(result, torch.repeat_interleave(repeats))
    with pytest.raises(ShimError, match="repeats sum up to 5, not to 4"):
        SHIMS.call("aoti_torch_cpu_repeat_interleave_Tensor", repeats, 4)


def test_new_zeros():
    (result,) = SHIMS.call("aoti_torch_aten_new_zeros", torch.ones(2), [3, 4], torch.int64)
    compare(result, torch.zeros(3, 4, dtype=torch.int64))


def test_numbers_that_overflow_are_refused():
    largest = 2**63 - 1
    wide = torch.zeros(1).expand(2**62)
    for name, arguments, text in [
        (
            "repeat_interleave_Tensor",
            [torch.tensor([largest, largest, 7]), None],
            "more than int64",
        ),
        ("pad", [torch.ones(3), [largest, largest], "constant", 0.0], "padding"),
        ("pad", [torch.ones(3), [-(2**63), 0], "constant", 0.0], "padding"),
        ("cat", [[wide, wide, wide], 0], "dimension 0 becomes too large"),
        ("view_dtype", [torch.ones(()), torch.int16], "dense last dimension"),
        ("view_dtype", [torch.ones(4, 2)[:, ::2], torch.int16], "dense last dimension"),
    ]:
        with pytest.raises(ShimError, match=text):
            SHIMS.call(f"aoti_torch_cpu_{name}", *arguments)


def test_a_step_beyond_the_end():
    check(SHIMS, "slice_Tensor", torch.ops.aten.slice.Tensor, [torch.ones(6), 0, 1, 4, 2**62])
