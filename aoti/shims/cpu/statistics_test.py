"""Histograms and reductions of segments against ATen's."""

import pytest
import torch
from shim_calls import FLOATS, ShimError, Shims, check, layouts, values

SHIMS = Shims()


@pytest.mark.parametrize("dtype", FLOATS[:2])
def test_histc(dtype):
    for shape in [(50,), (4, 6), (1,), (0,)]:
        for x in layouts(shape, dtype)[:3]:
            for bins, low, high in [(10, 0.0, 0.0), (7, -1.0, 1.0), (1, -2.0, 2.0)]:
                check(SHIMS, "histc", torch.histc, [x, bins, low, high])
    with pytest.raises(ShimError, match="is not finite"):
        SHIMS.call("aoti_torch_cpu_histc", torch.tensor([torch.inf]), 3, 0.0, 0.0)


@pytest.mark.parametrize("reduction", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_segment_reduce(dtype, reduction):
    def operator(x, reduction, lengths, indices, offsets, axis, unsafe, initial):
        return torch.segment_reduce(
            x,
            reduction,
            lengths=lengths,
            offsets=offsets,
            axis=axis,
            unsafe=unsafe,
            initial=initial,
        )

    tolerance = 5e-2 if dtype in FLOATS[2:] else 1e-4
    lengths, offsets = torch.tensor([2, 0, 3, 1]), torch.tensor([0, 2, 2, 5, 6])
    for x in layouts((6, 3), dtype)[:3]:
        for initial in (None, 1.0):
            for limits in [(lengths, None, None), (None, None, offsets)]:
                arguments = [x, reduction, *limits, 0, False, initial]
                check(SHIMS, "segment_reduce", operator, arguments, tolerance)
    x = values([2, 6, 3], dtype)
    arguments = [x, reduction, torch.stack([lengths, lengths.flip(0)]), None, None, 1, False, None]
    check(SHIMS, "segment_reduce", operator, arguments, tolerance)


def test_a_segment_beyond_the_data_is_refused():
    with pytest.raises(ShimError, match="a segment from 0 to 4 of 3 elements"):
        arguments = [torch.ones(3), "sum", torch.tensor([4]), None, None, 0, True, None]
        SHIMS.call("aoti_torch_cpu_segment_reduce", *arguments)


def test_segments_that_do_not_fit_are_refused():
    def segments(data, lengths):
        arguments = [data, "sum", torch.tensor(lengths), None, None, 0, True, None]
        return SHIMS.call("aoti_torch_cpu_segment_reduce", *arguments)

    with pytest.raises(ShimError, match="along 0 of a rank of 0"):
        segments(torch.tensor(1.0), [0, 0, 0])
    with pytest.raises(ShimError, match="a segment of 9223372036854775807 from 1"):
        segments(torch.ones(3), [1, 2**63 - 1])


def test_places_that_overflow():
    check(SHIMS, "histc", torch.histc, [torch.tensor([0.0, 3e38]), 10, 0.0, 0.0])
    # ATen writes outside of its result.
    (counts,) = SHIMS.call("aoti_torch_cpu_histc", torch.tensor([0.0, 3e38, -3e38]), 10, 0.0, 0.0)
    assert counts.sum() == 3
