"""What is in a `.pte`: its methods, and the payloads of our delegates."""

import mmap
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backend_common import payload


@dataclass(frozen=True)
class PayloadInfo:
    """One payload of a delegate of ours.

    offset, size: in the file, in bytes.
    version: of the envelope.
    target: what the runtime must match, such as the OpenVINO version and the device.
    sections: sizes in bytes by name.
    """

    offset: int
    size: int
    version: int
    target: dict[str, str]
    sections: dict[str, int]


def payloads(path: Path) -> list[PayloadInfo]:
    """Every payload in the file, its hashes checked in full.

    Raises backend_common.payload.PayloadError, with the payload's place, for one that is
    damaged. Payloads are found by their magic: those of stock delegates have none.
    """
    found: list[PayloadInfo] = []
    if path.stat().st_size == 0:
        return found
    with path.open("rb") as file:
        # Unmapped when the last view of it is gone, which an error's traceback may hold.
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = data.find(payload.MAGIC)
    while start != -1:
        size = int.from_bytes(data[start + 24 : start + 32], "little")
        found.append(_payload(memoryview(data)[start : start + size], start))
        start = data.find(payload.MAGIC, start + max(size, len(payload.MAGIC)))
    return found


def _payload(envelope: memoryview, start: int) -> PayloadInfo:
    try:
        sections = payload.parse(envelope, verify="full")
    except payload.PayloadError as error:
        raise payload.PayloadError(f"the payload at byte {start}: {error}") from error
    lines = bytes(sections.get("target", b"")).decode().splitlines()
    return PayloadInfo(
        offset=start,
        size=len(envelope),
        version=int.from_bytes(envelope[8:12], "little"),
        target={key: value for key, _, value in (line.partition("=") for line in lines)},
        sections={name: len(section) for name, section in sections.items()},
    )


def describe(path: Path) -> dict[str, Any]:
    """The file as plain data, for `--json` and for the tables.

    Raises ExecutionError when ExecuTorch cannot load it.
    """
    from backend_common import load

    with load(path) as program:
        methods = []
        for name in program.methods:
            method = program.method(name)
            methods.append(
                {
                    "name": name,
                    "inputs": [_value(info) for info in method.inputs],
                    "outputs": [_value(info) for info in method.outputs],
                    "delegates": list(method.delegates),
                }
            )
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "methods": methods,
        "payloads": [asdict(info) for info in payloads(path)],
    }


def _value(info: Any) -> dict[str, Any]:
    if info.kind != "tensor":
        return {"kind": info.kind}
    return {
        "kind": "tensor",
        "dtype": str(info.dtype).removeprefix("torch."),
        "shape": list(info.shape),
        "dim_order": list(info.dim_order),
    }
