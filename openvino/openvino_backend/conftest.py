"""What the tests share: a program lowered once, and the wheel's OpenVINO as the second opinion."""

import dataclasses

import backend_common
import pytest
import torch
from backend_common import payload


class TwoLayers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


@dataclasses.dataclass
class Program:
    lowered: object
    module: torch.nn.Module
    inputs: tuple

    def expected(self):
        return self.module(*self.inputs)

    def payload(self):
        """The delegate's bytes inside the program."""
        start = self.lowered.buffer.index(payload.MAGIC)
        size = int.from_bytes(self.lowered.buffer[start + 24 : start + 32], "little")
        return start, self.lowered.buffer[start : start + size]


def sections_of(program):
    """The sections of a program's first payload."""
    start = program.index(payload.MAGIC)
    size = int.from_bytes(program[start + 24 : start + 32], "little")
    sections = payload.parse(program[start : start + size])
    return {name: bytes(data) for name, data in sections.items()}


def lower(module, *inputs, **options):
    return backend_common.lower(module.eval(), inputs, backend="openvino", **options)


@pytest.fixture(scope="session")
def two_layers():
    torch.manual_seed(0)
    module = TwoLayers().eval()
    inputs = (torch.randn(2, 8),)
    return Program(lower(module, *inputs), module, inputs)
