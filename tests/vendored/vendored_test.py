"""A workspace that vendors us builds and tests with its own compiler and none of our rc lines."""

import subprocess
import sys
from pathlib import Path


def main() -> int:
    # The checkout itself: a workspace inside it cannot be built from a copy of some files.
    checkout = Path("MODULE.bazel").resolve().parent
    workspace = checkout / "tests" / "vendored" / sys.argv[1]
    bazel = [str(checkout / "bazelw")]
    try:
        return subprocess.run(
            [*bazel, "test", "--symlink_prefix=/", "--test_output=errors", "//..."],
            cwd=workspace,
            check=False,
        ).returncode
    finally:
        subprocess.run([*bazel, "shutdown"], cwd=workspace, check=False)


if __name__ == "__main__":
    sys.exit(main())
