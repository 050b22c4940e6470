"""Regions of autocast, exported strictly or not, compute bit by bit what eager computes."""

import copy

import pytest
import torch
import torch.nn.functional as F
from functorch.experimental.control_flow import map as map_rows
from torch import fx, nn
from torch.utils import _pytree as pytree

from backend_common import autocast, load, lower
from backend_common.autocast import note_autocast_dtypes
from backend_common.harness import difference

REGIONS = {}

# A strict export takes y.float() of a region's bfloat16 for y itself, and has one node for both.
WITH_LOST_CASTS = {"nested_three_deep", "around_cond", "of_cuda"}


def region(function):
    REGIONS[function.__name__] = function
    return function


def bfloat16(**options):
    return torch.autocast("cpu", torch.bfloat16, **options)


def float16():
    return torch.autocast("cpu", torch.float16)


def off():
    return torch.autocast("cpu", enabled=False)


class Model(nn.Module):
    def __init__(self, name):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)
        self.register_buffer("n", torch.zeros(8))
        self.name = name

    def forward(self, x):
        return REGIONS[self.name](self, x)


@region
def one(s, x):
    with bfloat16():
        return s.a(x)


@region
def of_float16(s, x):
    with float16():
        return s.a(x)


@region
def nested_three_deep(s, x):
    with bfloat16():
        y = s.a(x)
        with off():
            z = s.b(y.float() + 1)
            with float16():
                w = s.c(z)
        return y, z, w, s.b(z)


@region
def enabled_in_disabled(s, x):
    with off():
        y = s.a(x)
        with bfloat16():
            z = s.b(y)
        return s.c(z.float())


@region
def twice(s, x):
    def step(x):
        with bfloat16():
            return s.a(x)

    return step(step(x).float())


@region
def several_outputs(s, x):
    with bfloat16():
        y, z, more = s.a(x), x * 2, {"a": s.b(x)}
    return y, z, more


@region
def none_and_a_number(s, x):
    with bfloat16():
        y = s.a(x)
    return y, None, 3


@region
def weights_inside_and_outside(s, x):
    with bfloat16():
        y = s.a(x)
    return y, s.a(x), s.a.weight @ x.t()


@region
def buffer_mutated_inside(s, x):
    with bfloat16():
        s.n.add_(s.a(x).sum(0).float())
    return x + s.n


@region
def inside_cond(s, x):
    def product(x):
        with bfloat16():
            return (x @ x.t()).float()

    return torch.cond(x.sum() > -1e9, product, lambda x: x @ x.t(), (x,))


@region
def around_cond(s, x):
    with bfloat16():
        y = torch.cond(x.sum() > -1e9, lambda x: x @ x.t(), lambda x: (x @ x.t()) * 2, (x,))
    return y, y.float() + 1


@region
def inside_map(s, x):
    def dot(row):
        with bfloat16():
            return torch.mm(row.unsqueeze(0), row.unsqueeze(1)).float()

    return map_rows(dot, x)


@region
def inside_while_loop(s, x):
    def body(count, y):
        with bfloat16():
            z = (y @ y.t()).float()
        return count + 1, torch.tanh(z)

    start = torch.tensor(0)
    return torch._higher_order_ops.while_loop(lambda count, y: count < 3, body, (start, x))[1]


@region
def inside_scan(s, x):
    def step(state, row):
        with bfloat16():
            state = torch.tanh(torch.mm(state, state).float()) + row
        return state, state.clone()

    return torch._higher_order_ops.scan(step, x * 1, x)


@region
def inside_no_grad(s, x):
    with torch.no_grad(), bfloat16():
        y = s.a(x)
    return y.float() + s.b(x)


@region
def around_no_grad(s, x):
    with bfloat16():
        with torch.no_grad():
            y = s.a(x)
        z = s.b(x)
    return y, z


@region
def around_enable_grad(s, x):
    with torch.no_grad(), bfloat16(), torch.enable_grad():
        return s.a(x) * 2


@region
def without_a_cache(s, x):
    with bfloat16(cache_enabled=False):
        return s.a(x), s.a(x * 2)


@region
def a_cast_after(s, x):
    with bfloat16():
        y = s.a(x)
    return y.float() * 2, y.float() @ s.b(x)


@region
def an_input_comes_back(s, x):
    with bfloat16():
        y, z = x, s.a(x)
    return y, z


@region
def integers(s, x):
    places = x.argmax(1)
    with bfloat16():
        others = places + 1
        y = s.a(x)[others % 8]
    return others, y


@region
def what_autocast_keeps_wide(s, x):
    with bfloat16():
        y = torch.softmax(s.a(x), -1)
        return y, s.norm(y)


@region
def disabled(s, x):
    with off():
        return s.a(x)


@region
def of_cuda(s, x):
    with torch.autocast("cuda", torch.float16), bfloat16():
        y = s.a(x)
    return y, s.b(y.float())


@region
@torch.amp.autocast("cpu", torch.bfloat16)
def decorated(s, x):
    return s.a(x)


@region
def written_in_place(s, x):
    with bfloat16():
        y = s.a(x)
        y.add_(1)
        y[0] = 0
    return y


@region
def views_of_results(s, x):
    with bfloat16():
        y = s.a(x)
        z = y.t()
    return z, y[1:]


@region
def attention(s, x):
    q = x.reshape(1, 2, 4, 8)
    with bfloat16():
        return F.scaled_dot_product_attention(q, q, q, is_causal=True)


@region
def composites(s, x):
    with bfloat16():
        products = torch.einsum("ij,kj->ik", x, x), torch.tensordot(x, x, dims=([0], [1]))
        with off():
            exact = torch.einsum("ij,kj->ik", x, x)
        powers = torch.matrix_power(x, 3), torch.linalg.multi_dot([x, x, x[:, :2]])
        return *products, *powers, torch.inner(x, x), torch.chain_matmul(x, x), exact


@region
def composite_of_rows(s, x):
    with bfloat16():
        return torch.einsum("ij,kj->ik", x, x), torch.inner(x, x[:1])


@region
def composites_in_cond(s, x):
    with bfloat16():
        return torch.cond(
            x.sum() > 0,
            lambda x: torch.inner(x, x) + 1,
            lambda x: torch.einsum("ij,kj->ik", x, x),
            (x,),
        )


@region
def none_at_all(s, x):
    return s.a(x).half() + 1


class NotedDtypes(fx.Interpreter):
    """Runs a graph; every value has the dtype that is noted of it."""

    def run_node(self, node):
        value = super().run_node(node)
        if "val" in node.meta:
            noted = pytree.tree_leaves(node.meta["val"])
            for there, computed in zip(noted, pytree.tree_leaves(value), strict=True):
                if isinstance(computed, torch.Tensor):
                    assert there.dtype == computed.dtype, node.name
        return value


def exported(name, strict):
    torch.manual_seed(1)
    x = torch.randn(8, 8)
    model = Model(name).eval().requires_grad_(False)
    expected = pytree.tree_leaves(copy.deepcopy(model)(x))
    program = torch.export.export(model, (x,), strict=strict)
    note_autocast_dtypes(program)
    return program, x, expected


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", REGIONS)
def test_a_region_is_bit_by_bit_as_eager(name, strict):
    program, x, expected = exported(name, strict)
    signature = program.graph_signature
    held = {**program.state_dict, **program.constants}
    inputs = [held[spec.target] if spec.target else x for spec in signature.input_specs]
    NotedDtypes(program.graph_module).run(*copy.deepcopy(inputs))
    decomposed = program.run_decompositions({})
    results = pytree.tree_leaves(decomposed.module()(x))
    if strict and name in WITH_LOST_CASTS:
        results[0] = results[0].to(expected[0].dtype)
    assert difference(expected, results, 0.0) == ""


@pytest.mark.parametrize("strict", [False, True])
def test_a_program_of_trainable_weights_lowers(strict):
    model, x = Model("buffer_mutated_inside"), torch.randn(8, 8)
    program = torch.export.export(model, (x,), strict=strict)
    output = load(lower(program, backend="portable").buffer).forward(x)[0]
    torch.testing.assert_close(output, copy.deepcopy(model)(x), rtol=2e-2, atol=5e-2)


def test_no_region_stays_entered_after_an_error(monkeypatch):
    def fail(*_):
        assert torch.is_autocast_enabled("cpu")
        raise RuntimeError("an operator that fails")

    torch.manual_seed(0)
    program = torch.export.export(Model("around_cond").eval(), (torch.randn(8, 8),), strict=True)
    monkeypatch.setattr(autocast, "_correct", fail)
    with pytest.raises(RuntimeError, match="an operator that fails"):
        note_autocast_dtypes(program)
    assert not torch.is_autocast_enabled("cpu")


def test_a_program_without_regions_stays_as_it_is():
    program = torch.export.export(Model("none_at_all"), (torch.randn(8, 8),), strict=True)
    before = str(program)
    note_autocast_dtypes(program)
    assert str(program) == before


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lstm = nn.LSTM(8, 8, num_layers=2, bidirectional=True)
        self.gru = nn.GRU(8, 8, batch_first=True)

    def forward(self, x):
        with bfloat16():
            return *self.lstm(x), *self.gru(x)


@pytest.mark.parametrize("strict", [False, True])
def test_recurrent_layers_have_the_dtypes_of_eager(strict):
    x = torch.randn(3, 4, 8)
    model = Recurrent().eval()
    lowered = lower(model, (x,), backend="portable", strict=strict)
    assert difference(pytree.tree_leaves(model(x)), load(lowered.buffer).forward(x), 2e-2) == ""


def test_a_composite_of_any_number_of_rows_is_cast():
    model = Model("composite_of_rows").eval()
    rows = torch.export.Dim("rows", min=1, max=9)
    lowered = lower(
        model, (torch.randn(4, 8),), backend="portable", dynamic_shapes={"x": {0: rows}}
    )
    program = load(lowered.buffer)
    for count in (2, 4, 9):  # of one row, eager multiplies and sums, without a cast
        x = torch.randn(count, 8)
        assert difference(pytree.tree_leaves(model(x)), program.forward(x), 2e-2) == ""


@pytest.mark.parametrize("name", ["a_cast_after", "inside_no_grad", "inside_cond", "composites"])
def test_a_strict_program_lowers_and_equals_eager(name):
    x = torch.randn(8, 8)
    expected = pytree.tree_leaves(Model(name).eval()(x))
    lowered = lower(Model(name).eval(), (x,), backend="portable", strict=True)
    assert difference(expected, load(lowered.buffer).forward(x), 2e-2) == ""
