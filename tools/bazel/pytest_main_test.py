"""What Bazel asks of pytest_main: filter, shards, and no run without a file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MAIN = Path(__file__).with_name("pytest_main.py")
TESTS = "def test_a(): pass\ndef test_b(): pass\ndef test_c(): assert False\n"


@pytest.fixture
def start(tmp_path):
    def run(*arguments, **environment):
        (tmp_path / "some_test.py").write_text(TESTS)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("TEST")}
        kept.pop("XML_OUTPUT_FILE", None)
        return subprocess.run(
            [sys.executable, str(MAIN), *arguments],
            cwd=tmp_path,
            env={**kept, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
            text=True,
            capture_output=True,
        )

    return run


def test_without_a_file_nothing_is_collected(start):
    result = start()
    assert result.returncode == 2 and "no test file" in result.stderr
    assert start("-q").returncode == 2


def test_a_failure_fails(start):
    assert start("some_test.py").returncode == 1


def test_bazels_filter_selects(start):
    result = start("some_test.py", TESTBRIDGE_TEST_ONLY="test_a")
    assert result.returncode == 0 and "1 passed" in result.stdout


def test_a_filter_that_selects_nothing_is_no_success(start):
    assert start("some_test.py", TESTBRIDGE_TEST_ONLY="test_z").returncode == 5


def test_shards_divide_the_tests_and_say_that_they_do(start, tmp_path):
    passed = []
    for index in range(5):
        status = tmp_path / f"status{index}"
        result = start(
            "some_test.py",
            TEST_TOTAL_SHARDS="5",
            TEST_SHARD_INDEX=str(index),
            TEST_SHARD_STATUS_FILE=str(status),
        )
        assert status.exists()
        passed.append(result.returncode)
    assert passed == [0, 0, 1, 0, 0]


def test_the_report_is_written_where_bazel_wants_it(start, tmp_path):
    start("some_test.py", XML_OUTPUT_FILE=str(tmp_path / "report.xml"))
    assert 'tests="3"' in (tmp_path / "report.xml").read_text()
