"""Runs a script with the wheels and our packages on its path.

./bazelw run //tools:python -- script.py arguments
./bazelw run //tools:python -- -m module arguments
./bazelw run //tools:python -- -c "code"
"""

import os
import runpy
import sys
from pathlib import Path
from typing import NoReturn


def wrong_usage(reason: str) -> NoReturn:
    print(f"python: {reason}", file=sys.stderr)
    raise SystemExit(2)


def put_first_on_path(folder: str) -> None:
    """As Python does for a script: in place of the folder of this one, which is not the user's."""
    if sys.flags.safe_path:
        sys.path.insert(0, folder)
    else:
        sys.path[0] = folder


def main(arguments: list[str]) -> None:
    # Paths are relative to where the user stands, not to where Bazel runs the program.
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stderr)
        raise SystemExit(0 if arguments else 2)
    first, *rest = arguments
    if first in ("-m", "-c"):
        if not rest:
            wrong_usage(f"{first} needs {'a module' if first == '-m' else 'code'}")
        sys.argv = [first, *rest[1:]]
        put_first_on_path("")
        if first == "-m":
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        else:
            exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
        return
    if not Path(first).is_file():
        wrong_usage(f"there is no script '{first}' in {Path.cwd()}")
    sys.argv = arguments
    put_first_on_path(str(Path(first).resolve().parent))
    runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
