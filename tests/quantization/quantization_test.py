"""Quantised programs: their accuracy, what saturates, what they hold, and the page that says so."""

import os
import re

import accuracy
import models
import pytest
import torch
from accuracy import Accuracy, measure
from openvino_backend.quantizer import quantize
from table import RUNS, cells

# dB against float32 that a program must reach.
MARKS = {
    ("mlp", "int8"): 31.5,
    ("mlp", "int8_mixed"): 31.5,
    ("mlp", "int8_weights"): 42.0,
    ("mlp", "int4_weights"): 18.0,
    ("small_resnet", "int8"): 36.1,
    ("small_resnet", "int8_mixed"): 36.1,
    ("small_resnet", "int8_weights"): 42.0,
    ("transformer_block", "int8"): 34.0,
    ("transformer_block", "int8_mixed"): 34.0,
    ("transformer_block", "int8_transformer"): 44.0,
    ("transformer_block", "int8_weights"): 50.0,
    ("transformer_block", "int4_weights"): 25.0,
}
OPTIONS = {"int4_weights": {"group_size": 32}}


@pytest.fixture(scope="module")
def measured():
    found: dict[tuple, Accuracy] = {}

    def get(name, mode, **options):
        key = (name, mode, *sorted(options.items()))
        if key not in found:
            found[key] = measure(name, mode, **options)
        return found[key]

    return get


@pytest.mark.parametrize(("name", "mode"), MARKS)
def test_a_program_is_near_its_model(measured, name, mode):
    result = measured(name, mode, **OPTIONS.get(mode, {}))
    print(f"{name} {mode}: {result.of_program:.1f} dB, its graph {result.of_graph:.1f} dB")
    assert result.of_program >= MARKS[name, mode]
    # It computes what the graph says; on this CPU nothing saturates that would elsewhere.
    assert result.of_program >= result.of_graph - 0.5
    left = [row for row in result.lowered.report if row.operator and not row.delegated]
    assert not left


@pytest.mark.parametrize("name", models.SHAPES)
def test_nothing_saturates_on_a_cpu_without_vnni_unless_it_is_allowed_to(measured, name):
    safe = measured(name, "int8")
    assert safe.saturated == pytest.approx(safe.of_graph, abs=0.1)
    loose = measured(name, "int8", overflow_fix=False)
    print(f"{name}: {safe.saturated:.1f} dB, without the fix {loose.saturated:.1f} dB")
    assert loose.saturated < safe.saturated - 5


def test_the_saturating_cpu_is_told_apart_from_one_that_does_not_saturate():
    pairs = torch.tensor([255 * 127, 255 * 127, -1, -1])
    assert accuracy._pairs(pairs).item() == 2**15 - 1 - 2
    assert accuracy._pairs(torch.tensor([255 * 63] * 2)).item() == 2 * 255 * 63


@pytest.mark.parametrize(
    ("options", "held"),
    [
        ({"mode": "int8_weights"}, ["i8"]),
        ({"mode": "int8_weights", "symmetric": False}, ["u8"]),
        ({"mode": "int4_weights", "group_size": 32}, ["i4", "i8"]),
        ({"mode": "int4_weights", "group_size": 32, "symmetric": False}, ["u4", "u8"]),
        ({"mode": "int8"}, ["i8"]),
    ],
)
def test_a_program_holds_narrow_weights(measured, options, held):
    result = measured("mlp", **options)
    types = set(
        re.findall(rb'<data element_type="(\w+)" shape="(?:\d+, ?)+\d+"', result.lowered.buffer)
    )
    assert sorted({t.decode() for t in types} & {"i4", "u4", "i8", "u8"}) == held
    # No float weight is beside them: they are 256 × 256 numbers.
    assert result.bytes < result.bytes_float / (3 if "i4" in held or "u4" in held else 2.5)


def test_a_group_size_that_does_not_divide_is_refused():
    module, inputs, _ = models.make("mlp")
    with pytest.raises(ValueError, match="group_size 48 does not divide the 256 inputs of linear"):
        quantize(module, inputs, mode="int4_weights", group_size=48)


@pytest.mark.parametrize("run", RUNS, ids=" ".join)
def test_the_page_says_what_is_measured(measured, run):
    with open(os.environ["QUANTIZATION_PAGE"], encoding="utf-8") as page:
        rows = [line for line in page if line.startswith(f"| {' | '.join(run)} |")]
    assert len(rows) == 1, "./bazelw run //tests/quantization:table"
    said = [float(n) for n in re.findall(r"\d+\.\d", rows[0])]
    wanted = [float(n) for n in re.findall(r"\d+\.\d", cells(*run, measured))]
    # CPUs round differently in the last place.
    assert said == pytest.approx(wanted, abs=1.0)
