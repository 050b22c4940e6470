"""Buffers that share memory are one memory in a program, too."""

import pytest
import torch
from torch import nn

from backend_common import LoweringError, load, lower


class OneTensor(nn.Module):
    def __init__(self):
        super().__init__()
        tensor = torch.ones(3)
        self.register_buffer("a", tensor)
        self.register_buffer("b", tensor)

    def forward(self, x):
        self.a.add_(x)
        return self.b * 2


class PartBeforeTheWhole(nn.Module):
    def __init__(self):
        super().__init__()
        whole = torch.ones(3)
        self.register_buffer("part", whole[1:])
        self.register_buffer("whole", whole)

    def forward(self, x):
        self.whole.add_(x)
        self.part.mul_(2)
        return self.part * 2, self.whole.sum()


class Caches(nn.Module):
    def __init__(self):
        super().__init__()
        both = torch.zeros(2, 4, 3)
        self.register_buffer("both", both)
        self.register_buffer("keys", both[0])
        self.register_buffer("values", both[1].t())
        self.register_buffer("unused", both[0, 0])

    def forward(self, x):
        self.keys[1] = x
        self.values.mul_(2).add_(1)
        return self.both.sum(), self.keys * 2, self.values


class ParameterAndBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("same", self.weight.detach())

    def forward(self, x):
        self.same.add_(x)
        return self.weight * 2


class Overlapping(nn.Module):
    def __init__(self):
        super().__init__()
        whole = torch.zeros(5)
        self.register_buffer("front", whole[:3])
        self.register_buffer("back", whole[2:])

    def forward(self, x):
        self.front.add_(x)
        return self.back * 2


@pytest.mark.parametrize("make", [OneTensor, PartBeforeTheWhole, Caches, ParameterAndBuffer])
def test_what_one_name_writes_the_other_reads(make):
    eager = make()
    loaded = load(lower(make(), (torch.zeros(3),), backend="portable").buffer)
    for _ in range(3):
        x = torch.randn(3)
        expected = torch.utils._pytree.tree_leaves(eager(x))
        for found, wanted in zip(loaded.forward(x), expected, strict=True):
            torch.testing.assert_close(found, wanted)


def test_without_a_name_for_the_whole_it_is_refused():
    with pytest.raises(LoweringError, match="front and back share") as error:
        lower(Overlapping(), (torch.zeros(3),), backend="portable")
    (row,) = error.value.rows
    assert row.operator == "aten.add_.Tensor" and "self.front.add_(x)" in row.source


class Empty(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("nothing", torch.zeros(0, 3))

    def forward(self, x):
        self.nothing.add_(1)
        return self.nothing * 2, x + 1


def test_a_written_buffer_without_elements_alone():
    loaded = load(lower(Empty(), (torch.zeros(3),), backend="portable").buffer)
    nothing, result = loaded.forward(torch.ones(3))
    assert nothing.shape == (0, 3) and result.tolist() == [2, 2, 2]
