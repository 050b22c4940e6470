"""The constants of a program's OpenVINO partitions, each stored once.

One store serves all partitions of all methods. Its bytes travel as ExecuTorch's named data;
what refers to a constant is its offset.
"""

import hashlib
from collections.abc import Iterable

from openvino_backend import blob_code

PAGE = 4096
_ALIGNMENT = 64  # a cache line, which the widest vector instruction of a CPU reads


class Weights:
    """Collects bytes and says where they are."""

    def __init__(self) -> None:
        self._pieces: list[bytes | memoryview] = []
        self._size = 0
        self._offsets: dict[bytes, int] = {}  # by SHA-256

    def add(self, constant: memoryview) -> int:
        """The offset in bytes of an equal constant, which is added unless it is there."""
        digest = hashlib.sha256(constant).digest()
        if digest not in self._offsets:
            self._offsets[digest] = self._append(constant, _ALIGNMENT)
        return self._offsets[digest]

    def add_blob(
        self, blob: bytes, constants: Iterable[memoryview]
    ) -> tuple[int, list[tuple[int, int]]]:
        """Adds a compiled model at a page's start, and learns which constants it holds.

        Returns its offset, and (offset in the blob, size) of the large constants in it.
        """
        held = blob_code.weight_ranges(blob, constants)
        start = self._append(blob, PAGE)
        view = memoryview(blob)
        for offset, size in held:
            digest = hashlib.sha256(view[offset : offset + size]).digest()
            self._offsets.setdefault(digest, start + offset)
        return start, held

    def _append(self, data: bytes | memoryview, alignment: int) -> int:
        offset = -(-self._size // alignment) * alignment
        if offset != self._size:
            self._pieces.append(bytes(offset - self._size))
        self._pieces.append(data)
        self._size = offset + len(data)
        return offset

    def data(self) -> bytes:
        return b"".join(self._pieces)
