"""What the tests on the emulator share."""

import backend_common
import torch
from backend_common import harness

from qualcomm_backend import emulator


class Call(torch.nn.Module):
    """A function of (module, *inputs) as a module with these parts."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def lower(module, *inputs, **arguments):
    return backend_common.lower(module.eval(), inputs, backend="qualcomm", **arguments)


def delegated(lowered):
    return [row.operator for row in lowered.report if row.delegated]


def left(lowered):
    return {row.operator: row.reason for row in lowered.report if not row.delegated}


def assert_equals_eager(lowered, module, *calls):
    """On the emulator, which computes in 16-bit floats."""
    with torch.no_grad():
        expected = [torch.utils._pytree.tree_leaves(module(*inputs)) for inputs in calls]
    for wanted, found in zip(expected, emulator.run(lowered.buffer, calls), strict=True):
        assert not harness.difference(wanted, found, harness.HALF_TOLERANCE)
