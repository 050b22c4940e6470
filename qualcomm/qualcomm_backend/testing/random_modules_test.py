"""Random modules are repeatable, differ, use every template, and hold for passes that are right."""

import pytest
import torch
from backend_common.harness import difference

from qualcomm_backend.testing.random_modules import TEMPLATES, random_module
from qualcomm_backend.verify import verify_passes

SEEDS = range(300)


def test_a_seed_makes_one_module():
    torch.manual_seed(3)
    (one, given), before = random_module(7), torch.rand(1)
    torch.manual_seed(3)
    (other, again), after = random_module(7), torch.rand(1)
    assert torch.equal(before, after)  # the user's generator goes on where it was
    assert str(one) == str(other)
    assert difference(given, again, 0.0) == ""
    assert difference(one(*given), other(*again), 0.0) == ""


def test_modules_differ_and_use_every_template():
    modules = [random_module(seed) for seed in SEEDS]
    assert len({str(module) for module, _ in modules}) > 0.98 * len(SEEDS)
    used = {step.name for module, _ in modules for step in module.steps}
    assert {template.name for template in TEMPLATES} == used
    kinds = {(x.dtype, x.dim()) for _, inputs in modules for x in inputs}
    assert len(kinds) > 12


@pytest.mark.parametrize("seed", range(20))
def test_making_a_program_functional_changes_nothing(seed):
    module, inputs = random_module(seed)
    program = torch.export.export(module, inputs)
    functional = ("functional", lambda program: program.run_decompositions({}))
    result = verify_passes(program, [functional], [inputs])
    assert result, f"{module}\n{result.fault.sentence()}"
