"""Runs operators and records their outcomes: the JSON, and the table in the backend's README.

./bazelw run //tests/conformance:update -- openvino              every operator
./bazelw run //tests/conformance:update -- openvino add relu     these; the others stay
./bazelw run //tests/conformance:update -- openvino --docs       none: the README from the JSON
"""

import os
import sys
import time
from pathlib import Path

import table
from recording import outcome_of
from registry import OPERATORS


def main(backend: str, *names: str) -> int:
    root = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."))
    path = root / "tests" / "conformance" / f"{backend}.json"
    outcomes = {name: rows for name, rows in table.read(path).items() if name in OPERATORS}
    failed = 0
    for name in () if names == ("--docs",) else names or tuple(OPERATORS):
        started = time.monotonic()
        outcomes[name], failures = outcome_of(name, backend)
        failed += len(failures)
        print(f"{name}: {time.monotonic() - started:.1f} s", *failures, sep="\n  ", flush=True)
        table.write(path, outcomes)
    readme = root / backend.partition("-")[0] / "README.md"  # of aoti-cpu, aoti's
    readme.write_text(table.with_table(readme.read_text(), outcomes))
    print(f"{len(outcomes)} operators, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
