"""Where our shared libraries are: in a build tree, in a wheel, or in a folder that is named."""

import os
from collections.abc import Iterable
from pathlib import Path

FOLDER_VARIABLE = "EXECUTORCH_BACKENDS_LIBRARY_PATH"


class LibraryNotFoundError(OSError):
    """A shared library of ours is in none of the places; the text lists them."""


def candidates(file_name: str, package_folder: Path, room: str = "runtime") -> Iterable[Path]:
    if folder := os.environ.get(FOLDER_VARIABLE):
        yield Path(folder) / file_name
    yield package_folder / "lib" / file_name  # a wheel
    yield package_folder.parent / room / file_name  # a build tree


def find(file_name: str, beside: str, room: str = "runtime") -> Path:
    """The library `file_name` that belongs to the package whose `__file__` is `beside`.

    room: the folder next to the package in which a build tree has it.
    Links in `beside` are kept: in a Bazel tree they lead out of it.
    """
    places = list(candidates(file_name, Path(beside).parent.absolute(), room))
    for place in places:
        if place.exists():
            return place
    tried = ", ".join(str(place) for place in places)
    raise LibraryNotFoundError(
        f"{file_name} is not there; tried {tried}. Name its folder in {FOLDER_VARIABLE}."
    )
