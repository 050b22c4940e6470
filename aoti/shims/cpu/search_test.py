"""Places in sorted sequences against ATen's."""

import math

import pytest
import torch
from shim_calls import FLOATS, REALS, ShimError, Shims, check, layouts, values

SHIMS = Shims()


def searchsorted(sequence, x, narrow, right, side, sorter):
    return torch.searchsorted(sequence, x, out_int32=narrow, right=right, side=side, sorter=sorter)


@pytest.mark.parametrize("dtype", REALS)
def test_bucketize(dtype):
    def operator(x, boundaries, narrow, right):
        return torch.bucketize(x, boundaries, out_int32=narrow, right=right)

    boundaries = torch.tensor([0, 1, 1, 2, 4]).to(dtype)
    for shape in [(), (7,), (4, 6), (0, 3)]:
        for x in layouts(shape, dtype):
            for narrow in (False, True):
                for right in (False, True):
                    for within in (boundaries, boundaries[::2], boundaries[:0]):
                        check(SHIMS, "bucketize_Tensor", operator, [x, within, narrow, right])


@pytest.mark.parametrize("dtype", REALS)
def test_searchsorted(dtype):
    for shape, x_shape in [((6,), (4, 3)), ((6,), ()), ((3, 6), (3, 4)), ((2, 3, 6), (2, 3, 1))]:
        unsorted = values(shape, dtype)
        order = unsorted.argsort(dim=-1, stable=True)
        for x in layouts(x_shape, dtype, 1):
            for right, side in [(False, None), (True, None), (False, "right"), (False, "left")]:
                sequence = unsorted.sort(-1).values
                check(
                    SHIMS,
                    "searchsorted_Tensor",
                    searchsorted,
                    [sequence, x, False, right, side, None],
                )
                arguments = [unsorted, x, True, right, side, order]
                check(SHIMS, "searchsorted_Tensor", searchsorted, arguments)


def test_a_number_between_integers():
    for number in (-0.5, 0.5, 1.0, 1.5, 3.0):
        for right in (False, True):
            arguments = [torch.tensor([0, 1, 1, 2]), number, False, right, None, None]
            check(SHIMS, "searchsorted_Scalar", searchsorted, arguments)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_number_is_rounded_to_the_sequences_floats(dtype):
    sequence = torch.tensor([0.1, 0.3, 0.3, 2.7183], dtype=dtype)
    for number in (0.1, 0.3, 2.7183, 0.5, math.inf, -math.inf, math.nan):
        for right in (False, True):
            arguments = [sequence, number, False, right, None, None]
            check(SHIMS, "searchsorted_Scalar", searchsorted, arguments)


def test_integers_that_float64_takes_for_the_same():
    sequence = torch.tensor([2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1])
    for number, right, place in [
        (2**53, True, 1),
        (2**53 + 2, False, 2),
        (2**63, False, 4),
        (-(2**64), True, 0),
        (math.nan, False, 4),
    ]:
        arguments = [sequence, float(number), False, right, None, None]
        assert SHIMS.call("aoti_torch_cpu_searchsorted_Scalar", *arguments)[0] == place


def test_a_sorter_that_points_outside_is_refused():
    for place in (-1, 4, 1 << 40):
        order = torch.tensor([0, place, 1, 3])
        with pytest.raises(ShimError, match=f"index {place} is outside of 4 elements"):
            arguments = [torch.arange(4.0), torch.tensor([1.0]), False, False, None, order]
            SHIMS.call("aoti_torch_cpu_searchsorted_Tensor", *arguments)


def test_a_nan_lies_behind_all():
    arguments = [torch.tensor([0.0, 1.0]), torch.tensor([torch.nan]), False, False, None, None]
    check(SHIMS, "searchsorted_Tensor", searchsorted, arguments)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShimError, match=r"values of sizes \[2, 4\] in sequences of \[3, 6\]"):
        arguments = [torch.ones(3, 6), torch.ones(2, 4), False, False, None, None]
        SHIMS.call("aoti_torch_cpu_searchsorted_Tensor", *arguments)
    with pytest.raises(ShimError, match="right is set, but side is left"):
        arguments = [torch.ones(6), torch.ones(4), False, True, "left", None]
        SHIMS.call("aoti_torch_cpu_searchsorted_Tensor", *arguments)
