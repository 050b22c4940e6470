import itertools

import pytest
import torch

from qualcomm_backend.passes.fuse_casts import FuseCasts, may_skip
from qualcomm_backend.passes.harness import EDGES, INF, NAN, check, check_edge

DTYPES = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
]
NUMBERS = [0, 1, -1, 127, 128, 255, 257, 2**15 + 1, 2**24 + 1, 2**31 - 1, -(2**31), 2**53 + 1]
FLOATS = [0.0, -0.0, 0.5, -1.7, 1e-8, 6e4, 7e4, 1e30, -1e30, INF, -INF, NAN, 3.1415927]


def test_a_cast_that_loses_something_stays():
    function = lambda x: (
        x.int().float(),
        x.bool().float(),
        x.half().float(),
        x.to(torch.uint8).int(),
    )
    found = check(FuseCasts, function, torch.tensor([1.7, -1.7, 0.2, 300.0]).abs())
    assert not found.count


def test_a_cast_that_loses_nothing_goes():
    function = lambda x: (x.float().to(torch.bfloat16), x.double().float(), x.float().half() + 1)
    found = check(FuseCasts, function, EDGES.half())
    assert found.count == 3
    assert found.operators.count("aten._to_copy.default") == 3


@pytest.mark.parametrize("first", DTYPES)
def test_every_chain_of_three(first):
    whole = not first.is_floating_point and first is not torch.bool
    values = torch.tensor(
        NUMBERS if whole or first is torch.bool else FLOATS,
        dtype=torch.float64 if not whole else torch.int64,
    ).to(first)
    for second, third in itertools.product(DTYPES, DTYPES):
        if may_skip(first, second, third):
            torch.testing.assert_close(
                values.to(second).to(third), values.to(third), rtol=0, atol=0, equal_nan=True
            )


def test_on_edge_too():
    function = lambda x: (x.float().to(torch.bfloat16), x.int().half())
    found = check_edge([FuseCasts()], function, torch.rand(4).half() * 9)
    assert found.count == 1
    assert found.operators.count("dim_order_ops._to_dim_order_copy.default") == 3
