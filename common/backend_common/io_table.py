"""The section of a payload that says what goes into a delegate and what comes out of it.

`common/payload/io_table.h` describes the bytes and reads them at run time.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

# ExecuTorch's ScalarType.
SCALAR_TYPES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.complex32: 8,
    torch.complex64: 9,
    torch.complex128: 10,
    torch.bool: 11,
    torch.bfloat16: 15,
    torch.uint16: 27,
    torch.uint32: 28,
    torch.uint64: 29,
}
_VERSION = 2
_SYMBOLIC_INTEGER = 255
_DYNAMIC, _SAME_AS_INPUT, _SAME_AS_OUTPUT = 1, 2, 4


@dataclass(frozen=True)
class Value:
    """An input or output. `dtype` None is a symbolic integer, which travels as an int."""

    dtype: torch.dtype | None
    bounds: tuple[tuple[int, int], ...]
    dim_order: tuple[int, ...] = ()

    @property
    def dynamic(self) -> bool:
        return any(low != high for low, high in self.bounds)


@dataclass(frozen=True)
class Alias:
    """An output that is an input as it came, or equals an earlier output."""

    of_input: bool
    source: int


@dataclass(frozen=True)
class Interface:
    """aliases: by the output's index."""

    inputs: Sequence[Value]
    outputs: Sequence[Value]
    aliases: Mapping[int, Alias] = field(default_factory=dict)


def io_section(interface: Interface) -> bytes:
    """u32 version, inputs, outputs; then for each value u32 dtype, rank, flags, source; for each
    dimension i64 least and greatest size; for each dimension u32 which one it is in memory."""
    inputs, outputs = interface.inputs, interface.outputs
    parts = [struct.pack("<III", _VERSION, len(inputs), len(outputs))]
    parts += [_value(value, 0, 0) for value in inputs]
    for index, value in enumerate(outputs):
        alias = interface.aliases.get(index)
        if alias is None:
            parts.append(_value(value, 0, 0))
        else:
            flag = _SAME_AS_INPUT if alias.of_input else _SAME_AS_OUTPUT
            parts.append(_value(value, flag, alias.source))
    return b"".join(parts)


def _value(value: Value, flags: int, source: int) -> bytes:
    dtype = _SYMBOLIC_INTEGER if value.dtype is None else SCALAR_TYPES[value.dtype]
    flags |= _DYNAMIC if value.dynamic else 0
    numbers = (
        struct.pack("<IIII", dtype, len(value.bounds), flags, source),
        *(struct.pack("<qq", low, high) for low, high in value.bounds),
        *(struct.pack("<I", dimension) for dimension in value.dim_order),
    )
    return b"".join(numbers)
