"""An `openvino.Model` as OpenVINO's IR: XML, and the bytes of its constants.

The format is OpenVINO's `IR v11`, written by OpenVINO itself; every version since 2025.1 reads it.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from openvino_backend.conversion import ConversionError

# A constant's layer up to its place in the bytes beside the XML.
_PLACE = re.compile(
    r'(<layer id="\d+" name="(?P<name>[^"]*)" type="Const"[^>]*>\s*'
    r'<data element_type="\w+" shape="[\d, ]*" offset=")\d+" size="(?P<size>\d+)"'
)
_CONSTANT = re.compile(r'<layer [^>]*type="Const"')


@dataclass(frozen=True)
class Ir:
    """xml: whose constants have no place yet. constants: their bytes, by their layer's name."""

    xml: str
    constants: Mapping[str, memoryview]

    def placed(self, place: Callable[[memoryview], int]) -> str:
        """The XML with each constant at the offset that `place` says."""

        def moved(match: re.Match[str]) -> str:
            data = self.constants[match["name"]]
            return f'{match[1]}{place(data)}" size="{len(data)}"'

        return _PLACE.sub(moved, self.xml)


def serialize(model: Any) -> Ir:
    """Equal models give equal bytes: names that count in the process are replaced.

    The constants are views of the model's own memory, which the result keeps alive.
    """
    import openvino

    model.set_friendly_name("partition")
    constants = {}
    for position, node in enumerate(_nodes(model)):
        kind = node.get_type_name()
        if kind == "Constant":
            node.set_friendly_name(f"Constant_{position}")
            constants[node.get_friendly_name()] = _bytes_of(node)
        elif re.fullmatch(rf"{re.escape(kind)}_\d+", node.get_friendly_name()):
            node.set_friendly_name(f"{kind}_{position}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xml")
        openvino.serialize(model, path, os.devnull)
        xml = path.read_text()
    found = {place["name"] for place in _PLACE.finditer(xml)}
    if found != set(constants) or len(found) != len(_CONSTANT.findall(xml)):
        raise ConversionError("OpenVINO wrote other constants into the IR than the model has")
    return Ir(xml, constants)


def _nodes(model: Any) -> Iterator[Any]:
    """The model's nodes, and those of the bodies in it, in an order that the model alone sets."""
    for node in model.get_ordered_ops():
        yield node
        for body in _bodies(node):
            yield from _nodes(body)


def _bodies(node: Any) -> Iterator[Any]:
    kind = node.get_type_name()
    if kind == "If":
        yield from (node.get_function(index) for index in range(2))
    elif kind in ("Loop", "TensorIterator"):
        yield node.get_function()


def _bytes_of(constant: Any) -> memoryview:
    data = constant.data
    if data.size == 0:
        return memoryview(b"")
    return memoryview(numpy.ascontiguousarray(data).reshape(-1).view(numpy.uint8)).cast("B")
