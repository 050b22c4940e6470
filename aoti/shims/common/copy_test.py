"""Copies against ATen's: every pair of dtypes, numbers outside of their range, shared memory."""

import pytest
import torch
from shim_calls import EVERYTHING, ShimError, Shims, compare, layouts, values

SHIMS = Shims()
DTYPES = [*EVERYTHING, torch.uint16, torch.uint32, torch.uint64]
FRACTIONS = [0.0, -0.0, 1.5, -1.5, 255.7, 300.0, -300.0, 7e4, 1e10, -1e10, 3000000005.0, 1e20]
FRACTIONS += [torch.nan, torch.inf, -torch.inf, 1e-9, 6.1e-5, 65519.0, 65520.0]
WHOLE = [0, 1, -1, 127, -128, 255, 256, 32767, 65535, -32769, 2**31, 2**33 + 5, -(2**40), 2**62 + 1]


def copied(source, to):
    SHIMS.call("aoti_torch_copy_", to, source, 0)
    return to


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_conversion(dtype):
    inexact = dtype.is_floating_point or dtype.is_complex
    source = torch.tensor(FRACTIONS if inexact else WHOLE).to(dtype)
    for to in DTYPES:
        if inexact and to is torch.uint32:
            continue  # outside of it, ATen's own results depend on the layout
        compare(copied(source, torch.empty(len(source), dtype=to)), source.to(to), 0)


def test_layouts_and_broadcasts():
    for source in layouts([3, 4, 5], torch.float32):
        for to in (torch.empty(3, 4, 5), torch.empty(5, 4, 3).permute(2, 1, 0)):
            compare(copied(source, to), source)
    column = values([4, 1], torch.int32)
    compare(copied(column, torch.empty(2, 4, 3)), column.float().expand(2, 4, 3))


def test_a_source_that_shares_memory_is_read_first():
    x = values([9, 9], torch.float32)
    for source, to in [(x.t(), x), (x[:-1], x[1:]), (x[1:], x[:-1]), (x[0], x), (x, x)]:
        expected = source.clone().expand(to.shape)
        compare(copied(source, to), expected)
    bits = x.view(torch.int32)
    expected = x[:, 1:].to(torch.int32)
    compare(copied(x[:, 1:], bits[:, :-1]), expected)


def test_an_element_that_stands_at_several_places_is_not_written():
    with pytest.raises(ShimError, match="written more than once"):
        copied(torch.ones(3), torch.zeros(1).expand(3))


def test_what_is_not_finite():
    for dtype in (torch.float32, torch.float16, torch.float64, torch.complex64, torch.uint16):
        SHIMS.call("aoti_torch_check_inf_and_nan", "x", torch.ones(2, 3).to(dtype))
    bad = [torch.tensor([1.0, number]) for number in (torch.inf, torch.nan)]
    bad += [torch.tensor([complex(0, torch.nan)]), torch.tensor([complex(torch.inf, 0)])]
    for x in bad:
        with pytest.raises(ShimError, match="x has an infinity or a NaN"):
            SHIMS.call("aoti_torch_check_inf_and_nan", "x", x)
