"""A program lowered once runs on every OpenVINO from 2025.1 on with the same result."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from backend_common import harness

from corpus import check, versions_child
from corpus.models import MODELS

# version=folder pairs, from the BUILD file; folders are relative to where the test starts.
TREES = {
    version: Path(folder).absolute()
    for version, _, folder in (
        pair.partition("=") for pair in os.environ["EXECUTORCH_BACKENDS_OPENVINO_TREES"].split(",")
    )
}
FULL = os.environ["EXECUTORCH_BACKENDS_SUITE"] == "full"
NAMES = list(MODELS) if FULL else ["llama", "swin", "diffusion_policy"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder with each model's program, its calls and what eager says to them."""
    folder = tmp_path_factory.mktemp("programs")

    def lower(name):
        model = MODELS[name]
        lowered, tolerance = check.lower(model, "openvino")
        lowered.save(folder / f"{name}.pte")
        torch.save((model.every_call(), check.eager(model), tolerance), folder / f"{name}.pt")
        return harness.Outcome("pass")

    for name in NAMES:
        outcome = harness.in_child(lambda name=name: lower(name), 300.0)
        assert outcome.kind == "pass", f"{name}: {outcome.kind}: {outcome.text}"
    return folder


def test_the_five_versions_are_there():
    assert sorted(TREES) == ["2025.1.0", "2025.4.1", "2026.3.1", "2026.4.0", "2026.4.1"]


@pytest.mark.parametrize("version", sorted(TREES))
def test_every_program_says_what_eager_says(programs, version):
    path = [str(TREES[version]), *sys.path]
    result = subprocess.run(
        [sys.executable, versions_child.__file__, str(programs)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        text=True,
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assert {line["openvino"].split("-")[0] for line in lines} == {version}
    assert sorted(line["program"] for line in lines) == sorted(NAMES)
    wrong = [line for line in lines if line["kind"] != "pass"]
    assert not wrong, "\n".join(f"{w['program']}: {w['kind']}: {w['text'][:1000]}" for w in wrong)
