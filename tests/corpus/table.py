"""Writes README.md: what each model is for, and on each backend how much of it is delegated and
whether it is right.

./bazelw run //tests/corpus:table
"""

import os
from pathlib import Path

from corpus import check
from corpus.models import MODELS

BACKENDS = ("openvino", "aoti-cpu")

HEAD = """\
# Corpus

    ./bazelw test //tests/corpus/...                                   # the quick ones
    ./bazelw test --//tools/bazel:suite=full //tests/corpus/...        # all, on every OpenVINO
    ./bazelw run //tests/corpus:table                                  # makes this page

Real architectures with small random configurations. Each is exported, lowered, saved, loaded
from the file, and compared with eager on its example inputs and on further ones. A model is a
function in `language.py`, `vision.py`, …; `corpus.models.MODELS` has them all.

Of each backend: *operators*; *left*, those that the portable kernels run (`sym_size` and the like,
which compute a shape, count too); *delegates*, the parts that it runs, over all methods.

"""


def cells(name: str, backend: str) -> list[str]:
    outcome = check.check(MODELS[name], backend, time_limit=1500.0)
    told = f"{name} on {backend}: {outcome.kind} after {outcome.seconds:.0f} s {outcome.text}"
    print(told, flush=True)
    if not isinstance(outcome, check.Result):
        return ["", "", "", outcome.kind]
    delegated, operators = outcome.shares()
    return [str(operators), str(operators - delegated), str(outcome.delegates), outcome.kind]


def line(name: str) -> str:
    shape = "✓" if MODELS[name].dynamic_shapes else ""
    found = [cell for backend in BACKENDS for cell in cells(name, backend)]
    return "| " + " | ".join([f"`{name}`", MODELS[name].why, shape, *found]) + " |"


def main() -> None:
    columns = [
        f"{backend}: {column}"
        for backend in BACKENDS
        for column in ("operators", "left", "delegates", "result")
    ]
    head = ["model", "what it has", "dynamic", *columns]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *map(line, MODELS)]
    page = Path(os.environ["BUILD_WORKSPACE_DIRECTORY"]) / "tests/corpus/README.md"
    page.write_text(HEAD + "\n".join(rows) + "\n")
    print(page.name)


if __name__ == "__main__":
    main()
