"""Resolved regions of autocast compute bit by bit what eager computes."""

import copy

import pytest
import torch
import torch.nn.functional as F
from backend_common.errors import LoweringError
from backend_common.harness import difference
from functorch.experimental.control_flow import map as map_rows
from torch import fx, nn
from torch.export import Dim, ExportedProgram
from torch.utils import _pytree as pytree

from qualcomm_backend.autocast import resolve_autocast

REGIONS = {}
DYNAMIC = {"symbolic_sizes", "sizes_read_inside"}

# y and y.float() are one node of a strict export, and this model reads both.
DOUBTFUL = {"nested_three_deep", "a_result_and_its_cast"}


def region(function):
    REGIONS[function.__name__] = function
    return function


def bfloat16(**options):
    return torch.autocast("cpu", torch.bfloat16, **options)


def float16():
    return torch.autocast("cpu", torch.float16)


def off():
    return torch.autocast("cpu", enabled=False)


def of_cuda(**options):
    return torch.autocast("cuda", torch.float16, **options)


class Model(nn.Module):
    def __init__(self, name):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.shared = self.a
        self.norm = nn.LayerNorm(8)
        self.register_buffer("n", torch.zeros(8))
        self.register_buffer("fixed", torch.randn(8, 8), persistent=False)
        self.constant = torch.randn(8, 8)
        self.name = name

    def forward(self, x):
        return REGIONS[self.name](self, x)


@region
def enabled(s, x):
    with bfloat16():
        return s.a(x)


@region
def enabled_for_float16(s, x):
    with float16():
        return s.a(x)


@region
def disabled(s, x):
    with off():
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
def disabled_in_enabled(s, x):
    with bfloat16():
        with off():
            y = s.a(x)
        return s.b(y)


@region
def enabled_in_disabled(s, x):
    with off():
        y = s.a(x)
        with bfloat16():
            z = s.b(y)
        return s.c(z.float())


@region
def float16_in_bfloat16(s, x):
    with bfloat16():
        with float16():
            y = s.a(x)
        return y, s.b(x)


@region
def used_twice(s, x):
    def step(x):
        with bfloat16():
            return s.a(x)

    return step(step(x).float())


@region
def tuples_and_dicts(s, x):
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
    return y, s.a(x), s.shared.weight @ x.t()


@region
def shared_weights_inside(s, x):
    with bfloat16():
        return s.a(x), s.shared(x)


@region
def buffers_and_constants(s, x):
    with bfloat16():
        return x @ s.fixed, x @ s.constant, x @ torch.ones(8, 8)


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
        return torch.cond(x.sum() > -1e9, lambda x: x @ x.t(), lambda x: (x @ x.t()) * 2, (x,))


@region
def inside_map(s, x):
    def dot(row):
        with bfloat16():
            return torch.mm(row.unsqueeze(0), row.unsqueeze(1)).float()

    return map_rows(dot, x)


@region
def around_map(s, x):
    with bfloat16():
        return map_rows(lambda row: torch.mm(row.unsqueeze(0), row.unsqueeze(1)), x)


@region
def inside_while_loop(s, x):
    def body(count, y):
        with bfloat16():
            z = (y @ y.t()).float()
        return count + 1, torch.tanh(z)

    start = torch.tensor(0)
    return torch._higher_order_ops.while_loop(lambda count, y: count < 3, body, (start, x))[1]


@region
def around_while_loop(s, x):
    def body(count, y):
        return count + 1, torch.tanh(torch.mm(y, y).float())

    start = torch.tensor(0)
    with bfloat16():
        return torch._higher_order_ops.while_loop(lambda count, y: count < 3, body, (start, x))[1]


@region
def inside_scan(s, x):
    def step(state, row):
        with bfloat16():
            state = torch.tanh(torch.mm(state, state).float()) + row
        return state, state.clone()

    return torch._higher_order_ops.scan(step, x * 1, x)


@region
def around_scan(s, x):
    def step(state, row):
        state = torch.tanh(torch.mm(state, state).float()) + row
        return state, state.clone()

    with bfloat16():
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
def with_a_cache(s, x):
    with bfloat16(cache_enabled=True):
        return s.a(x), s.a(x * 2)


@region
def without_a_cache(s, x):
    with bfloat16(cache_enabled=False):
        return s.a(x), s.a(x * 2)


@region
def a_cast_after(s, x):
    with bfloat16():
        y = s.a(x)
    return y.float() * 2 @ s.b(x)


@region
def a_result_and_its_cast(s, x):
    with bfloat16():
        y = s.a(x)
    return y, y.float() * 2


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
def symbolic_sizes(s, x):
    with bfloat16():
        return s.a(x)


@region
def sizes_read_inside(s, x):
    n = x.shape[0]
    with bfloat16():
        return s.a(x).reshape(n * 2, 4) * n, torch.ones(n, 8) @ s.a.weight


@region
def what_stays_wide(s, x):
    with bfloat16():
        y = torch.softmax(s.a(x), -1)
        return y, s.norm(y)


@region
def a_dropout_in_eval(s, x):
    with bfloat16():
        return F.dropout(s.a(x), 0.5, training=s.training)


@region
def random_numbers(s, x):
    with bfloat16():
        return s.a(torch.randn_like(x)), torch.rand(8, 8) @ x


@region
def on_another_device(s, x):
    with of_cuda():
        return s.a(x)


@region
def on_another_device_and_this(s, x):
    with of_cuda(), bfloat16(), of_cuda(enabled=False):
        return s.a(x)


@region
def on_another_device_around_cond(s, x):
    with of_cuda():
        return torch.cond(x.sum() > -1e9, lambda x: x @ x.t(), lambda x: (x @ x.t()) * 2, (x,))


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


class Noted(fx.Interpreter):
    """Runs a graph; every value has the dtype and rank that are noted of it."""

    def run_node(self, node):
        value = super().run_node(node)
        if "val" in node.meta:
            for noted, computed in zip(
                pytree.tree_leaves(node.meta["val"]), pytree.tree_leaves(value), strict=True
            ):
                if isinstance(computed, torch.Tensor):
                    assert (noted.dtype, noted.dim()) == (computed.dtype, computed.dim()), node.name
        return value


def inputs(seed=1):
    torch.manual_seed(seed)
    return torch.randn(8, 8)


def export(name, strict, model=None):
    dynamic = ({0: Dim("n", min=2, max=16)},) if name in DYNAMIC else None
    model = model or Model(name).eval()
    return torch.export.export(model, (inputs(),), dynamic_shapes=dynamic, strict=strict)


def targets(program):
    return {
        node.target
        for module in program.graph_module.modules()
        if isinstance(module, fx.GraphModule)
        for node in module.graph.nodes
    }


def run_noted(program, x):
    held = {**program.state_dict, **program.constants}
    specs = program.graph_signature.input_specs
    Noted(program.graph_module).run(
        *copy.deepcopy([held[spec.target] if spec.target else x for spec in specs])
    )


@torch.no_grad()
def results(function, *calls):
    found = []
    for seed, x in enumerate(calls):
        torch.manual_seed(seed)
        found += pytree.tree_leaves(function(x))
    return found


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", REGIONS)
def test_a_region_is_bit_by_bit_as_eager(name, strict):
    program = export(name, strict)
    before = str(program)
    resolved, rows = resolve_autocast(program)
    assert str(program) == before
    assert bool(rows) == (strict and name in DOUBTFUL)

    calls = [inputs(), inputs(2)]
    if name in DYNAMIC:
        calls.append(inputs()[:5])
    expected = results(copy.deepcopy(Model(name).eval()), *calls)
    actual = results(resolved.module(), *calls)
    if rows:  # where both were read, a result comes as its cast does: the same numbers
        assert "one value" in rows[0].reason and "autocast_test.py:" in rows[0].source
        actual = [a.to(e.dtype) for a, e in zip(actual, expected, strict=True)]
    assert difference(expected, actual, 0.0, layouts=True) == ""
    assert {spec.target for spec in resolved.graph_signature.input_specs} == {
        spec.target for spec in program.graph_signature.input_specs
    }
    assert all(resolved.state_dict[k] is v for k, v in program.state_dict.items())
    resolved.validate()
    run_noted(resolved, inputs())
    assert not {t for t in targets(resolved) if "autocast" in str(t) or "grad" in str(t)}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", [name for name in REGIONS if "random" not in name])
def test_flattened_regions_are_the_model_without_them(name, strict, monkeypatch):
    program = export(name, strict)
    resolved, rows = resolve_autocast(program, policy="flatten", method="m")
    plain = Model(name).eval()
    for factory in ("bfloat16", "float16", "of_cuda"):
        monkeypatch.setitem(globals(), factory, lambda **_: off())
    if name == "decorated":
        monkeypatch.setitem(REGIONS, name, lambda s, x: s.a(x))
    assert difference(results(plain, inputs()), results(resolved.module(), inputs()), 0.0) == ""
    run_noted(resolved, inputs())
    changes = name not in ("disabled", "on_another_device", "on_another_device_around_cond")
    assert bool(rows) == changes
    assert all(row.method == "m" and "'flatten' leaves out" in row.reason for row in rows)
    assert all("autocast_test.py:" in row.source for row in rows)


@pytest.mark.parametrize("name", ["on_another_device", "on_another_device_around_cond"])
def test_any_device_applies_a_region_as_if_written_for_this_one(name, monkeypatch):
    program = export(name, strict=True)
    resolved, rows = resolve_autocast(program, device="any")
    assert rows == []
    monkeypatch.setitem(
        globals(), "of_cuda", lambda **options: torch.autocast("cpu", torch.float16, **options)
    )
    expected = results(Model(name).eval(), inputs())
    assert difference(expected, results(resolved.module(), inputs()), 0.0) == ""


@pytest.mark.parametrize("strict", [False, True])
def test_any_device_refuses_what_may_have_been_enabled(strict):
    # Strictly, a region that is off; otherwise one that is on, too, unless there is such a device.
    program = export("on_another_device_and_this", strict)
    with pytest.raises(LoweringError, match=r"may have been enabled[^$]*autocast_test.py:\d+"):
        resolve_autocast(program, device="any")


def test_a_program_without_regions_is_returned_itself():
    program = torch.export.export(nn.Linear(8, 8), (inputs(),), strict=True)
    resolved, rows = resolve_autocast(program)
    assert resolved is program and rows == []


def test_several_methods_are_resolved_one_by_one_and_share_their_weights():
    model = Model("enabled").eval()
    encode = export("enabled", False, model)
    model.name = "enabled_in_disabled"
    decode = export("enabled_in_disabled", False, model)
    resolved = [
        resolve_autocast(each, method=name)[0] for name, each in zip("ed", (encode, decode))
    ]
    one, other = (each.state_dict["a.weight"] for each in resolved)
    assert one.data_ptr() == other.data_ptr() == model.a.weight.data_ptr()
    for name, program in zip(("enabled", "enabled_in_disabled"), resolved):
        expected = results(Model(name).eval(), inputs())
        assert difference(expected, results(program.module(), inputs()), 0.0) == ""


def test_composite_operators_stay_whole():
    resolved, _ = resolve_autocast(export("attention", False))
    assert torch.ops.aten.scaled_dot_product_attention.default in targets(resolved)


@pytest.mark.parametrize("argument", ["policy", "device"])
def test_an_unknown_choice_names_the_known(argument):
    choices = {"policy": "exact, flatten", "device": "recorded, any"}[argument]
    with pytest.raises(ValueError, match=f"{argument} is 'other'; it can be {choices}"):
        resolve_autocast(export("enabled", False), **{argument: "other"})


def test_a_region_that_cannot_be_resolved_names_its_line():
    program: ExportedProgram = export("enabled", strict=True)
    for node in program.graph_module.submod_1.graph.nodes:
        if node.op == "call_function":  # as a broken pass might leave it
            node.target, node.args = torch.ops.aten.bmm.default, node.args[:2]
    with pytest.raises(LoweringError) as caught:
        resolve_autocast(program, method="encode")
    (row,) = caught.value.rows
    assert "'encode' has an autocast region that cannot be resolved" in str(caught.value)
    assert "autocast_test.py:" in row.source and row.reason
