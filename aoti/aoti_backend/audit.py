"""Which kernels a program calls, and which of them the shim library has.

Twice: by the names in the generated source, before anything is compiled, with the operators that
go through a proxy executor; and by the undefined symbols of what the compiler made, which no way
of writing a call escapes. The list of what is there is read from the built library.
"""

import functools
import json
import re
import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aoti_backend.codegen import External, Source

_CALL = re.compile(r"\b(aoti_torch_\w+)\s*\(")
_PREFIX = re.compile(r"aoti_torch_(?:(?:cpu|cuda|mps)_)?")
# Ours to refuse by the operator's name: no library of ours has a proxy executor.
_PROXY = "aoti_torch_proxy_executor_call_function"
# What may be missing: the rest of a program's symbols are the C++ and OpenMP libraries'.
_OURS = ("aoti_", "Sleef_")


@dataclass(frozen=True)
class Missing:
    """A kernel that is not there.

    symbol: its C name; empty for an operator that goes through a proxy executor.
    operator: as Inductor calls it; empty where it is no operator's.
    nodes: names of the nodes that need it; empty where that is not known.
    """

    symbol: str
    operator: str
    nodes: tuple[str, ...]


@functools.cache
def kernels(listed: Path) -> frozenset[str]:
    """What a shim library exports, from the list that was read from the built library."""
    return frozenset(json.loads(listed.read_text())["kernels"])


def missing_in_source(source: Source, there: Collection[str]) -> list[Missing]:
    called = {
        symbol
        for line in (source.wrapper + "\n" + source.kernels).splitlines()
        if not line.lstrip().startswith(("//", "#"))
        for symbol in _CALL.findall(line)
    }
    proxied = [
        Missing("", name.replace("::", "."), _nodes_of(name.replace("::", "."), source))
        for name in dict.fromkeys(source.proxied)
    ]
    return proxied + _missing(called - {_PROXY}, source, there)


def missing_in_objects(
    objects: Sequence[Path], source: Source, there: Collection[str]
) -> list[Missing]:
    """What the compiled objects, relocatable ELF files, need and the library does not have."""
    needed = {name for path in objects for name in _undefined(path.read_bytes())}
    return _missing({name for name in needed if name.startswith(_OURS)}, source, there)


def _missing(needed: Collection[str], source: Source, there: Collection[str]) -> list[Missing]:
    found = []
    for symbol in sorted(set(needed) - set(there)):
        externals = _callers(symbol, source)
        nodes = dict.fromkeys(name for external in externals for name in external.nodes)
        operator = externals[0].operator if externals else ""
        found.append(Missing(symbol, operator.removeprefix("torch.ops."), tuple(nodes)))
    return found


def _callers(symbol: str, source: Source) -> list[External]:
    """
    `aoti_torch_cpu_scatter_reduce_two_out` is called for `aten.scatter_reduce_.two`: its name
    starts with the operator's, the longest of those that do.
    """
    if not _PREFIX.match(symbol):
        return []
    name = _PREFIX.sub("", symbol)
    fitting = [
        (len(packet), external)
        for external in source.externals
        if (packet := _packet(external.operator)) and name.startswith(packet)
    ]
    longest = max((length for length, _ in fitting), default=0)
    return [external for length, external in fitting if length == longest]


def _packet(operator: str) -> str:
    """`scatter_reduce` of `aten.scatter_reduce_.two`, `mm` of `extern_kernels.mm`."""
    parts = operator.removeprefix("torch.ops.").split(".")
    return parts[1].rstrip("_") if len(parts) > 1 else ""


def _nodes_of(operator: str, source: Source) -> tuple[str, ...]:
    names = dict.fromkeys(
        name
        for external in source.externals
        if (external.operator + ".").startswith(operator + ".")
        for name in external.nodes
    )
    return tuple(names)


_SYMBOL_TABLE = 2  # a section's type
_ENTRY = struct.Struct("<IBBHQQ")


def _undefined(elf: bytes) -> Iterator[str]:
    """The names that a relocatable file refers to and does not define."""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", elf, table + index * size) for index in range(count)
    ]
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind != _SYMBOL_TABLE:
            continue
        strings = sections[link][4]
        for name, _, _, section, _, _ in _ENTRY.iter_unpack(elf[offset : offset + length]):
            if section == 0 and name:
                start = strings + name
                yield elf[start : elf.index(b"\0", start)].decode()
