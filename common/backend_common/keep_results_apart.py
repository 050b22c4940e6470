"""Copy what a control-flow body returns of its inputs."""

import operator
from typing import Any

import torch
from torch import fx

from backend_common.graph import attribute, graph_modules

aten = torch.ops.aten
_CONTROL_FLOW = (torch.ops.higher_order.cond, torch.ops.higher_order.while_loop)


def keep_results_apart(module: fx.GraphModule) -> None:
    """
    Given:  a body of cond or while_loop that returns an input, a view of one, or a value twice
    Result: it returns copies of them

    Why: results of a body may be no views of its inputs, nor of each other.
    """
    bodies = {
        id(body): body
        for inner in graph_modules(module)
        for node in inner.graph.nodes
        if node.target in _CONTROL_FLOW
        for operand in node.all_input_nodes
        if operand.op == "get_attr"
        and isinstance(body := attribute(inner, str(operand.target)), fx.GraphModule)
    }
    for body in bodies.values():
        _separate(body)


def _separate(body: fx.GraphModule) -> None:
    output = body.graph.output_node()
    (results,) = output.args
    listed = list(results) if isinstance(results, (tuple, list)) else [results]
    taken: set[fx.Node] = set()
    for index, result in enumerate(listed):
        if not isinstance(result, fx.Node) or not isinstance(result.meta.get("val"), torch.Tensor):
            continue
        root = _root(result)
        if root.op in ("placeholder", "get_attr") or root in taken:
            with body.graph.inserting_before(output):
                listed[index] = own = body.graph.call_function(aten.clone.default, (result,))
            own.meta["val"] = result.meta["val"]
        taken.add(root)
    output.args = (tuple(listed) if isinstance(results, (tuple, list)) else listed[0],)
    body.recompile()


def _root(node: fx.Node) -> fx.Node:
    """Whose memory a node is a view of; itself where it has its own."""
    while (base := _base(node)) is not None:
        node = base
    return node


def _base(node: fx.Node) -> Any:
    if node.target is operator.getitem:
        source = node.args[0]
        return source if isinstance(source, fx.Node) and _base(source) is not None else None
    schema = getattr(node.target, "_schema", None)
    aliases = schema is not None and any(each.alias_info is not None for each in schema.returns)
    if not (aliases or node.target in (aten.reshape.default, aten._to_copy.default)):
        return None
    return node.args[0] if node.args and isinstance(node.args[0], fx.Node) else None
