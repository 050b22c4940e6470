"""Rewrites in front of Inductor: what they change, what they leave, and that values stay."""

import pytest
import torch
from backend_common.diagnostics import Diagnostics
from backend_common.keep_results_apart import keep_results_apart
from executorch.exir.dialects._ops import ops as exir_ops
from torch._subclasses import FakeTensorMode
from torch.fx import Graph, GraphModule

from aoti_backend.passes.pass_constants_to_bodies import PassConstantsToBodies
from aoti_backend.passes.replace_view_copies import ReplaceViewCopies
from aoti_backend.passes.restore_plain_operators import restore_plain_operators
from aoti_backend.passes.write_numbers_out import WriteNumbersOut

aten = torch.ops.aten
cond = torch.ops.higher_order.cond

# Every copy of a view that ATen has, on an x of shape (4, 6).
COPIES = {
    "alias_copy.default": (),
    "as_strided_copy.default": ([2, 3], [6, 1], 1),
    "detach_copy.default": (),
    "diagonal_copy.default": (1,),
    "expand_copy.default": ([2, 4, 6],),
    "narrow_copy.default": (1, 2, 3),
    "permute_copy.default": ([1, 0],),
    "select_copy.int": (1, 2),
    "slice_copy.Tensor": (1, 1, 5, 2),
    "split_copy.Tensor": (4, 1),
    "split_with_sizes_copy.default": ([1, 3], 0),
    "squeeze_copy.default": (),
    "squeeze_copy.dim": (0,),
    "squeeze_copy.dims": ([0, 1],),
    "t_copy.default": (),
    "transpose_copy.int": (0, 1),
    "unbind_copy.int": (0,),
    "unfold_copy.default": (1, 3, 2),
    "unsqueeze_copy.default": (1,),
    "view_copy.default": ([3, 8],),
    "view_copy.dtype": (torch.int32,),
}


def overload(name):
    packet, which = name.split(".")
    return getattr(getattr(aten, packet), which)


def graph_of(build, *examples, attributes=None):
    """A module of what `build` adds to a graph, with fake values at every node."""
    root, graph = torch.nn.Module(), Graph()
    for name, value in (attributes or {}).items():
        if isinstance(value, torch.Tensor):
            root.register_buffer(name, value)
        else:
            setattr(root, name, value)
    inputs = [graph.placeholder(f"x{index}") for index in range(len(examples))]
    results = build(graph, *inputs)
    graph.output(tuple(results) if isinstance(results, (list, tuple)) else (results,))
    module = GraphModule(root, graph)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fakes = iter([mode.from_tensor(example) for example in examples])
        for node in module.graph.nodes:
            if node.op == "placeholder":
                node.meta["val"] = next(fakes)
            elif node.op == "get_attr":
                held = getattr(module, node.target)
                if isinstance(held, torch.Tensor):
                    node.meta["val"] = mode.from_tensor(held)
            elif node.op == "call_function" and node.target is not cond:
                args, kwargs = torch.fx.node.map_arg(
                    (node.args, node.kwargs), lambda each: each.meta["val"]
                )
                node.meta["val"] = node.target(*args, **kwargs)
    return module


def targets(module):
    return [node.target for node in module.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_becomes_the_view(name):
    x = torch.randn(4, 6)
    module = graph_of(lambda g, x0: g.call_function(overload(name), (x0, *COPIES[name])), x)
    (expected,) = module(x)
    assert ReplaceViewCopies()(module) == 1
    (view,) = targets(module)
    assert "_copy" not in str(view)
    (found,) = module(x)
    for is_, wanted in zip(leaves(found), leaves(expected), strict=True):
        torch.testing.assert_close(is_, wanted)
        assert is_.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


def leaves(value):
    return torch.utils._pytree.tree_leaves(value)


def test_the_table_has_every_copy_that_aten_has():
    named = {name.split(".")[0] for name in COPIES}
    others = {"_to_copy", "lift_fresh_copy", "_conj_copy", "_neg_view_copy", "copy", "set_source"}
    complex_ones = {"view_as_complex_copy", "view_as_real_copy", "_fw_primal_copy"}
    sparse = {"_indices_copy", "_values_copy", "indices_copy", "values_copy", "ccol_indices_copy"}
    sparse |= {"crow_indices_copy", "col_indices_copy", "row_indices_copy", "_make_dual_copy"}
    others |= {"index_copy", "_foreach_copy", "_nested_view_from_buffer_copy", "_reshape_copy"}
    rare = {"_reshape_alias_copy", "_test_autograd_multiple_dispatch_view_copy"}
    there = {name for name in dir(aten) if name.endswith("_copy")}
    assert there <= named | others | complex_ones | sparse | rare


def test_detach_becomes_alias():
    module = graph_of(lambda g, x: g.call_function(aten.detach_copy.default, (x,)), torch.ones(2))
    ReplaceViewCopies()(module)
    assert targets(module) == [aten.alias.default]


@pytest.mark.parametrize("written", ["the copy", "the base"])
def test_a_copy_that_is_written_stays_a_copy(written):
    def build(graph, x):
        copy = graph.call_function(aten.slice_copy.Tensor, (x, 0, 0, 2))
        graph.call_function(aten.add_.Tensor, (copy if written == "the copy" else x, 1))
        return copy

    module = graph_of(build, torch.zeros(4))
    diagnostics = Diagnostics()
    assert ReplaceViewCopies()(module, diagnostics) == 0
    assert aten.slice_copy.Tensor in targets(module)
    assert "writes to" in diagnostics.of(list(module.graph.nodes)[1]).reason


def test_a_view_of_what_is_not_contiguous_copies():
    def build(graph, x):
        turned = graph.call_function(aten.permute_copy.default, (x, [1, 0]))
        return graph.call_function(aten.view_copy.default, (turned, [24]))

    x = torch.randn(4, 6)
    module = graph_of(build, x)
    ReplaceViewCopies()(module)
    torch.testing.assert_close(module(x)[0], x.t().reshape(24))


def test_edge_operators_become_plain_ones():
    module = graph_of(
        lambda g, x: g.call_function(exir_ops.edge.aten.add.Tensor, (x, x)), torch.ones(2)
    )
    restore_plain_operators(module)
    assert targets(module) == [aten.add.Tensor]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [0, 2, 3, 1], [3, 0, 2, 1]])
def test_a_dim_order_becomes_a_layout(order):
    operator = exir_ops.edge.dim_order_ops._to_dim_order_copy.default
    x = torch.randn(2, 3, 4, 5)

    def build(graph, x0):
        return graph.call_function(aten._to_copy.default, (x0,), {"dtype": torch.float64})

    module = graph_of(build, x)
    (node,) = (each for each in module.graph.nodes if each.op == "call_function")
    node.target = operator
    node.kwargs = {"dtype": torch.float64, "dim_order": order}
    restore_plain_operators(module)
    (found,) = module(x)
    torch.testing.assert_close(found, x.double())
    assert list(found.dim_order()) == order


def test_a_constant_without_dimensions_becomes_a_number():
    def build(graph, x):
        return graph.call_function(aten.mul.Tensor, (x, graph.get_attr("c")))

    x = torch.randn(3)
    module = graph_of(build, x, attributes={"c": torch.tensor(0.5)})
    assert WriteNumbersOut()(module) == 1
    assert targets(module) == [aten.full.default, aten.mul.Tensor]
    torch.testing.assert_close(module(x)[0], x * 0.5)


def body(build, *examples, attributes=None):
    return graph_of(build, *examples, attributes=attributes)


def conditional(true, false, x):
    def build(graph, predicate, x0):
        bodies = (graph.get_attr("true"), graph.get_attr("false"))
        return graph.call_function(cond, (predicate, *bodies, (x0,)))

    return graph_of(build, torch.tensor(True), x, attributes={"true": true, "false": false})


def test_a_body_returns_no_input_and_no_value_twice():
    x = torch.randn(4)
    true = body(lambda g, x0: [x0, g.call_function(aten.alias.default, (x0,))], x)

    def twice(graph, x0):
        doubled = graph.call_function(aten.mul.Tensor, (x0, 2))
        return [doubled, graph.call_function(aten.slice.Tensor, (doubled, 0, 0, 4))]

    module = conditional(true, body(twice, x), x)
    keep_results_apart(module)
    assert targets(module.true) == [aten.alias.default, aten.clone.default, aten.clone.default]
    assert targets(module.false) == [aten.mul.Tensor, aten.slice.Tensor, aten.clone.default]


def test_constants_of_bodies_become_operands_of_both():
    x, c = torch.randn(3), torch.tensor([1.0, 2.0, 3.0])
    true = body(
        lambda g, x0: g.call_function(aten.add.Tensor, (x0, g.get_attr("c"))),
        *(x,),
        attributes={"c": c},
    )
    false = body(lambda g, x0: g.call_function(aten.neg.default, (x0,)), x)
    module = conditional(true, false, x)
    module.true.register_buffer("c", c)
    match = PassConstantsToBodies()
    (node,) = (each for each in module.graph.nodes if each.target is cond)
    match.rewrite(node, match.match(node))
    assert len(node.args[3]) == 2
    for inner in (module.true, module.false):
        assert len([each for each in inner.graph.nodes if each.op == "placeholder"]) == 2
        assert not [each for each in inner.graph.nodes if each.op == "get_attr"]
    torch.testing.assert_close(module.true(x, c)[0], x + c)
