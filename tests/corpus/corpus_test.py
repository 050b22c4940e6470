"""Every model of the corpus: it lowers, and its program says what eager says.

The short form takes the quick ones; the full form takes the others too, in shards.
"""

import os

import pytest
import torch

from corpus import check, registry
from corpus.models import MODELS

QUICK = os.environ["CORPUS"] == "quick"
BACKEND = os.environ["CORPUS_BACKEND"]
NAMES = [name for name, model in MODELS.items() if model.quick == QUICK]


@pytest.mark.parametrize("name", NAMES)
def test_program_equals_eager(name):
    outcome = check.check(MODELS[name], BACKEND)
    assert outcome.kind == "pass", f"{outcome.kind}: {outcome.text}"
    delegated, operators = outcome.shares()
    print(f"{name}: {delegated} of {operators} operators in {outcome.delegates} delegates")
    assert outcome.delegates
    # What is left says why.
    assert all(row.reason for row in outcome.rows if not row.delegated and row.operator)


@pytest.mark.skipif(not QUICK, reason="once is enough: the quick form has it")
def test_a_model_that_differs_is_found():
    class Changing(torch.nn.Module):
        calls = 0

        def forward(self, x):
            Changing.calls += 1
            return x + Changing.calls

    model = registry.Model("differs", lambda: (Changing().eval(), (torch.zeros(3),)))
    assert check.check(model, BACKEND).kind == "difference"


@pytest.mark.skipif(not QUICK, reason="once is enough: the quick form has it")
def test_the_corpus_is_large_enough():
    assert len(MODELS) >= 25
    assert 6 <= len(NAMES) <= 8
