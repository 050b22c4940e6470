"""Copies of tensors whose dimensions lie in memory in an order that ExecuTorch has no name for."""

import pytest
import torch

from backend_common import load, lower


class Copies(torch.nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.register_buffer("weight", weight)

    def forward(self, x):
        return (
            *(x.clone() + 1, x.to(torch.float64), x.bool(), x.to(torch.int32) * 2, x.half()),
            *(self.weight.clone(), self.weight.double() * 2, torch.zeros_like(x) + x.abs()),
        )


class CopiesOfInputs(torch.nn.Module):
    def forward(self, x):
        return x.clone() + 1, x.to(torch.float64), x.bool(), torch.zeros_like(x) + x.abs()


@pytest.mark.parametrize(
    "x",
    [
        torch.randn(5, 3).t(),
        torch.randn(2, 5, 3).transpose(1, 2),
        torch.randn(2, 5, 4, 3).permute(0, 2, 1, 3),
        torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        torch.randn(2, 2, 3, 4, 5).to(memory_format=torch.channels_last_3d),
        torch.randn(1, 4, 1, 3).permute(3, 2, 0, 1),
    ],
    ids=lambda x: str(x.dim_order()),
)
def test_copies_in_any_order_equal_eager(x):
    model = Copies(x * 3)
    program = load(lower(model, (x,), backend="portable").buffer)
    for given in (x, x.contiguous()):
        for is_, wanted in zip(program.forward(given), model(given), strict=True):
            torch.testing.assert_close(is_, wanted, rtol=0, atol=0)


@pytest.mark.parametrize("dim", [0, 1])
def test_a_copy_of_any_number_of_rows_lies_in_the_default_order(dim):
    x = torch.randn(5, 3).t()
    shapes = {"x": {dim: torch.export.Dim("rows", min=2, max=9)}}
    model = CopiesOfInputs()
    program = load(lower(model, (x,), backend="portable", dynamic_shapes=shapes).buffer)
    for sizes in ((5, 2), (5, 8)) if dim == 0 else ((2, 3), (9, 3)):
        given = torch.randn(sizes).t()
        for is_, wanted in zip(program.forward(given), model(given), strict=True):
            torch.testing.assert_close(is_, wanted, rtol=0, atol=0)


def test_a_copy_into_an_order_without_a_name_lies_in_the_default_one():
    class Copy(torch.nn.Module):
        def forward(self, x):
            return x.clone(memory_format=torch.channels_last_3d) + 1

    x = torch.randn(1, 2, 3, 4, 5)
    (found,) = load(lower(Copy(), (x,), backend="portable").buffer).forward(x)
    assert torch.equal(found, x + 1)
