"""Runs pytest on the files it is given, with what Bazel asks of a test runner."""

import os
import sys

import pytest


class Shard:
    """Keeps every `count`-th test, starting with the `index`-th."""

    def __init__(self, index: int, count: int) -> None:
        self.index = index
        self.count = count

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        kept = items[self.index :: self.count]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def main(arguments: list[str]) -> int:
    if not any(argument.partition("::")[0].endswith(".py") for argument in arguments):
        print(
            "pytest_main: no test file was given; pytest would collect the whole tree",
            file=sys.stderr,
        )
        return 2
    options = ["-p", "no:cacheprovider", "-ra", "--durations=5"]
    plugins: list[object] = []
    environment = os.environ
    if xml := environment.get("XML_OUTPUT_FILE"):
        options.append(f"--junitxml={xml}")
    if wanted := environment.get("TESTBRIDGE_TEST_ONLY"):
        options += ["-k", wanted]
    if environment.get("TESTBRIDGE_TEST_RUNNER_FAIL_FAST") == "1":
        options.append("--exitfirst")
    if folder := environment.get("TEST_TMPDIR"):
        options.append(f"--basetemp={folder}/pytest")
    sharded = "TEST_TOTAL_SHARDS" in environment
    if sharded:
        with open(environment["TEST_SHARD_STATUS_FILE"], "a"):
            pass
        plugins.append(
            Shard(int(environment["TEST_SHARD_INDEX"]), int(environment["TEST_TOTAL_SHARDS"]))
        )
    code = pytest.main([*options, *arguments], plugins)
    # A shard may be left without a test; a whole target may not.
    if code == pytest.ExitCode.NO_TESTS_COLLECTED and sharded:
        return 0
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
