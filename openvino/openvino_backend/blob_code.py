"""Which bytes of a compiled blob are weights, and a checksum of all the others.

A payload's code is hashed before every use, its weights only when a full check is asked for
(hashing 200 MB takes longer than loading them). OpenVINO's blob holds both: the large constants
of the model lie in it as they are, and everything else counts as code.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator

# Constants below this size, in bytes, are hashed with the code.
LEAST_WEIGHTS = 1 << 16

_VERSION = 1
_PROBE = 64
_MOST_CANDIDATES = 64


def weight_ranges(blob: bytes, constants: Iterable[memoryview]) -> list[tuple[int, int]]:
    """(offset, size) in bytes, ascending, of the large ones among the constants that the blob
    holds byte for byte; empty when it holds none of them so."""
    view = memoryview(blob)
    found: list[tuple[int, int]] = []
    end = 0
    for data in constants:
        if len(data) < LEAST_WEIGHTS:
            continue
        taken = {offset for offset, _ in found}
        for offset in _occurrences(blob, bytes(data[:_PROBE]), end):
            if offset not in taken and equal(view[offset : offset + len(data)], data):
                found.append((offset, len(data)))
                end = offset + len(data)
                break
    return _without_overlaps(sorted(found))


def equal(one: memoryview, other: memoryview) -> bool:
    """As bytes, which are compared many times faster than views of them."""
    step = 1 << 20
    return len(one) == len(other) and all(
        bytes(one[at : at + step]) == bytes(other[at : at + step])
        for at in range(0, len(one), step)
    )


def _occurrences(blob: bytes, probe: bytes, start: int) -> Iterator[int]:
    """The first places where the probe begins: a few, since zeros begin everywhere.

    From `start` on, where a blob that keeps the constants' order has it, then from the front.
    """
    left = _MOST_CANDIDATES
    for first, last in ((start, len(blob)), (0, min(len(blob), start + len(probe)))):
        offset = blob.find(probe, first, last)
        while offset != -1 and left:
            yield offset
            left -= 1
            offset = blob.find(probe, offset + 1, last)


def _without_overlaps(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for offset, size in ranges:
        if not kept or offset >= kept[-1][0] + kept[-1][1]:
            kept.append((offset, size))
    return kept


def code_section(blob: bytes, weights: list[tuple[int, int]]) -> bytes:
    """The payload's section `code`: u32 version 1, u32 count, count times {u64 offset, u64 size}
    of the code in the blob, and the SHA-256 of those ranges one after the other."""
    view = memoryview(blob)
    ranges: list[tuple[int, int]] = []
    start = 0
    for offset, size in [*weights, (len(blob), 0)]:
        if offset > start:
            ranges.append((start, offset - start))
        start = offset + size
    digest = hashlib.sha256()
    for offset, size in ranges:
        digest.update(view[offset : offset + size])
    table = b"".join(struct.pack("<QQ", *item) for item in ranges)
    return struct.pack("<II", _VERSION, len(ranges)) + table + digest.digest()
