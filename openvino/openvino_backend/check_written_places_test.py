"""What is written where an index points stays inside, or the call fails as eager does."""

import backend_common
import pytest
import torch

from openvino_backend.conftest import lower

X = torch.arange(15.0).view(5, 3)
V = torch.full((2, 3), 7.0)


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


WRITES = {
    "index_put": lambda x, i, v: x.relu().index_put((i,), v),
    "index_put_accumulate": lambda x, i, v: x.relu().index_put((i,), v, accumulate=True),
    "index_put_twice": lambda x, i, v: x.relu().index_put((i, i), v[:, 0]),
    "index_copy": lambda x, i, v: x.relu().index_copy(0, i, v),
    "index_add": lambda x, i, v: x.relu().index_add(0, i, v),
    "index_fill": lambda x, i, v: x.relu().index_fill(0, i, 3.0),
    "scatter": lambda x, i, v: x.relu().scatter(0, i[:, None].expand(2, 3), v),
    "scatter_number": lambda x, i, v: x.relu().scatter(0, i[:, None].expand(2, 3), 2.0),
    "scatter_add": lambda x, i, v: x.relu().scatter_add(0, i[:, None].expand(2, 3), v),
    "moved": lambda x, i, v: x.relu().index_put((i.flip(0) * 1,), v),
}


@pytest.mark.parametrize("name", WRITES)
def test_an_index_out_of_range_is_an_error(name):
    function = WRITES[name]
    good = torch.tensor([1, 0])
    program = backend_common.load(lower(Function(function), X, good, V).buffer)
    for places in ([1, 5], [-6, 0], [10**8, 0], [0, -(10**8)], [2**31 - 1, 1], [2**40, 0]):
        with pytest.raises(backend_common.ExecutionError):
            program.forward(X, torch.tensor(places), V)
    torch.testing.assert_close(program.forward(X, good, V)[0], function(X, good, V))


class Cache(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(2, 2, 16, 4))
        self.register_buffer("values", torch.zeros(2, 2, 16, 4))

    def forward(self, x, position):
        self.keys[:, :, position] = x
        self.values[:, :, position] = x * 2
        return self.keys @ self.values.mT


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_a_cache_is_written_by_openvino_after_one_check(dtype):
    inputs = (torch.randn(2, 2, 3, 4), torch.tensor([1, 2, 3], dtype=dtype))
    lowered = lower(Cache(), *inputs)
    puts = [row for row in lowered.report if row.operator == "aten.index_put.default"]
    assert len(puts) == 2 and all(row.delegated for row in puts)
    (check,) = [row for row in lowered.report if row.operator == "aten.index.Tensor"]
    assert "in range" in check.reason
    program, eager = backend_common.load(lowered.buffer), Cache()
    for places in ([1, 2, 3], [15, 0, 4]):
        given = (torch.randn(2, 2, 3, 4), torch.tensor(places, dtype=dtype))
        torch.testing.assert_close(program.forward(*given)[0], eager(*given))
    with pytest.raises(backend_common.ExecutionError):
        program.forward(inputs[0], torch.tensor([1, 2, 16], dtype=dtype))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.relu().index_put((torch.arange(2),), x[:2] * 2),
        lambda x: x.relu().index_put((torch.tensor([-1, 4]),), x[:2] * 2),
        lambda x: x.relu().index_put((x.argmax(1).clamp(0, 4),), x * 2),
        lambda x: x.relu().index_put((x.argmax(0),), x[:3]),
        lambda x: x.relu().scatter(1, x.argmax(1, keepdim=True), 3.0),
        lambda x: (x * 2).scatter(1, (x * 2).topk(2, 1)[1], 3.0),
    ],
)
def test_what_is_provably_in_range_is_written_without_a_check(function):
    inputs = X.sin()
    lowered = lower(Function(function), inputs)
    (write,) = [r for r in lowered.report if "scatter" in r.operator or "index_put" in r.operator]
    assert write.delegated, write.reason
    assert not [row for row in lowered.report if "in range" in row.reason]
    (output,) = backend_common.load(lowered.buffer).forward(inputs)
    torch.testing.assert_close(output, function(inputs))


def test_a_range_over_the_very_dynamic_size_is_in_range():
    def function(x, y):
        return x.relu().index_put((torch.arange(x.shape[0]), torch.zeros(1, dtype=torch.int64)), y)

    rows = torch.export.Dim("rows", min=2, max=8)
    lowered = lower(
        Function(function),
        *(X, X[:, 0].clone()),
        dynamic_shapes=(({0: rows}, {0: rows}),),
    )
    (write,) = [row for row in lowered.report if "index_put" in row.operator]
    assert write.delegated, write.reason
