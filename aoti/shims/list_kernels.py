"""What a shared library exports, as JSON: `list_kernels.py LIBRARY OUT`."""

import json
import struct
import sys
from pathlib import Path

_MAGIC = b"\x7fELF\x02\x01"  # 64-bit, little-endian
_DYNAMIC, _DYNSYM = 6, 11  # section types
_SONAME = 14  # a dynamic entry's tag


class LibraryError(ValueError):
    """The bytes are no 64-bit little-endian ELF shared library."""


def exported(library: bytes) -> tuple[str, list[str]]:
    """SONAME ("" if none) and the sorted names of all symbols that the library defines.

    Raises:
        LibraryError: what was found in place of an ELF library.
    """
    if library[:6] != _MAGIC:
        raise LibraryError(f"starts with {library[:6]!r}, not with {_MAGIC!r}")
    (table,) = struct.unpack_from("<Q", library, 0x28)
    entry_size, count = struct.unpack_from("<HH", library, 0x3A)
    # Of each section: type, offset, size, the section it refers to, the size of its entries.
    sections = []
    for i in range(count):
        _, kind, _, _, offset, size, link, _, _, step = struct.unpack_from(
            "<IIQQQQIIQQ", library, table + i * entry_size
        )
        sections.append((kind, offset, size, link, step))

    def text(strings: int, at: int) -> str:
        start = sections[strings][1] + at
        return library[start : library.index(b"\0", start)].decode()

    soname, names = "", set()
    for kind, offset, size, link, step in sections:
        if kind == _DYNAMIC:
            for tag, value in struct.iter_unpack("<qQ", library[offset : offset + size]):
                if tag == _SONAME:
                    soname = text(link, value)
        if kind == _DYNSYM:
            for at in range(offset, offset + size, step):
                name, info, _, section = struct.unpack_from("<IBBH", library, at)
                if section != 0 and info >> 4 != 0:  # defined here, and not local
                    names.add(text(link, name))
    return soname, sorted(names)


def main(library: str, out: str) -> None:
    soname, names = exported(Path(library).read_bytes())
    content = {"library": soname, "kernels": names}
    Path(out).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
