"""Backends are found by name, and imported when they are asked for."""

import os
import subprocess
import sys

import pytest

from backend_common import backend
from backend_common.errors import LoweringError
from backend_common.options import check_options, option_error


def fresh(program):
    """What a new interpreter with our path prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_nothing_heavy_is_imported_before_it_is_needed():
    program = """
import sys
import backend_common
from backend_common.errors import LoweringError
print("torch" in sys.modules, "executorch" in sys.modules)
"""
    assert fresh(program) == ["False", "False"]


def test_portable_is_there():
    assert "portable" in backend.names()
    assert backend.find("portable").name == "portable"
    assert backend.find("portable").delegate_libraries() == ()


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(LoweringError) as caught:
        backend.find("openvin")
    (row,) = caught.value.rows
    assert "'openvin'" in row.reason and "portable" in row.reason
    assert "Bazel target" in row.remedy


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A backend that is installed, and one whose module is broken."""
    folder = tmp_path / "fancy-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: fancy\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[executorch_backends]\nfancy = fancy_backend:BACKEND\nbroken = no_such_module:BACKEND\n"
    )
    (tmp_path / "fancy_backend.py").write_text(
        "class BACKEND:\n    name = 'fancy'\n    backend_id = 'FancyBackend'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


def test_an_installed_backend_is_found_and_not_imported_before(installed):
    assert "fancy" in backend.names()
    assert "fancy_backend" not in sys.modules
    assert backend.find("fancy").backend_id == "FancyBackend"


def test_by_the_id_of_its_delegate_even_beside_a_broken_one(installed):
    found = backend.find_by_id("FancyBackend")
    assert found is not None and found.name == "fancy"
    assert backend.find_by_id("NoSuchBackend") is None


def test_a_broken_backend_is_refused_with_what_is_wrong(installed):
    with pytest.raises(LoweringError, match="no_such_module"):
        backend.find("broken")


def test_options():
    assert check_options("fancy", {"a": 1}, {"a": 0, "b": 2}) == {"a": 1, "b": 2}
    with pytest.raises(
        LoweringError, match="no option 'c'; its options are: a, b, external_weights"
    ):
        check_options("fancy", {"c": 1}, {"a": 0, "b": 2})
    with pytest.raises(LoweringError, match="its options are: external_weights"):
        check_options("fancy", {"c": 1}, {})
    (row,) = option_error("fancy", "a", "a is 7", "use 8").rows
    assert (row.node, row.reason, row.remedy) == ("option a", "a is 7", "use 8")
