"""Check, or fix, the form of every file: buildifier, clang-format, ruff.

    ./bazelw test //tools/lint:format_test     check (part of `test //...`)
    ./bazelw run //tools/lint:fix              fix what can be fixed

The checkout itself is read, not a copy of it: a file that no BUILD file names is seen too.
"""

import argparse
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence

KINDS = {
    "bazel": lambda path: path.suffix in {".bazel", ".bzl"} or path.name == "WORKSPACE",
    "cc": lambda path: path.suffix in {".h", ".cc"},
    "python": lambda path: path.suffix == ".py",
}


def checkout() -> pathlib.Path:
    """The checkout's root: where `bazel run` says, or where a test's inputs link to."""
    if "BUILD_WORKSPACE_DIRECTORY" in os.environ:
        return pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
    return pathlib.Path("MODULE.bazel").resolve().parent


def files_of(root: pathlib.Path, kind: str) -> list[str]:
    found = []
    for folder, folders, names in os.walk(root):
        # bazel-* are links into outputs; os.walk does not follow them.
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        paths = (pathlib.Path(folder, name) for name in sorted(names))
        found += [str(path.relative_to(root)) for path in paths if KINDS[kind](path)]
    return found


def commands(root: pathlib.Path, wheels: str, buildifier: str, fix: bool) -> dict[str, list[str]]:
    clang_format = [f"{wheels}/clang_format/data/bin/clang-format", "--style=file"]
    ruff = f"{wheels}/bin/ruff"
    bazel_files = files_of(root, "bazel")
    cc_files = files_of(root, "cc")
    return {
        "buildifier": [
            buildifier,
            *(["-lint=fix"] if fix else ["-mode=check", "-lint=warn"]),
            *bazel_files,
        ],
        "clang-format": [*clang_format, *(["-i"] if fix else ["--dry-run", "--Werror"]), *cc_files],
        "ruff format": [ruff, "format", "--no-cache", *([] if fix else ["--diff"]), "."],
        "ruff check": [ruff, "check", "--no-cache", *(["--fix"] if fix else []), "."],
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheels", required=True, help="the site-packages that holds the tools")
    parser.add_argument("--buildifier", required=True)
    parser.add_argument("--fix", action="store_true")
    options = parser.parse_args(arguments)
    root = checkout()
    wheels, buildifier = (
        str(pathlib.Path(p).absolute()) for p in (options.wheels, options.buildifier)
    )
    failed = []
    for name, command in commands(root, wheels, buildifier, options.fix).items():
        result = subprocess.run(command, cwd=root, text=True, capture_output=True, check=False)
        print(f"{name}: {'ok' if result.returncode == 0 else 'FAILED'}")
        if result.returncode:
            failed.append(name)
            print(result.stdout + result.stderr)
    if failed:
        print(f"{', '.join(failed)}: `./bazelw run //tools/lint:fix` mends what a tool can mend")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
