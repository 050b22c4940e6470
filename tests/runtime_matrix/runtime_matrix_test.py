"""Every OpenVINO version, load mode and model: right values, no crash, poisoned heap included."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import child
import models
import pytest

# version=folder pairs, from the BUILD file; folders are relative to where the test starts.
TREES = {
    version: Path(folder).absolute()
    for version, _, folder in (
        pair.partition("=") for pair in os.environ["EXECUTORCH_BACKENDS_OPENVINO_TREES"].split(",")
    )
}

# Freed memory is overwritten with this byte, so that a use after free shows.
POISON = {"MALLOC_PERTURB_": "165"}


NEWEST = "2026.4.1"


def start(version: str, *arguments: str, **environment: str):
    path = [str(TREES[version]), str(Path(child.__file__).parent), *sys.path]
    return subprocess.run(
        [sys.executable, child.__file__, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), **environment},
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.fixture(scope="module")
def lowered(tmp_path_factory):
    """The folder with the programs of a version, lowered once."""
    folders = {}

    def folder_of(version):
        if version not in folders:
            folders[version] = tmp_path_factory.mktemp(version)
            result = start(version, "lower", str(folders[version]))
            assert result.returncode == 0, result.stderr[-3000:]
        return folders[version]

    return folder_of


def test_the_five_versions_are_there():
    assert sorted(TREES) == ["2025.1.0", "2025.4.1", "2026.3.1", "2026.4.0", "2026.4.1"]
    for tree in TREES.values():
        assert list(tree.glob("openvino/libs/libopenvino_c.so.*"))


def check(version, folder, kinds, **environment):
    """Every program of the kinds in every mode on the version: right, or a mode's own refusal."""
    result = start(version, "run", str(folder), *kinds, **environment)
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assert result.returncode == 0, f"died at {lines[-1:]}: {result.stderr[-2000:]}"
    outcomes = {
        (line["program"], line["mode"]): line for line in lines if line["state"] != "started"
    }
    assert len(outcomes) == len(kinds) * len(models.NAMES) * len(child.MODES)
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    for (program, mode), outcome in outcomes.items():
        if outcome["state"] == "refused" and mode == "mmap-mlock":
            # Only a limit smaller than the file is a reason, and the text must name both.
            size = (folder / f"{program}.pte").stat().st_size
            assert limit != resource.RLIM_INFINITY
            assert str(limit) in outcome["text"] and str(size) in outcome["text"], outcome
            print(f"{program}: mmap-mlock refused, the limit is {limit} bytes")
            continue
        assert outcome["state"] == "done", outcome
        assert outcome["error"] < 1e-4, outcome


@pytest.mark.parametrize("environment", [{}, POISON], ids=["plain", "poisoned heap"])
@pytest.mark.parametrize("version", sorted(TREES))
def test_every_mode_and_model_is_right(lowered, version, environment):
    check(version, lowered(version), child.KINDS, **environment)


@pytest.mark.parametrize("version", sorted(set(TREES) - {NEWEST}))
def test_what_the_newest_version_lowered_runs_on_every_other(lowered, version):
    check(version, lowered(NEWEST), ("ir", "compiled"))


@pytest.mark.parametrize("version", ["2026.3.1", "2026.4.0"])
def test_what_another_version_lowered_runs_on_the_newest(lowered, version):
    check(NEWEST, lowered(version), ("ir", "compiled"))
