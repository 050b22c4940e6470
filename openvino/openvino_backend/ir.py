"""An `openvino.Model` as OpenVINO's IR: XML, and the bytes of its constants.

The format is OpenVINO's `IR v11`, written by OpenVINO itself; every version since 2025.1 reads it.
"""

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openvino_backend.conversion import ConversionError

# A constant's place in the bytes beside the XML.
_PLACE = re.compile(
    r'(<data element_type="\w+" shape="[\d, ]*" offset=")(\d+)(" size=")(\d+)(" ?/>)'
)
_CONSTANT = re.compile(r'<layer [^>]*type="Const"')


@dataclass(frozen=True)
class Ir:
    """xml: whose offsets count in `data`, the constants one after the other."""

    xml: str
    data: memoryview

    def constants(self) -> list[memoryview]:
        return [self._constant(place) for place in _PLACE.finditer(self.xml)]

    def placed(self, place: Callable[[memoryview], int]) -> str:
        """The XML with each constant at the offset that `place` says."""

        def moved(match: re.Match[str]) -> str:
            offset = place(self._constant(match))
            return f"{match[1]}{offset}{match[3]}{match[4]}{match[5]}"

        return _PLACE.sub(moved, self.xml)

    def _constant(self, place: re.Match[str]) -> memoryview:
        offset, size = int(place[2]), int(place[4])
        return self.data[offset : offset + size]


def serialize(model: Any) -> Ir:
    """Equal models give equal bytes: names that count in the process are replaced."""
    import openvino

    _name_by_position(model)
    with tempfile.TemporaryDirectory() as folder:
        xml, weights = Path(folder, "model.xml"), Path(folder, "model.bin")
        openvino.serialize(model, xml, weights)
        ir = Ir(xml.read_text(), memoryview(weights.read_bytes()))
    places, constants = len(_PLACE.findall(ir.xml)), len(_CONSTANT.findall(ir.xml))
    if places != constants:
        raise ConversionError(f"OpenVINO's IR has {constants} constants and {places} places")
    return ir


def _name_by_position(model: Any) -> None:
    """Given:  `Constant_314`, the 314th node that this process made
    Result: `Constant_7`, the eighth of this model
    """
    model.set_friendly_name("partition")
    for position, node in enumerate(model.get_ordered_ops()):
        kind = node.get_type_name()
        if re.fullmatch(rf"{re.escape(kind)}_\d+", node.get_friendly_name()):
            node.set_friendly_name(f"{kind}_{position}")
