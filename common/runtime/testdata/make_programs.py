"""Writes the programs that program_test.cc loads, into the folder of this file.

./bazelw run //tools:python -- common/runtime/testdata/make_programs.py
"""

from pathlib import Path

import torch
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec

FOLDER = Path(__file__).parent


class TestBackend(BackendDetails):
    """Its payload is the word that the test's delegate expects."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        return PreprocessResult(processed_bytes=b"a payload that must stay readable")


class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y, x * y


class Count(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(2))

    def forward(self, x):
        self.n.add_(x)
        return self.n.clone()


class NoElements(torch.nn.Module):
    """Its only constant has none."""

    def __init__(self):
        super().__init__()
        self.register_buffer("nothing", torch.zeros(0, 2))

    def forward(self, x):
        return x + x, self.nothing * 2


class Delegated(torch.nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x):
        return self.part(x)


class Identity(torch.nn.Module):
    def forward(self, x):
        return x + 0


def main() -> None:
    rows = torch.export.Dim("rows", min=2, max=4)
    x = torch.randn(3, 2)
    methods = {
        "forward": torch.export.export(
            Add(), (x, x), dynamic_shapes={"x": {0: rows}, "y": {0: rows}}
        ),
        "count": torch.export.export(Count(), (torch.ones(2),)),
    }
    (FOLDER / "portable.pte").write_bytes(to_edge(methods).to_executorch().buffer)

    empty = to_edge(torch.export.export(NoElements(), (torch.ones(2),)))
    (FOLDER / "no_elements.pte").write_bytes(empty.to_executorch().buffer)

    config = EdgeCompileConfig(_check_ir_validity=False)
    edge = to_edge(torch.export.export(Identity(), (x,)), compile_config=config).exported_program()
    part = to_backend("TestBackend", edge, [CompileSpec("spec", b"value")])
    program = to_edge(torch.export.export(Delegated(part), (x,)), compile_config=config)
    (FOLDER / "delegated.pte").write_bytes(program.to_executorch().buffer)


if __name__ == "__main__":
    main()
