"""Precompile headers into a folder: `precompile.py FOLDER ISA...`."""

import sys
from pathlib import Path

from aoti_backend import compilation
from aoti_backend.devices import named


def main(folder: str, *isas: str) -> None:
    for name in isas:
        compilation.precompile(Path(folder), named("cpu").isas[name]())


if __name__ == "__main__":
    main(*sys.argv[1:])
