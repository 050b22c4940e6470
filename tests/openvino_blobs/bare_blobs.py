"""Programs whose payload is OpenVINO's compiled model alone, as stock ExecuTorch writes them."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

from openvino_backend import compilation, preprocess


@dataclass(frozen=True)
class _BarePart:
    blob: bytes

    def payload(self, weights: bytes | None) -> bytes:
        return self.blob


@contextlib.contextmanager
def bare_blobs() -> Iterator[list[bytes]]:
    """While active, what is lowered to OpenVINO gets such payloads; they are in the list, too."""
    blobs: list[bytes] = []

    def part(module: Any, chosen: Any, weights: Any) -> _BarePart:
        compiled = compilation.compile_model(preprocess.to_model(module, chosen), chosen.device)
        blobs.append(compilation.export(compiled))
        return _BarePart(blobs[-1])

    with mock.patch.object(preprocess, "part", part):
        yield blobs
