"""Replace the Edge dialect's operators by the ATen operators they came from."""

from collections.abc import Sequence
from typing import Any

import torch
from backend_common.graph import graph_modules
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from torch import fx

aten = torch.ops.aten

# What the dialect writes for operators with a memory format.
_PLAIN = {
    "dim_order_ops._to_dim_order_copy.default": aten._to_copy.default,
    "dim_order_ops._clone_dim_order.default": aten.clone.default,
    "dim_order_ops._empty_dim_order.default": aten.empty.memory_format,
}
_OPTIONS = ("dtype", "layout", "device", "pin_memory")


def restore_plain_operators(module: fx.GraphModule) -> None:
    """
    Given:  y = edge.aten.add.Tensor(x, x)
            z = dim_order_ops._to_dim_order_copy(y, dtype=torch.float32, dim_order=[0, 2, 3, 1])
    Result: y = aten.add.Tensor(x, x)
            z = aten._to_copy(y, dtype=torch.float32, memory_format=torch.channels_last)

    Values stay what they are, and are not computed anew.
    """
    for inner in graph_modules(module):
        for node in list(inner.graph.nodes):
            if isinstance(node.target, EdgeOpOverload):
                _restore(node, node.target._op)
        inner.graph.lint()
        inner.recompile()


def _restore(node: fx.Node, original: Any) -> None:
    plain = _PLAIN.get(str(original))
    node.target = plain or original
    if plain is None:
        return
    order = node.kwargs.get("dim_order")
    kwargs = {key: node.kwargs[key] for key in _OPTIONS if key in node.kwargs}
    if plain is aten.clone.default:
        kwargs = {}
    if order is not None and (known := memory_format(order)) is not None:
        node.kwargs = {**kwargs, "memory_format": known}
        return
    node.kwargs = kwargs
    if order is not None and plain is not aten.empty.memory_format:
        _pack(node, [int(dimension) for dimension in order])


def memory_format(order: Sequence[Any]) -> torch.memory_format | None:
    """torch's name of a dim order, None where it has none."""
    order = list(order)
    if order == list(range(len(order))):
        return torch.contiguous_format
    return {
        (0, 2, 3, 1): torch.channels_last,
        (0, 2, 3, 4, 1): torch.channels_last_3d,
    }.get(tuple(order))


def _pack(node: fx.Node, order: list[int]) -> None:
    """
    Given:  y = op(x)    to be laid out in an order that has no name
    Result: y = op(x).permute(order).clone(contiguous).permute(inverse)
    """
    graph = node.graph
    inverse = sorted(range(len(order)), key=order.__getitem__)
    users = list(node.users)
    value = node.meta["val"]
    with graph.inserting_after(node):
        there = graph.call_function(aten.permute.default, (node, order))
    with graph.inserting_after(there):
        packed = graph.call_function(
            aten.clone.default, (there,), {"memory_format": torch.contiguous_format}
        )
    with graph.inserting_after(packed):
        back = graph.call_function(aten.permute.default, (packed, inverse))
    there.meta["val"] = packed.meta["val"] = value.permute(order)
    back.meta["val"] = value
    for user in users:
        user.replace_input_with(node, back)
