"""The constants of a program's OpenVINO partitions, each stored once.

One store serves all partitions of all methods. Its bytes travel as ExecuTorch's named data;
what refers to a constant is its offset.
"""

from collections.abc import Iterable

from openvino_backend import blob_code

PAGE = 4096
_ALIGNMENT = 64  # a cache line, which the widest vector instruction of a CPU reads
_PROBE = 64


class Weights:
    """Collects bytes and says where they are."""

    def __init__(self) -> None:
        self._pieces: list[bytes | memoryview] = []
        self._size = 0
        # By size and first and last bytes, which tell almost all apart.
        self._known: dict[tuple[int, bytes, bytes], list[tuple[memoryview, int]]] = {}

    def add(self, constant: memoryview) -> int:
        """The offset in bytes of an equal constant, which is added unless it is there."""
        offset = self._find(constant)
        if offset is None:
            offset = self._append(constant, _ALIGNMENT)
            self._remember(constant, offset)
        return offset

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
            self._remember(view[offset : offset + size], start + offset)
        return start, held

    def _find(self, constant: memoryview) -> int | None:
        for known, offset in self._known.get(_brief(constant), ()):
            if blob_code.equal(known, constant):
                return offset
        return None

    def _remember(self, constant: memoryview, offset: int) -> None:
        self._known.setdefault(_brief(constant), []).append((constant, offset))

    def _append(self, data: bytes | memoryview, alignment: int) -> int:
        offset = -(-self._size // alignment) * alignment
        if offset != self._size:
            self._pieces.append(bytes(offset - self._size))
        self._pieces.append(data)
        self._size = offset + len(data)
        return offset

    def data(self) -> bytes:
        """Not empty where there is a constant, even an empty one: an IR needs bytes to refer to."""
        return b"".join(self._pieces) or (bytes(_ALIGNMENT) if self._known else b"")


def _brief(constant: memoryview) -> tuple[int, bytes, bytes]:
    return len(constant), bytes(constant[:_PROBE]), bytes(constant[-_PROBE:])
