"""Modules of random operators, after each pass."""

import pytest
import torch
from backend_common.harness import HALF_TOLERANCE, TOLERANCE, tolerance_of

from qualcomm_backend.passes import ATEN_PASSES, run_pass
from qualcomm_backend.testing.random_modules import random_module
from qualcomm_backend.verify import verify_passes


def alone(name):
    return name, lambda program: run_pass(name, program)[0]


PASSES = [alone(each.__name__) for each in ATEN_PASSES]
TOLERANCES = {TOLERANCE: 1e-4, HALF_TOLERANCE: 1e-2}


# 300 modules, in parts so that one that fails does not hide the others.
@pytest.mark.parametrize("first", range(0, 300, 10))
def test_every_pass_keeps_numbers_and_metadata(first):
    for seed in range(first, first + 10):
        module, inputs = random_module(seed)
        program = torch.export.export(module, inputs, strict=False).run_decompositions({})
        tolerance = TOLERANCES[tolerance_of(program)]
        result = verify_passes(program, PASSES, [inputs], tolerance=tolerance)
        assert result, f"seed {seed}: {module}\n{result.fault.sentence()}"
