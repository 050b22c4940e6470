"""What is done to every exported program, and what is refused."""

import pytest
import torch
import torch.nn.functional as F

from backend_common import LoweringError, load, lower
from backend_common.exported import prepare


class AttentionThenView(torch.nn.Module):
    """As GPT-2 writes it: what was a view of the fused kernel's layout."""

    def forward(self, x):
        q, k, v = (part.view(2, 12, 4, 8).transpose(1, 2) for part in x.split(32, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(2, 12, 32).contiguous().view(-1, 32)


def test_views_of_attention_lower_and_equal_eager():
    x = torch.randn(2, 12, 96)
    (output,) = load(lower(AttentionThenView(), (x,), backend="portable").buffer).forward(x)
    torch.testing.assert_close(output, AttentionThenView()(x), rtol=1e-4, atol=1e-4)


def test_attention_is_packed_once():
    program = torch.export.export(AttentionThenView(), (torch.randn(2, 12, 96),))
    for _ in range(2):
        prepare("forward", program)
    targets = [node.target for node in program.graph.nodes]
    assert targets.count(torch.ops.aten.clone.default) == 1
    assert torch.ops.aten.view.default not in targets


class Cache:
    def __init__(self):
        self.keys = torch.zeros(1, 4, 3)
        self.length = torch.zeros(1, dtype=torch.int64)


class WritesToAPlainObject(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = Cache()

    def forward(self, x):
        self.cache.keys.index_copy_(1, self.cache.length, x)
        self.cache.length.add_(1)
        return self.cache.keys * 1.0


def test_a_write_to_what_export_takes_for_a_constant_is_refused_by_name():
    with pytest.raises(LoweringError, match="writes to 2 constants") as caught:
        lower(WritesToAPlainObject(), (torch.ones(1, 1, 3),), backend="portable")
    operators = [row.operator for row in caught.value.rows]
    assert operators == ["aten.index_copy_.default", "aten.add_.Tensor"]
    assert all("exported_test.py" in row.source for row in caught.value.rows)
    assert all("register_buffer" in row.remedy for row in caught.value.rows)


class Returns(torch.nn.Module):
    def __init__(self, result):
        super().__init__()
        self.result = result

    def forward(self, x):
        return self.result(self, x)


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (lambda m, x: (x * 2, "a text"), "'a text'"),
        (lambda m, x: None, "None only"),
        (lambda m, x: (None, None), "None only"),
    ],
)
def test_results_that_programs_cannot_return_are_refused(result, reason):
    with pytest.raises(LoweringError, match=reason):
        lower(Returns(result), (torch.ones(2),), backend="portable")


def test_an_expanded_example_is_taken_as_if_it_were_packed():
    x = torch.ones(1, 2).expand(3, 2)
    program = load(lower(Returns(lambda m, x: x * 2), (x,), backend="portable").buffer)
    assert torch.equal(program.forward(x)[0], x * 2)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.amax(0),
        lambda x: x.softmax(1),
        lambda x: torch.cat([x[:0], x]) + 1,
        lambda x: x.cumsum(0).transpose(0, 1),
    ],
)
def test_results_without_elements_are_made_not_computed(function):
    """ExecuTorch's kernel of amax ends the process."""
    x = torch.zeros(3, 0)
    (output,) = load(lower(Call(function), (x,), backend="portable").buffer).forward(x)
    assert output.shape == function(x).shape


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class ScaledByNumber(torch.nn.Module):
    def forward(self, x, n):
        return x * n


def test_a_number_that_changes_is_refused():
    shapes = (None, torch.export.Dim.DYNAMIC)
    with pytest.raises(LoweringError, match=r"input 'n'.*pass a tensor"):
        lower(ScaledByNumber(), (torch.ones(3), 4), backend="portable", dynamic_shapes=shapes)
    program = load(lower(ScaledByNumber(), (torch.ones(3), 4), backend="portable").buffer)
    assert torch.equal(program.forward(torch.ones(3), 4)[0], torch.full((3,), 4.0))


class GradModes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        with torch.no_grad():
            y = self.linear(x)
            with torch.enable_grad():
                y = y + self.linear(y)
        with torch.set_grad_enabled(True):
            return y * self.linear(x)


def test_modes_of_gradients_leave_no_trace():
    module, x = GradModes().eval(), torch.randn(2, 3)
    (output,) = load(lower(module, (x,), backend="portable").buffer).forward(x)
    torch.testing.assert_close(output, module(x).detach())


class Positions(torch.nn.Module):
    """As positional tables are read."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(15.0).reshape(5, 3))

    def forward(self, x, i):
        return x + self.table[i], x[i % 3], self.table[:, i % 3].sum()


def test_integers_are_divided_by_numbers_beyond_them():
    def function(x):
        return x / -3, x / 300, torch.div(x, 1000)

    class Quotients(torch.nn.Module):
        def forward(self, x):
            return function(x)

    x = torch.tensor([0, 1, 7, 127, 200, 255], dtype=torch.uint8)
    outputs = load(lower(Quotients(), (x,), backend="portable").buffer).forward(x)
    for output, expected in zip(outputs, function(x), strict=True):
        torch.testing.assert_close(output, expected, rtol=1e-6, atol=0)


def test_an_index_out_of_a_tensor_takes_any_value():
    x = torch.tensor([10.0, 20.0, 30.0])
    program = load(lower(Positions(), (x, torch.tensor(2)), backend="portable").buffer)
    for i in (0, 4, -1, -5):
        outputs = program.forward(x, torch.tensor(i))
        assert all(map(torch.equal, outputs, Positions()(x, torch.tensor(i))))


class Reduced(torch.nn.Module):
    def forward(self, x, how):
        return x.sum() if how == "sum" else x.mean()


def test_a_text_among_the_inputs_is_refused():
    with pytest.raises(LoweringError, match=r"input 'how'.*the text 'sum'"):
        lower(Reduced(), (torch.ones(3), "sum"), backend="portable")


def test_a_tensor_that_is_not_dense_is_refused_with_the_line_that_makes_it():
    function = Call(lambda x: torch.sparse.mm(x.to_sparse(), x))
    with pytest.raises(LoweringError, match="not dense") as caught:
        lower(function, (torch.eye(3),), backend="portable")
    (row,) = caught.value.rows
    assert row.operator == "aten.to_sparse.default" and row.source.startswith("exported_test.py:")
    assert "torch.sparse_coo" in row.reason and "to_dense" in row.remedy


class Differentiates(torch.nn.Module):
    def forward(self, x):
        return torch.func.grad(lambda y: (y**2).sum())(x)


def test_a_gradient_is_refused_by_name():
    with pytest.raises(LoweringError, match="computes") as caught:
        lower(Differentiates(), (torch.randn(3),), backend="portable")
    assert all(row.operator == "torch.func" for row in caught.value.rows)
    assert all("exported_test.py" in row.source for row in caught.value.rows)


@pytest.mark.parametrize("pads", [(1, 1), (2, 0), (0, 1)])
@pytest.mark.parametrize("dims", [(2,), (3, 2)])
def test_a_circular_pad_takes_any_size(pads, dims):
    class Padded(torch.nn.Module):
        def forward(self, x):
            return F.pad(x * 1, pads * len(dims), mode="circular")

    x = torch.randn(1, 2, *[5] * len(dims))
    sizes = {dim: torch.export.Dim(f"size{dim}", min=2, max=8) for dim in dims}
    lowered = lower(Padded(), (x,), dynamic_shapes=(sizes,), backend="portable")
    program = load(lowered.buffer)
    for shape in ([5, 5], [8, 2], [2, 7]):
        x = torch.randn(1, 2, *shape[: len(dims)])
        assert torch.equal(program.forward(x)[0], Padded()(x))


def doubles_the_first(x, y):
    x.mul_(2)
    return x + y


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def test_one_tensor_for_two_inputs_that_is_written_to_is_refused():
    x = torch.randn(3)
    with pytest.raises(LoweringError, match="one tensor of several inputs") as caught:
        lower(Calls(doubles_the_first), (x, x), backend="portable")
    (row,) = caught.value.rows
    assert row.operator == "aten.mul_.Tensor" and row.source.startswith("exported_test.py:")
    assert "are one tensor in the example" in row.reason and "x.clone()" in row.remedy


def test_one_tensor_for_two_inputs_that_are_read_stands_for_two():
    x, y = torch.randn(3), torch.randn(3)
    program = load(lower(Calls(lambda x, y: x - y), (x, x), backend="portable").buffer)
    torch.testing.assert_close(program.forward(x, y)[0], x - y)
    two = lower(Calls(doubles_the_first), (x, x.clone()), backend="portable")
    torch.testing.assert_close(load(two.buffer).forward(x.clone(), y)[0], 2 * x + y)
