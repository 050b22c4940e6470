"""The envelope that a backend's payload travels in: a table of named sections with checksums.

`common/payload/envelope.h` describes the bytes and reads them at run time; this module writes
them, and reads them with the same checks and the same messages.
"""

import hashlib
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

MAGIC = b"\x89ETB\r\n\x1a\n"
VERSION = 1
MAX_SECTIONS = 64
ALIGNMENT = 64
WEIGHTS_ALIGNMENT = 4096  # a page, so that a memory-mapped program's weights can be used in place

_NAMED_DATA_VERSION = 1
_WEIGHTS = 1  # the only flag
_NAME = re.compile(rb"[\x21-\x7e]{1,24}")
_HEADER = struct.Struct("<8sIIIIQ32s")
_ENTRY = struct.Struct("<24sQQII32s")
_NO_DIGEST = bytes(32)

Verify = Literal["always", "full"]


class PayloadError(ValueError):
    """A payload that is not an intact envelope, or sections that do not fit one."""

    def __init__(self, text: str) -> None:
        super().__init__(f"payload: {text}")


@dataclass(frozen=True)
class Section:
    """A named part of a payload. The name is 1 to 24 characters of printable ASCII, no spaces."""

    name: str
    data: bytes | memoryview
    weights: bool = False  # at a multiple of 4096, and hashed by verify="full" only


def has_magic(data: bytes | memoryview) -> bool:
    """Whether the bytes begin as an envelope does; a stock blob, for instance, does not."""
    return bytes(memoryview(data)[: len(MAGIC)]) == MAGIC


def build(sections: Sequence[Section]) -> bytes:
    """The payload that holds the sections in this order. Equal sections give equal bytes."""
    if len(sections) > MAX_SECTIONS:
        raise PayloadError(f"{len(sections)} sections; at most {MAX_SECTIONS} fit")
    table = bytearray()
    pieces: list[bytes | memoryview] = []
    end = _HEADER.size + len(sections) * _ENTRY.size
    for index, section in enumerate(sections):
        name = section.name.encode()
        if not _NAME.fullmatch(name):
            raise PayloadError(
                f"section {index} is called {section.name!r}; "
                "expected 1 to 24 characters of printable ASCII without spaces"
            )
        if any(other.name == section.name for other in sections[:index]):
            raise PayloadError(f"section '{section.name}' occurs twice; expected once")
        data = memoryview(section.data).cast("B")
        alignment = WEIGHTS_ALIGNMENT if section.weights else ALIGNMENT
        offset = -(-end // alignment) * alignment
        flags = _WEIGHTS if section.weights else 0
        digest = hashlib.sha256(data).digest()
        table += _ENTRY.pack(name, offset, len(data), flags, 0, digest)
        pieces += [bytes(offset - end), data]
        end = offset + len(data)

    def header(digest: bytes) -> bytes:
        return _HEADER.pack(MAGIC, VERSION, len(sections), ALIGNMENT, 0, end, digest)

    digest = hashlib.sha256(header(_NO_DIGEST) + table).digest()
    return b"".join([header(digest), table, *pieces])


def parse(data: bytes | memoryview, verify: Verify = "always") -> dict[str, memoryview]:
    """The sections by name, in the payload's order, as views of `data`.

    Checks sizes, offsets, the header's and the table's checksum, and every section's, except that
    weights are hashed by verify="full" only. Raises PayloadError with the two values that differ.
    """
    if verify not in ("always", "full"):
        raise ValueError(f"verify is {verify!r}; expected 'always' or 'full'")
    view = memoryview(data).cast("B").toreadonly()
    count, alignment = _check_header(view)

    table_end = _HEADER.size + count * _ENTRY.size
    end = table_end
    sections: dict[str, memoryview] = {}
    to_hash: list[tuple[str, bytes]] = []
    for index in range(count):
        entry = _ENTRY.unpack_from(view, _HEADER.size + index * _ENTRY.size)
        raw_name, offset, size, flags, reserved, digest = entry
        if not _NAME.fullmatch(raw_name.rstrip(b"\0")):
            raise PayloadError(
                f"section {index} is called {raw_name.hex(' ')}; "
                "expected printable ASCII and then zeros"
            )
        name = raw_name.rstrip(b"\0").decode("ascii")
        who = f"section '{name}'"
        if name in sections:
            raise PayloadError(f"{who} occurs twice; expected once")
        if flags & ~_WEIGHTS:
            raise PayloadError(f"{who} has flags {flags}; version 1 knows {_WEIGHTS} only")
        if reserved:
            raise PayloadError(f"{who} has {reserved} in its reserved field; expected 0")
        multiple = max(alignment, WEIGHTS_ALIGNMENT if flags & _WEIGHTS else 1)
        if offset % multiple:
            raise PayloadError(f"{who} starts at byte {offset}; expected a multiple of {multiple}")
        if offset < end:
            raise PayloadError(f"{who} starts at byte {offset}; what precedes it ends at {end}")
        if offset + size > len(view):
            raise PayloadError(
                f"{who} has {size} bytes at byte {offset}; the payload has {len(view)}"
            )
        padding = bytes(view[end:offset])
        if stray := padding.lstrip(b"\0"):
            at = offset - len(stray)
            raise PayloadError(f"byte {at} in front of {who} is {stray[0]}; expected 0")
        sections[name] = view[offset : offset + size]
        end = offset + size
        if verify == "full" or not flags & _WEIGHTS:
            to_hash.append((name, digest))
    if end != len(view):
        raise PayloadError(f"the last section ends at byte {end}; the payload at {len(view)}")

    for name, expected in to_hash:
        found = hashlib.sha256(sections[name]).digest()
        if found != expected:
            raise PayloadError(
                f"section '{name}' has SHA-256 {_brief(found)}; the table says {_brief(expected)}"
            )
    return sections


def _check_header(view: memoryview) -> tuple[int, int]:
    """The number of sections and their alignment."""
    if len(view) < _HEADER.size:
        raise PayloadError(f"{len(view)} bytes; the header alone takes {_HEADER.size}")
    magic, version, count, alignment, reserved, total, expected = _HEADER.unpack_from(view)
    if magic != MAGIC:
        raise PayloadError(f"magic {magic.hex(' ')}; expected {MAGIC.hex(' ')}")
    if version != VERSION:
        raise PayloadError(
            f"version {version}; this reader knows version {VERSION}: "
            "lower the model again, or update the runtime"
        )
    if count > MAX_SECTIONS:
        raise PayloadError(f"{count} sections; at most {MAX_SECTIONS} fit")
    if alignment == 0 or alignment & (alignment - 1):
        raise PayloadError(f"alignment {alignment}; expected a power of two")
    if reserved:
        raise PayloadError(f"the header's reserved field is {reserved}; expected 0")
    if total != len(view):
        raise PayloadError(f"the header says {total} bytes; there are {len(view)}")
    table_end = _HEADER.size + count * _ENTRY.size
    if table_end > len(view):
        raise PayloadError(
            f"the table of {count} sections ends at byte {table_end}; the payload at {len(view)}"
        )
    zeroed = _HEADER.pack(magic, version, count, alignment, reserved, total, _NO_DIGEST)
    found = hashlib.sha256(zeroed + view[_HEADER.size : table_end]).digest()
    if found != expected:
        raise PayloadError(
            f"header and table have SHA-256 {_brief(found)}; the header says {_brief(expected)}"
        )
    return count, alignment


def _brief(digest: bytes) -> str:
    """Half of it, which is enough to tell two of them apart."""
    return digest[:16].hex() + "..."


def target_section(target: Mapping[str, str]) -> bytes:
    """What a runtime has to match: lines of `key=value`."""
    return "".join(f"{key}={value}\n" for key, value in sorted(target.items())).encode()


def named_data_section(size: int, sha256: bytes, key: str) -> bytes:
    """u32 version, u32 reserved, u64 size in bytes, SHA-256, and the named data's key."""
    return struct.pack("<IIQ", _NAMED_DATA_VERSION, 0, size) + sha256 + key.encode()
