"""What a method writes: buffers and inputs, all at once, and only results are returned."""

import copy

import pytest
import torch
from torch.utils import _pytree as pytree

from backend_common import load, lower


class Writes(torch.nn.Module):
    def __init__(self, write, **buffers):
        super().__init__()
        self.write = write
        for name, value in buffers.items():
            self.register_buffer(name, torch.tensor(value))

    def forward(self, *inputs):
        return self.write(self, *inputs)


def swap(m, x):
    old = m.a.clone()
    m.a.copy_(m.b)
    m.b.copy_(old)
    return x + m.a


def rotate(m, x):
    old = m.a.clone()
    m.a.copy_(m.b)
    m.b.copy_(m.c)
    m.c.copy_(old + x)
    return m.a.clone()


def return_the_old_value(m, x):
    old = m.a.clone()
    m.a.add_(x)
    return old.view(-1), m.a * 1


def replace(m, x):
    m.a.copy_(x)
    return m.a * 1


def write_to_the_input(m, x):
    x.add_(1)
    return x * 2


def return_the_written_input(m, x):
    x.add_(1)
    return x


def swap_inputs(m, x, y):
    old = x.clone()
    x.copy_(y)
    y.copy_(old)
    return x - 2 * y


def write_to_both(m, x):
    x.add_(m.a)
    m.a.add_(x)
    return x.sum()


def write_nothing(m, x):
    m.a.add_(1)
    m.b.add_(x)
    return m.a * 2, m.a.sum() + m.b


A, B, C = [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]
CASES = {
    "swap": (swap, {"a": A, "b": B}, [C]),
    "rotate": (rotate, {"a": A, "b": B, "c": C}, [A]),
    "old value": (return_the_old_value, {"a": A}, [C]),
    "replace": (replace, {"a": A}, [C]),
    "input": (write_to_the_input, {}, [A]),
    "returned input": (return_the_written_input, {}, [A]),
    "swapped inputs": (swap_inputs, {}, [A, B]),
    "without elements": (write_nothing, {"a": [], "b": A}, [B]),
    "input and buffer": (write_to_both, {"a": A}, [B]),
}


@pytest.mark.parametrize("name", CASES)
def test_three_calls_equal_eager(name):
    write, buffers, inputs = CASES[name]
    inputs = tuple(torch.tensor(value) for value in inputs)
    eager = Writes(write, **buffers)
    program = load(lower(copy.deepcopy(eager), inputs, backend="portable").buffer)
    for _ in range(3):
        expected = pytree.tree_leaves(eager(*(x.clone() for x in inputs)))
        actual = program.forward(*(x.clone() for x in inputs))
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert torch.equal(one, other)
