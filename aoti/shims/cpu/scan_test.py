"""Running sums, products and extremes against ATen's."""

import pytest
import torch
from shim_calls import EVERYTHING, FLOATS, REALS, Shims, check, layouts, values

SHIMS = Shims()
SHAPES = [((), 0), ((7,), -1), ((4, 6), 1), ((4, 6), 0), ((2, 5, 3), 1), ((0, 3), 0), ((3, 0), 0)]


def inputs(shape, dtype):
    yield from layouts(shape, dtype)
    if dtype.is_floating_point and len(shape) == 2 and 0 not in shape:
        x = values(shape, dtype)
        x[1, 0], x[2, 1], x[3, 1] = torch.nan, torch.inf, -torch.inf
        yield x


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", EVERYTHING)
def test_sums_and_products(name, dtype):
    def operator(x, dim, dtype):
        return getattr(torch, name)(x, dim, dtype=dtype)

    for shape, dim in SHAPES:
        for x in inputs(shape, dtype):
            for result in (None, torch.float64, torch.int32):
                if result is torch.int32 and (dtype.is_complex or x.isnan().any()):
                    continue
                if dtype.is_complex and result:
                    continue
                check(
                    SHIMS, name, operator, [x, dim, result], 2e-2 if dtype in FLOATS[2:] else None
                )


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("dtype", [*REALS, torch.bool])
def test_extremes_and_where_they_are(name, dtype):
    for shape, dim in SHAPES:
        for x in inputs(shape, dtype):
            check(SHIMS, name, getattr(torch, name), [x, dim])


@pytest.mark.parametrize("dtype", FLOATS)
def test_logcumsumexp(dtype):
    for shape, dim in SHAPES:
        for x in inputs(shape, dtype):
            check(
                SHIMS,
                "logcumsumexp",
                torch.logcumsumexp,
                [x, dim],
                2e-2 if dtype in FLOATS[2:] else None,
            )
    check(
        SHIMS, "logcumsumexp", torch.logcumsumexp, [torch.tensor([-torch.inf, -torch.inf, 1e3]), 0]
    )


def test_a_long_sum_is_kept_in_more_bits():
    check(
        SHIMS, "cumsum", lambda x, d, t: torch.cumsum(x, d), [torch.full([100_000], 0.1), 0, None]
    )
