"""Composite operators inside regions of torch.autocast, which acts on their parts."""

from collections.abc import Iterable, Iterator
from operator import getitem
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

aten = torch.ops.aten

# Eager's kernel for a whole layer: a region gives it all in its dtype, and a program has none.
_LAYER = aten.mkldnn_rnn_layer.default


def parts_in_autocast(node: fx.Node, args: Any, kwargs: Any) -> fx.GraphModule | None:
    """
    Given:  y = aten.einsum("bij,bkj->bik", [a, b])    in a region of bfloat16
    Result: a graph of a and b: views, _to_copy to bfloat16, bmm, views

    None for an operator that a region does not change, or changes by a rule of its own, as it
    does linear. A region casts the operands of a composite's parts, and torch.export's
    decompositions take composites apart where it does not see that.

    args, kwargs: the node's, with fake tensors for nodes. To be called inside the region.
    """
    operator = node.target
    if not torch.is_autocast_enabled("cpu") or not isinstance(operator, torch._ops.OpOverload):
        return None
    own_rule = torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), "AutocastCPU")
    if operator._schema.is_mutable or own_rule or not operator._can_decompose():
        return None
    leaves, structure = pytree.tree_flatten((args, kwargs))
    inside, outside = (_traced(operator, leaves, structure, enabled) for enabled in (True, False))
    targets = [each.target for each in inside.graph.nodes]
    if targets == [each.target for each in outside.graph.nodes]:
        return None
    return _cast_whole(operator, leaves, structure) if _LAYER in targets else inside


def operands_of(node: fx.Node) -> list[fx.Node]:
    """What the graph of its parts takes, in order."""
    leaves = pytree.tree_leaves((node.args, node.kwargs))
    return [
        leaf
        for leaf in leaves
        if isinstance(leaf, fx.Node) and isinstance(leaf.meta.get("val"), torch.Tensor)
    ]


def _traced(
    operator: Any, leaves: list[Any], structure: pytree.TreeSpec, enabled: bool
) -> fx.GraphModule:
    dtype = torch.get_autocast_dtype("cpu")

    def run(*tensors: torch.Tensor) -> Any:
        args, kwargs = pytree.tree_unflatten(list(_with(leaves, tensors)), structure)
        with torch.autocast("cpu", dtype, enabled=enabled, cache_enabled=False):
            return operator(*args, **kwargs)

    # Not before dispatch, where composites are still whole.
    traced: fx.GraphModule = make_fx(run)(*_tensors(leaves))
    return traced


def _cast_whole(operator: Any, leaves: list[Any], structure: pytree.TreeSpec) -> fx.GraphModule:
    """
    Given:  y = aten.lstm(x, [h, c], weights, ...)
    Result: a graph that casts them all to the region's dtype, in which it computes
    """
    graph = fx.Graph()
    dtype = torch.get_autocast_dtype("cpu")
    tensors = _tensors(leaves)
    placeholders = [graph.placeholder(f"operand_{index}") for index in range(len(tensors))]
    cast = [
        graph.call_function(aten._to_copy.default, (placeholder,), {"dtype": dtype})
        if tensor.dtype is torch.float32
        else placeholder
        for placeholder, tensor in zip(placeholders, tensors, strict=True)
    ]
    args, kwargs = pytree.tree_unflatten(list(_with(leaves, cast)), structure)
    results = graph.call_function(operator, tuple(args), kwargs)
    count = len(operator._schema.returns)
    graph.output(
        tuple(graph.call_function(getitem, (results, index)) for index in range(count))
        if count > 1
        else results
    )
    return fx.GraphModule({}, graph)


def _tensors(leaves: list[Any]) -> list[torch.Tensor]:
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _with(leaves: list[Any], tensors: Iterable[Any]) -> Iterator[Any]:
    """The leaves with others for their tensors, in order."""
    others = iter(tensors)
    return (next(others) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves)
