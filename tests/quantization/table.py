"""Writes the table of openvino/docs/quantization.md.

./bazelw run //tests/quantization:table
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import models
from accuracy import Accuracy, measure
from openvino_backend.quantizer import MODES

PAGE = "openvino/docs/quantization.md"
GROUPS = {"int4_weights": {"group_size": 32}}
# NNCF gives convolutions and the last layer 8 bits: `int4_weights` would not differ there.
RUNS = [
    (f"`{name}`", f"`{mode}`")
    for name in models.SHAPES
    for mode in MODES
    if (name, mode) != ("small_resnet", "int4_weights")
]
HEAD = """\
| model | mode | dB | dB without VNNI | without the overflow fix | size |
|---|---|---|---|---|---|
"""


def cells(name: str, mode: str, measured: Callable[..., Accuracy] = measure) -> str:
    """A row of the table for names as they stand in it."""
    plain_name, plain_mode = name.strip("`"), mode.strip("`")
    options: dict[str, Any] = GROUPS.get(plain_mode, {})
    result = measured(plain_name, plain_mode, **options)
    without = fixed = "the same"
    if result.saturated is not None:
        loose = measured(plain_name, plain_mode, overflow_fix=False)
        without, fixed = f"{result.saturated:.1f}", f"{loose.saturated:.1f}"
    size = result.bytes / result.bytes_float
    row = [name, mode, f"{result.of_program:.1f}", without, fixed, f"{size:.0%}"]
    return "| " + " | ".join(row) + " |\n"


def main() -> None:
    page = Path(os.environ["BUILD_WORKSPACE_DIRECTORY"]) / PAGE
    table = HEAD + "".join(cells(*run) for run in RUNS)
    place = "<!-- table -->\n\n%s\n<!-- end -->"
    text, count = re.subn(
        "(?s)" + re.escape(place % "%s").replace("%s", ".*?"), place % table, page.read_text()
    )
    assert count == 1, f"{PAGE} has no place for the table"
    page.write_text(text)
    print(PAGE)


if __name__ == "__main__":
    main()
