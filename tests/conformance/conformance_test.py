"""Operators on a backend: right, and as recorded.

Either a fixed sample of the operators or, in shards, all of them.
"""

import dataclasses
import os
from pathlib import Path

import pytest
import table
from recording import outcome_of
from registry import OPERATORS

BACKEND = os.environ["EXECUTORCH_BACKENDS_CONFORMANCE"]
README = Path(os.environ["EXECUTORCH_BACKENDS_CONFORMANCE_README"])
RECORDED = table.read(Path(__file__).with_name(f"{BACKEND}.json"))
ALL = os.environ["EXECUTORCH_BACKENDS_CONFORMANCE_OPERATORS"] == "all"

# Of every family some, and those that were the hardest to get right.
SAMPLE = (
    "relu",
    "trunc",
    "to bool",
    "add",
    "maximum",
    "logical_and",
    "div floor number",
    "where",
    "sum",
    "argmax",
    "softmax",
    "permute",
    "cat",
    "pad reflect",
    "index several",
    "gather",
    "index_put",
    "matmul",
    "attention causal",
    "conv2d",
    "max_pool2d",
    "layer_norm",
    "interpolate bilinear",
    "arange",
)


@pytest.mark.parametrize("name", OPERATORS if ALL else SAMPLE)
def test_operator(name):
    outcomes, failures = outcome_of(name, BACKEND)
    assert not failures, "\n".join(failures)
    assert outcomes == RECORDED[name], "run //tests/conformance:update"


def test_no_operator_is_recorded_that_is_not_there():
    assert set(RECORDED) <= set(OPERATORS)


def test_only_what_is_right_or_refused_is_recorded():
    statuses = {s for rows in RECORDED.values() for outcome in rows.values() for s in outcome}
    assert statuses <= {"delegated", "left", "refused", "control"}


def test_the_readme_shows_what_is_recorded():
    text = README.read_text()
    assert table.with_table(text, RECORDED) == text, "run //tests/conformance:update -- --docs"


def test_a_wrong_result_is_a_failure(monkeypatch):
    """The suite sees a difference between two calls of one operator."""

    class Changing:
        calls = 0

        def __call__(self, x):
            Changing.calls += 1
            return x + Changing.calls

    monkeypatch.setitem(
        OPERATORS, "relu", dataclasses.replace(OPERATORS["relu"], function=Changing())
    )
    assert outcome_of("relu", BACKEND)[1]
