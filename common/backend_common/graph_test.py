"""Passes, inlining by position, metadata of new nodes."""

import operator

import pytest
import torch
from torch import fx
from torch._subclasses import FakeTensorMode

from backend_common.diagnostics import Diagnostics
from backend_common.graph import (
    Pass,
    Reject,
    graph_modules,
    inline_submodule,
    propagate_metadata,
    replace_by_graph,
    users_that_mutate,
)

aten = torch.ops.aten
autocast = torch.ops.higher_order.wrap_with_autocast
BODY = 4  # autocast(device, dtype, enabled, cache, body, *operands)


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def exported(function, *inputs):
    return torch.export.export(Call(function), inputs)


def calls(graph_module, target=autocast):
    return [node for node in graph_module.graph.nodes if node.target is target]


def inline_all(graph_module):
    """Inner regions first, as a policy would that only flattens."""
    for module in graph_modules(graph_module):
        for node in calls(module):
            inline_submodule(node, BODY)
        module.graph.lint()
        module.recompile()


def region(function, *inputs, enabled=False):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
        return function(*inputs)


X = torch.tensor([[1.0, -2.0, 3.0]])
Y = torch.tensor([[10.0, 20.0, -30.0]])

REGIONS = {
    "operands_in_another_order": lambda x, y: region(lambda: y - x),
    "several_outputs": lambda x, y: region(lambda: (x + y, x - y, x * y))[1],
    "several_outputs_used": lambda x, y: region(lambda: (x + y, x - y)),
    "an_operand_returned": lambda x, y: region(lambda: (x, x - y)),
    "region_of_a_region": lambda x, y: region(lambda: region(lambda: y - x) * x),
    "two_regions": lambda x, y: region(lambda: x - y) + region(lambda: y - x * 2),
    "region_after_region": lambda x, y: region(lambda: region(lambda: x - y) - y),
}


@pytest.mark.parametrize("name", REGIONS)
def test_inlined_region_computes_the_same(name):
    program = exported(REGIONS[name], X, Y)
    module = program.graph_module
    assert calls(module)
    inline_all(module)
    assert not calls(module)
    expected = torch.utils._pytree.tree_leaves(REGIONS[name](X, Y))
    actual = torch.utils._pytree.tree_leaves(module(X, Y))
    assert all(torch.equal(a, b) for a, b in zip(expected, actual, strict=True))


def test_names_of_placeholders_mean_nothing():
    module = exported(lambda x, y: region(lambda: y - x), X, Y).graph_module
    body = getattr(module, calls(module)[0].args[BODY].target)
    first, second = (node for node in body.graph.nodes if node.op == "placeholder")
    first.name, second.name = "arg_1", "arg_0"  # the wrong way round for who goes by name
    inline_all(module)
    assert torch.equal(module(X, Y)[0], Y - X)


def by_hand(body, *operands, results=1):
    """A graph that calls `body` on the operands and returns its first `results` results."""
    root = torch.nn.Module()
    root.body = body
    graph = fx.Graph()
    inputs = {name: graph.placeholder(name) for name in "ab"}
    reference = graph.get_attr("body")
    arguments = tuple(inputs.get(operand, operand) for operand in operands)
    call = graph.call_function(autocast, ("cpu", None, False, None, reference, *arguments))
    selected = [graph.call_function(operator.getitem, (call, i)) for i in range(results)]
    graph.output(tuple(selected))
    return fx.GraphModule(root, graph), call


def body_of(function):
    return fx.symbolic_trace(function)


def test_one_body_called_twice_with_other_operands():
    module, call = by_hand(body_of(lambda p, q: (p - q,)), "a", "b")
    graph = module.graph
    output = next(iter(reversed(graph.nodes)))
    first = output.args[0][0]
    with graph.inserting_before(output):
        again = graph.call_function(autocast, (*call.args[: BODY + 1], first, call.args[BODY + 1]))
        second = graph.call_function(operator.getitem, (again, 0))
    output.args = ((first, second),)
    inline_submodule(call, BODY)
    inline_submodule(again, BODY)
    module.recompile()
    assert module(5.0, 3.0) == (2.0, -3.0)
    assert not [node for node in graph.nodes if node.op == "get_attr"]  # nobody refers to it


def test_constants_as_operands_and_as_results():
    module, call = by_hand(body_of(lambda p, q: (p * q, None, 7)), "a", 2.5, results=3)
    inline_submodule(call, BODY)
    module.recompile()
    assert module(4.0, 0.0) == (10.0, None, 7)


def test_a_result_that_nobody_uses():
    module, call = by_hand(body_of(lambda p, q: (p, p * q)), "a", "b", results=1)
    inline_submodule(call, BODY)
    module.recompile()
    assert module(4.0, 3.0) == (4.0,)


class Scaled(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.register_buffer("scale", torch.tensor(scale))

    def forward(self, p):
        return (p * self.scale,)


def test_attributes_of_the_body_come_along_under_free_names():
    module, call = by_hand(fx.symbolic_trace(Scaled(3.0)), "a")
    module.register_buffer("scale", torch.tensor(-1.0))  # the name is taken
    inline_submodule(call, BODY)
    module.recompile()
    assert module(torch.tensor(2.0), None)[0] == 6.0
    assert module.scale == -1.0


def test_a_body_that_returns_one_value_replaces_the_call():
    module, call = by_hand(body_of(lambda p, q: p - q), "a", "b")
    selected = next(iter(call.users))
    selected.replace_all_uses_with(call)
    call.graph.erase_node(selected)
    inline_submodule(call, BODY)
    module.recompile()
    assert module(5.0, 3.0) == (2.0,)


def test_what_does_not_fit_is_refused_and_changes_nothing():
    module, call = by_hand(body_of(lambda p, q: (p - q,)), "a")
    before = str(module.graph)
    with pytest.raises(ValueError, match="passes 1 operands to a body with 2 inputs"):
        inline_submodule(call, BODY)
    with pytest.raises(ValueError, match="which is no submodule"):
        inline_submodule(call, 0)
    assert str(module.graph) == before

    module, call = by_hand(body_of(lambda p: (p,)), "a", results=2)
    before = str(module.graph)
    with pytest.raises(ValueError, match="selects result 1 of 1"):
        inline_submodule(call, BODY)
    assert str(module.graph) == before

    module, call = by_hand(body_of(lambda p: (p,)), "a", results=0)
    with call.graph.inserting_after(call):
        call.graph.call_function(torch.stack, (call,))
    with pytest.raises(ValueError, match="takes all results"):
        inline_submodule(call, BODY)


def test_the_body_itself_is_not_changed():
    body = body_of(lambda p, q: (p - q,))
    before = str(body.graph)
    _, call = by_hand(body, "a", "b")
    replace_by_graph(call, body, call.args[BODY + 1 :])
    assert str(body.graph) == before


def test_inlined_nodes_keep_the_users_line():
    module = exported(REGIONS["operands_in_another_order"], X, Y).graph_module
    inline_all(module)
    (difference,) = calls(module, aten.sub.Tensor)
    assert "graph_test.py" in difference.meta["stack_trace"]


# ---------------------------------------------------------------- passes


class ReplaceReluByNeg(Pass):
    """
    Given:  relu(x)     with x never written
    Result: neg(x)
    """

    def match(self, node):
        if node.target is not aten.relu.default:
            return None
        if writer := users_that_mutate(node.args[0]):
            return Reject(node, f"{writer.name} writes to it", "copy it first")
        return aten.neg.default

    def rewrite(self, node, target):
        node.target = target


def test_a_pass_counts_what_it_rewrote_and_leaves_a_sound_graph():
    program = exported(lambda x: torch.relu(x) + torch.relu(x * 2), X)
    assert ReplaceReluByNeg()(program.graph_module) == 2
    assert torch.equal(program.graph_module(X)[0], -X + -X * 2)
    assert ReplaceReluByNeg()(program.graph_module) == 0


def test_a_pass_reaches_the_bodies_of_calls():
    program = exported(
        lambda x: torch.cond(x.sum() > 0, lambda x: torch.relu(x), lambda x: x * 2, (x,)), X
    )
    assert ReplaceReluByNeg()(program.graph_module) == 1
    assert torch.equal(program.graph_module(X)[0], -X)


def test_a_reject_says_why():
    program = exported(lambda x: x.clone().relu() + x, X)
    clone, relu = calls(program.graph_module, aten.clone.default) + calls(
        program.graph_module, aten.relu.default
    )
    with program.graph.inserting_after(relu):
        writer = program.graph.call_function(aten.add_.Tensor, (clone, 1))
    writer.meta["val"] = clone.meta["val"]
    diagnostics = Diagnostics()
    assert ReplaceReluByNeg()(program.graph_module, diagnostics) == 0
    assert diagnostics.of(relu).reason == f"{writer.name} writes to it"
    assert diagnostics.of(relu).remedy == "copy it first"


# ---------------------------------------------------------------- who writes


def written(function):
    graph = fx.experimental.proxy_tensor.make_fx(function)(torch.ones(4)).graph
    return users_that_mutate(next(iter(graph.nodes)))


def test_users_that_mutate():
    assert written(lambda x: x + 1) is None
    assert written(lambda x: x.add_(1)).target is aten.add_.Tensor
    assert written(lambda x: x.view(2, 2)[0].mul_(2)).target is aten.mul_.Tensor
    assert written(lambda x: (x * 2).add_(1)) is None
    assert written(lambda x: torch.ones(4).add_(x)) is None
    assert written(lambda x: torch.add(x, 1, out=torch.empty(4))) is None
    assert written(lambda x: torch.split(x, 2)[0] + 1) is None
    assert written(lambda x: torch.split(x, 2)[1].add_(1)).target is aten.add_.Tensor


# ---------------------------------------------------------------- metadata


def test_metadata_follows_a_rewrite_downstream():
    program = exported(lambda x: torch.relu(x).sum(1) * 2, X)
    graph_module = program.graph_module
    (relu,) = calls(graph_module, aten.relu.default)
    relu.target = aten.isnan.default
    propagate_metadata(graph_module, [relu])
    (total,) = calls(graph_module, aten.sum.dim_IntList)
    (product,) = calls(graph_module, aten.mul.Tensor)
    assert relu.meta["val"].dtype is torch.bool
    assert total.meta["val"].dtype is torch.int64 and product.meta["val"].dtype is torch.int64
    assert tuple(product.meta["val"].shape) == (1,)


def test_metadata_of_new_nodes_by_default():
    program = exported(lambda x: x * 2, X)
    (product,) = calls(program.graph_module, aten.mul.Tensor)
    with program.graph.inserting_after(product):
        turned = program.graph.call_function(aten.t.default, (product,))
    propagate_metadata(program.graph_module)
    assert turned.meta["val"].stride() == (1, 3)


def test_metadata_that_nothing_touched_is_kept():
    size = torch.export.Dim("size", min=2, max=9)
    program = torch.export.export(
        Call(lambda x: (x * 2).sin().nonzero() + x.shape[0]),
        (torch.ones(3),),
        dynamic_shapes=(({0: size},),),
    )
    graph_module = program.graph_module
    before = {node.name: node.meta.get("val") for node in graph_module.graph.nodes}
    (product,) = calls(graph_module, aten.mul.Tensor)
    propagate_metadata(graph_module, [product])
    for node in graph_module.graph.nodes:
        if node is not product:
            assert node.meta.get("val") is before[node.name]
    assert product.meta["val"].shape[0] == before["mul"].shape[0]


def test_metadata_through_a_call_with_a_body():
    program = exported(
        lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,)).sum(), X
    )
    (cond,) = calls(program.graph_module, torch.ops.higher_order.cond)
    before = cond.meta["val"]
    propagate_metadata(program.graph_module, [cond])
    assert cond.meta["val"][0].shape == before[0].shape and cond.meta["val"][0] is not before[0]


def test_metadata_needs_a_fake_tensor_to_start_from():
    graph = fx.Graph()
    graph.output(graph.call_function(aten.neg.default, (graph.placeholder("x"),)))
    with pytest.raises(ValueError, match="no node of the graph has a fake tensor"):
        propagate_metadata(fx.GraphModule({}, graph))


def test_metadata_of_a_tensor_that_the_module_holds():
    graph = fx.Graph()
    x = graph.placeholder("x")
    held = graph.get_attr("held")
    graph.output(graph.call_function(aten.add.Tensor, (x, held)))
    module = fx.GraphModule({"held": torch.ones(2, 1)}, graph)
    with FakeTensorMode() as mode:
        x.meta["val"] = mode.from_tensor(torch.ones(3))
    propagate_metadata(module)
    assert tuple(held.meta["val"].shape) == (2, 1)
    assert [tuple(n.meta["val"].shape) for n in calls(module, aten.add.Tensor)] == [(2, 3)]
