"""Whether a program is traced as often as it must be, and comes out the same."""

import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.partitioner import Partitioner, PartitionResult
from torch import nn
from torch.export import ExportedProgram, export

from backend_common.trace_once import trace_once


class TakesNothing(Partitioner):
    def partition(self, exported_program):
        return PartitionResult(tagged_exported_program=exported_program, partition_tags={})


class Keeps(TakesNothing):
    def ops_to_not_decompose(self, ep):
        return [], None


class Writes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.ones(1))
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        self.count.add_(1)
        return self.layer(x) * self.count


def _traces(monkeypatch, module, partitioner, once=True):
    calls = []
    original = ExportedProgram.run_decompositions

    def counted(self, *args, **kwargs):
        calls.append(args)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(ExportedProgram, "run_decompositions", counted)
    program = export(module, (torch.ones(2, 4),))
    if once:
        trace_once(program, [partitioner])
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner])
    monkeypatch.undo()
    assert "run_decompositions" not in vars(program)
    return len(calls), edge.exported_program().graph_module.code


def test_one_trace_gives_what_two_give(monkeypatch):
    once, code = _traces(monkeypatch, Writes().eval(), TakesNothing())
    twice, reference = _traces(monkeypatch, Writes().eval(), TakesNothing(), once=False)
    assert (once, twice) == (1, 2)
    assert code == reference


def test_a_partitioner_that_keeps_operators_sees_the_functional_form(monkeypatch):
    count, _ = _traces(monkeypatch, Writes().eval(), Keeps())
    assert count == 2


def test_a_program_without_anything_to_decompose_is_made_functional(monkeypatch):
    class Adds(nn.Module):
        def forward(self, x):
            return x.add(1).mul_(2)

    count, code = _traces(monkeypatch, Adds(), TakesNothing())
    assert count == 1
    assert "mul_(" not in code
