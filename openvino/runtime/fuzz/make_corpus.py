"""Writes the fuzzer's seeds, each a delegate's payload with its named data, into `corpus/`.

./bazelw run //openvino/runtime/fuzz:make_corpus -- $PWD/openvino/runtime/fuzz/corpus

Regressions (`regression_*.case`) are what the fuzzer has saved, and stay as they are.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pte
import torch
from backend_common.payload import Section, build, parse
from executorch.exir._serialize._program import deserialize_pte_binary
from torch import nn


class Static(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


class Images(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x).to(memory_format=torch.channels_last)


class Scalar(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x) + 1


class Indices(nn.Module):
    """int64 in, int32 and bool out."""

    def forward(self, x: torch.Tensor, at: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.index_select(0, at), at > 2, at.to(torch.int32)


class Several(nn.Module):
    """OpenVINO finds that results are one another, or the input; the program does not know it."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        z = torch.sin(x) * y
        return z, z.view(2, 3), x.view(2, 3), torch.cos(z)


class Passing(nn.Module):
    """Inputs that are outputs, which the program knows."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        z = torch.sin(x) * y
        return z, z.clone(), x.clone(), torch.cos(z)


class Sized(nn.Module):
    """An int of the program is an input of its delegate."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x).reshape(x.shape[0] * 3) * x.shape[0]


def seeds() -> Iterator[tuple[str, nn.Module, tuple[Any, ...], dict[str, Any]]]:
    """Name, model, its inputs, and what else lowering is told."""
    matrix = torch.randn(2, 3)
    rows = torch.export.Dim("rows", min=1, max=6)
    yield "static", Static(), (matrix,), {}
    yield "compiled", Static(), (matrix,), {"options": {"precompile": True}}
    yield "dynamic", Static(), (matrix,), {"dynamic_shapes": {"x": {0: rows}}}
    yield "sized", Sized(), (matrix,), {"dynamic_shapes": {"x": {0: rows}}}
    yield "scalar", Scalar(), (torch.tensor(2.0),), {}
    yield "images", Images(), (torch.randn(1, 2, 3, 2),), {}
    yield "half", Scalar(), (matrix.half(),), {}
    yield "indices", Indices(), (torch.randn(5, 2), torch.tensor([1, 4, 0])), {}
    yield "several", Several(), (matrix, matrix + 1), {}
    yield "passing", Passing(), (matrix, matrix + 1), {}


def sections_of(program: bytes) -> list[Section]:
    """The largest of a program's payloads, and the named data that it needs."""
    file = deserialize_pte_binary(program)
    payloads = [each.data for each in file.program.backend_delegate_data]
    payload = max(payloads, key=len)
    sections = [Section("payload", payload)]
    if "weights" in (parts := parse(payload)):
        key = bytes(parts["weights"][48:])
        data = file.named_data
        sections += [
            Section("key", key),
            Section("data", data.buffers[data.pte_data[key.decode()].buffer_index]),
        ]
    return sections


def bare(sections: list[Section]) -> list[Section]:
    """The blob as stock ExecuTorch keeps it, and the payload that tells what it is."""
    payload, _, data = sections
    offset, size = (
        int.from_bytes(parse(payload.data)["blob"][at : at + 8], "little") for at in (8, 16)
    )
    return [Section("payload", data.data[offset : offset + size]), Section("like", payload.data)]


def main() -> None:
    folder = Path(sys.argv[1])
    for name, model, inputs, told in seeds():
        lowered = pte.lower(model.eval(), inputs, backend="openvino", **told)
        sections = sections_of(lowered.buffer)
        (folder / f"{name}.case").write_bytes(build(sections))
        if name == "compiled":
            (folder / "bare.case").write_bytes(build(bare(sections)))


if __name__ == "__main__":
    main()
