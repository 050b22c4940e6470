"""//tools:python runs scripts as Python itself does, from where the user stands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).with_name("python.py")

SCRIPT = """
import json, sys
import neighbour
import pte
print(json.dumps([sys.argv, __name__, neighbour.VALUE, pte.__name__]))
sys.exit(7)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "neighbour.py").write_text("VALUE = 'beside'\n")
    return tmp_path


def run(folder, *arguments):
    environment = os.environ | {
        "BUILD_WORKING_DIRECTORY": str(folder),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return subprocess.run(
        [sys.executable, RUNNER, *arguments],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
    )


def test_a_script_gets_its_arguments_its_neighbours_and_our_packages(folder):
    result = run(folder, "script.py", "--flag", "x")
    assert result.stdout.strip() == '[["script.py", "--flag", "x"], "__main__", "beside", "pte"]'
    assert result.returncode == 7, result.stderr


def test_a_script_in_another_folder_finds_its_neighbours(folder):
    (folder / "elsewhere").mkdir()
    result = run(folder / "elsewhere", "../script.py")
    assert '"beside"' in result.stdout and result.returncode == 7, result.stderr


def test_code(folder):
    result = run(folder, "-c", "import sys, neighbour; print(sys.argv, neighbour.VALUE)", "a")
    assert result.stdout.strip() == "['-c', 'a'] beside", result.stderr


def test_a_module(folder):
    assert '"beside"' in run(folder, "-m", "script").stdout
    assert "Commands" in run(folder, "-m", "pte", "--help").stdout


def test_openvino_is_the_wheel(folder):
    code = "import importlib.util as u; print(u.find_spec('openvino').origin)"
    assert "site-packages" in run(folder, "-c", code).stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "script.py arguments"),
        (["nothing.py"], "no script 'nothing.py'"),
        (["-c"], "-c needs code"),
        (["-m"], "-m needs a module"),
    ],
)
def test_wrong_usage_is_said_in_one_line(folder, arguments, text):
    result = run(folder, *arguments)
    assert result.returncode == 2 and text in result.stderr
    assert "Traceback" not in result.stderr
