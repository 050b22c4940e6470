"""Modules of random operators, lowered and run on the emulator."""

import os

import pytest
import torch
from backend_common import harness

from qualcomm_backend import emulator
from qualcomm_backend.conftest import lower
from qualcomm_backend.testing.random_modules import random_module

# The full form has 120.
SEEDS = range(120 if os.environ.get("EXECUTORCH_BACKENDS_SUITE") == "full" else 20)


def results(module, inputs):
    with torch.no_grad():
        return torch.utils._pytree.tree_leaves(module(*inputs))


def jumps(module, inputs):
    """Whether eager's own results jump where inputs are as far off as 16-bit floats round."""
    expected = results(module, inputs)
    random = torch.Generator().manual_seed(0)
    for _ in range(8):
        near = [
            x * (1 + 2**-9 * (torch.rand(x.shape, generator=random) - 0.5)).to(x.dtype)
            if x.is_floating_point()
            else x
            for x in inputs
        ]
        if harness.difference(expected, results(module, near), harness.HALF_TOLERANCE):
            return True
    return False


@pytest.mark.parametrize("first", range(0, len(SEEDS), 10))
def test_it_equals_eager(first):
    delegated = 0
    for seed in SEEDS[first : first + 10]:
        module, inputs = random_module(seed)
        lowered = lower(module, *inputs)
        (found,) = emulator.run(lowered.buffer, [inputs])
        text = harness.difference(results(module, inputs), found, harness.HALF_TOLERANCE)
        if text and jumps(module, inputs):
            print(f"seed {seed} has no one answer in 16 bits: {text}")
        else:
            assert not text, f"seed {seed}: {text}"
        delegated += any(row.delegated for row in lowered.report)
    assert delegated > 2
