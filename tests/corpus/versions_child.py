"""Runs the programs of a folder on the OpenVINO that PYTHONPATH puts first; a JSON line for each.

versions_child.py FOLDER
"""

import importlib.metadata
import json
import sys
from pathlib import Path

import torch
from backend_common import harness, program

from corpus import check


def run(path: Path) -> harness.Outcome:
    calls, expected, tolerance = torch.load(path.with_suffix(".pt"))
    wrong = check.differences(expected, check.run(program.load(path), calls), tolerance)
    return harness.Outcome("difference" if wrong else "pass", wrong)


def main() -> None:
    version = importlib.metadata.version("openvino")
    for path in sorted(Path(sys.argv[1]).glob("*.pte")):
        outcome = harness.in_child(lambda path=path: run(path))
        said = {"program": path.stem, "kind": outcome.kind, "text": outcome.text}
        print(json.dumps({"openvino": version, **said}), flush=True)


if __name__ == "__main__":
    main()
