"""What the partitioner asks to keep whole."""

import torch
from backend_common.diagnostics import Rejection

from aoti_backend.devices import named
from aoti_backend.partitioner import AotiPartitioner

aten = torch.ops.aten


class Masks(torch.nn.Module):
    def forward(self, x):
        return (x > 0) & (x < 1), torch.where(x > 0, x, 2.0)


def test_what_was_given_back_is_decomposed():
    program = torch.export.export(Masks(), (torch.randn(3),))
    whole, _ = AotiPartitioner(named("cpu")).ops_to_not_decompose(program)
    assert {aten.__and__.Tensor, aten.where.ScalarOther} <= set(whole)
    withdrawn = {
        "aten_and_tensor_1": Rejection("no kernel", ""),
        "aten_where_scalar_other": Rejection("no kernel", ""),
    }
    rest, _ = AotiPartitioner(named("cpu"), withdrawn=withdrawn).ops_to_not_decompose(program)
    assert set(whole) - set(rest) == {aten.__and__.Tensor, aten.where.ScalarOther}
