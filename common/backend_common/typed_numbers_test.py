"""What numbers do to dtypes and digits is what they do in eager."""

import torch
import torch.nn.functional as F

from backend_common import load, lower

FUNCTIONS = {
    "mul": lambda x: x * 0.5,
    "add": lambda x: x + 0.1,
    "sub": lambda x: 0.1 - x,
    "div": lambda x: x / 3,
    "integer": lambda x: x * 3 + 1,
    # Integers keep the lowest bits of what their dtype cannot hold.
    "too_large": lambda x: (x + 2**35 + 300, x * 2654435761, 300 - x, x - 2**33),
    "too_small": lambda x: (x + -1, x * -(2**40) + 3),
    "compare_with_too_large": lambda x: (x == 2**32 + 1, x < 2**33 + 300, x >= -1, x != 257),
    "compare": lambda x: (x > 0.1, x == 1),
    "softshrink": lambda x: F.softshrink(x) if x.is_floating_point() else x,
    "hardshrink": lambda x: F.hardshrink(x) if x.is_floating_point() else x,
}
DTYPES = (torch.half, torch.bfloat16, torch.float, torch.double, torch.int32, torch.uint8)
INPUTS = tuple(
    torch.tensor(value, dtype=dtype) for dtype in DTYPES for value in (1.75, [1.25, 3.0])
)


class Each(torch.nn.Module):
    def forward(self, *inputs):
        return [[function(x) for x in inputs] for function in FUNCTIONS.values()]


def test_result_equals_eager():
    outputs = load(lower(Each(), INPUTS, backend="portable").buffer).forward(*INPUTS)
    expected = torch.utils._pytree.tree_leaves(Each()(*INPUTS))
    for output, wanted in zip(outputs, expected, strict=True):
        assert (output.dtype, output.shape) == (wanted.dtype, wanted.shape)
        # A double of float32's digits would be further off.
        bound = 1e-15 if wanted.dtype == torch.double else None
        torch.testing.assert_close(output, wanted, rtol=bound, atol=bound)


LARGE = 3_000_000_000
OF_LARGE_NUMBERS = (
    *(lambda x: x < LARGE, lambda x: x > -LARGE, lambda x: x == LARGE, lambda x: x != -LARGE),
    *(lambda x: x + LARGE, lambda x: x * LARGE, lambda x: LARGE - x, lambda x: x & LARGE),
)


class OfLargeNumbers(torch.nn.Module):
    def forward(self, *inputs):
        return [function(x) for x in inputs for function in OF_LARGE_NUMBERS]


def test_a_number_that_does_not_fit_does_what_it_does_in_eager():
    inputs = (
        torch.tensor([1, -5, 0, 2**31 - 1, -(2**31)], dtype=torch.int32),
        torch.tensor([1, -5, 0, 2**15 - 1, -(2**15)], dtype=torch.int16),
    )
    outputs = load(lower(OfLargeNumbers(), inputs, backend="portable").buffer).forward(*inputs)
    for output, wanted in zip(outputs, OfLargeNumbers()(*inputs), strict=True):
        assert output.dtype == wanted.dtype and torch.equal(output, wanted)
