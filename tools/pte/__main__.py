"""`python -m pte`, and the Bazel target //tools/pte."""

import sys

from pte.command import main

if __name__ == "__main__":
    sys.exit(main())
