"""Writes README.md: what each model is for, how much of it is delegated, whether it is right.

./bazelw run //tests/corpus:table
"""

import os
from pathlib import Path

from corpus import check
from corpus.models import MODELS

HEAD = """\
# Corpus

    ./bazelw test //tests/corpus/...                                   # the quick ones
    ./bazelw test --//tools/bazel:suite=full //tests/corpus/...        # all, on every OpenVINO
    ./bazelw run //tests/corpus:table                                  # makes this page

Real architectures with small random configurations. Each is exported, lowered, saved, loaded
from the file, and compared with eager on its example inputs and on further ones. A model is a
function in `language.py`, `vision.py`, …; `corpus.models.MODELS` has them all.

*left*: operators that the portable kernels run; `sym_size` and the like, which compute a shape,
count too. *delegates*: parts that OpenVINO runs, over all methods.

"""


def line(name: str) -> str:
    outcome = check.check(MODELS[name], "openvino")
    print(f"{name}: {outcome.kind} after {outcome.seconds:.0f} s {outcome.text}", flush=True)
    shape = "✓" if MODELS[name].dynamic_shapes else ""
    cells = [f"`{name}`", MODELS[name].why, shape]
    if isinstance(outcome, check.Result):
        delegated, operators = outcome.shares()
        cells += [str(operators), str(operators - delegated), str(outcome.delegates)]
    else:
        cells += ["", "", ""]
    return "| " + " | ".join([*cells, outcome.kind]) + " |"


def main() -> None:
    rows = [
        "| model | what it has | dynamic | operators | left | delegates | result |",
        "|---|---|---|---|---|---|---|",
        *map(line, MODELS),
    ]
    page = Path(os.environ["BUILD_WORKSPACE_DIRECTORY"]) / "tests/corpus/README.md"
    page.write_text(HEAD + "\n".join(rows) + "\n")
    print(page.name)


if __name__ == "__main__":
    main()
