"""What is in a `.pte`: its methods, and the payloads of our delegates."""

import hashlib
import mmap
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backend_common import payload

from pte import named_data

_PASSTHROUGH, _DUPLICATE = 2, 4

# ExecuTorch's ScalarType numbers, and 255 for a symbolic size.
_DTYPES = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    11: "bool",
    15: "bfloat16",
    27: "uint16",
    28: "uint32",
    29: "uint64",
    255: "int",
}


@dataclass(frozen=True)
class PayloadInfo:
    """One payload of a delegate of ours.

    offset, size: in the file, in bytes.
    version: of the envelope.
    target: what the runtime must match, such as the OpenVINO version and the device.
    sections: sizes in bytes by name.
    inputs, outputs: dtype, [lowest, highest] size of each dimension, -1 for no bound, and the
        dim order; outputs that are an input, or equal another output, name it.
    weights: the named data that the payload reads, its size in bytes and SHA-256; empty: none.
    code: likewise, for the library that a payload of AOTI's runs.
    blob: the part of the weights that is a compiled model; empty: none.
    """

    offset: int
    size: int
    version: int
    target: dict[str, str]
    sections: dict[str, int]
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    weights: dict[str, Any]
    code: dict[str, Any]
    blob: dict[str, int]


def payloads(path: Path, data: Path | None = None) -> list[PayloadInfo]:
    """Every payload in the file, its hashes checked in full, and those of its weights and code.

    data: the `.ptd` that may hold the weights.

    Raises backend_common.payload.PayloadError, with the payload's place, for one that is
    damaged. Payloads are found by their magic: those of stock delegates have none.
    """
    found: list[PayloadInfo] = []
    if path.stat().st_size == 0:
        return found
    with path.open("rb") as file:
        # Unmapped when the last view of it is gone, which an error's traceback may hold.
        program = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = program.find(payload.MAGIC)
    while start != -1:
        size = int.from_bytes(program[start + 24 : start + 32], "little")
        found.append(_payload(memoryview(program)[start : start + size], start))
        start = program.find(payload.MAGIC, start + max(size, len(payload.MAGIC)))
    _check_named_data(found, program, data)
    return found


def _check_named_data(
    found: Sequence[PayloadInfo], program: mmap.mmap, external: Path | None
) -> None:
    """Each store of weights or code once, however many payloads read it."""
    needed = {
        stored["key"]: (f"the payload at byte {info.offset}", kind, stored)
        for info in found
        for kind, stored in (("weights", info.weights), ("code", info.code))
        if stored
    }
    if not needed:
        return
    there = named_data.in_program(program)
    if external is not None:
        there |= named_data.in_data_file(external)
    for key, (who, kind, stored) in needed.items():
        if key not in there:
            raise payload.PayloadError(
                f"{who} reads the named data '{key}', which the file does not hold; "
                "name the .ptd beside it with --data"
            )
        if len(there[key]) != stored["size"]:
            raise payload.PayloadError(
                f"{who}: of its {kind} there are {len(there[key])} bytes; it says {stored['size']}"
            )
        digest = hashlib.sha256(there[key]).hexdigest()
        if digest != stored["sha256"]:
            has = "have" if kind == "weights" else "has"
            raise payload.PayloadError(
                f"{who}: its {kind} {has} SHA-256 {digest[:32]}...; "
                f"it says {stored['sha256'][:32]}..."
            )


def _payload(envelope: memoryview, start: int) -> PayloadInfo:
    try:
        sections = payload.parse(envelope, verify="full")
    except payload.PayloadError as error:
        raise payload.PayloadError(f"the payload at byte {start}: {error}") from error
    lines = bytes(sections.get("target", b"")).decode().splitlines()
    target = {key: value for key, _, value in (line.partition("=") for line in lines)}
    try:
        inputs, outputs = _interface(bytes(sections.get("io", b"")))
        weights, blob = _stored(sections, "weights"), _blob(sections)
        code = _stored(sections, "code") if target.get("backend") == "aoti" else {}
    except struct.error as error:
        raise payload.PayloadError(f"the payload at byte {start}: {error}") from error
    return PayloadInfo(
        offset=start,
        size=len(envelope),
        version=int.from_bytes(envelope[8:12], "little"),
        target=target,
        sections={name: len(section) for name, section in sections.items()},
        inputs=inputs,
        outputs=outputs,
        weights=weights,
        code=code,
        blob=blob,
    )


def _stored(sections: Mapping[str, memoryview], name: str) -> dict[str, Any]:
    """u32 version, u32 reserved, u64 size, SHA-256, and the key."""
    section = sections.get(name)
    if section is None:
        return {}
    version, _, size, digest = struct.unpack_from("<IIQ32s", section)
    if version != 1:
        raise payload.PayloadError(f"section {name} has version {version}; this reads version 1")
    key = bytes(section[48:]).decode("ascii", errors="backslashreplace")
    return {"key": key, "size": size, "sha256": digest.hex()}


def _blob(sections: Mapping[str, memoryview]) -> dict[str, int]:
    """u32 version, u32 reserved, u64 offset in the weights, u64 size."""
    section = sections.get("blob")
    if section is None:
        return {}
    _, _, offset, size = struct.unpack_from("<IIQQ", section)
    return {"offset": offset, "size": size}


def _interface(section: bytes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Inputs and outputs from an `io` section; none where there is no such section.

    u32 version, inputs, outputs; then for each value u32 dtype, rank, flags, source, for each
    dimension i64 lowest and highest size, and for each dimension u32 its place in the dim order.
    """
    if not section:
        return [], []
    version, inputs, outputs = struct.unpack_from("<III", section)
    if version != 2:
        raise payload.PayloadError(f"section io has version {version}; this reads version 2")
    values, at = [], 12
    for _ in range(inputs + outputs):
        dtype, rank, flags, source = struct.unpack_from("<IIII", section, at)
        bounds = [struct.unpack_from("<qq", section, at + 16 * (1 + d)) for d in range(rank)]
        at += 16 * (1 + rank)
        order = list(struct.unpack_from(f"<{rank}I", section, at))
        at += 4 * rank
        value = {"dtype": _DTYPES.get(dtype, f"dtype {dtype}"), "bounds": bounds}
        value["dim_order"] = order
        if flags & _PASSTHROUGH:
            value["is_input"] = source
        if flags & _DUPLICATE:
            value["equals_output"] = source
        values.append(value)
    return values[:inputs], values[inputs:]


def _operators(path: Path) -> dict[str, Counter[str]]:
    """How often each method calls each kernel: the operators that no delegate has.

    For a file that ExecuTorch has loaded, and so verified.
    """
    from executorch.exir._serialize._flatbuffer_program import _flatbuffer_to_program
    from executorch.exir.schema import KernelCall

    with path.open("rb") as file:
        program = _flatbuffer_to_program(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    found = {}
    for plan in program.execution_plan:
        names = [".".join(filter(None, (each.name, each.overload))) for each in plan.operators]
        found[plan.name] = Counter(
            names[instruction.instr_args.op_index]
            for chain in plan.chains
            for instruction in chain.instructions
            if isinstance(instruction.instr_args, KernelCall)
        )
    return found


def describe(path: Path, data: Path | None = None) -> dict[str, Any]:
    """The file as plain data, for `--json` and for the tables.

    Raises ExecutionError when ExecuTorch cannot load it.
    """
    from backend_common import load

    with load(path, data=data) as program:
        operators = _operators(path)
        methods = []
        for name in program.methods:
            method = program.method(name)
            methods.append(
                {
                    "name": name,
                    "inputs": [_value(info) for info in method.inputs],
                    "outputs": [_value(info) for info in method.outputs],
                    "delegates": list(method.delegates),
                    "operators": dict(sorted(operators[name].items())),
                }
            )
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "methods": methods,
        "payloads": [asdict(info) for info in payloads(path, data)],
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
