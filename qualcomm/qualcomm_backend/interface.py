"""What passes between the delegate and the program: bytes, in each tensor's own dim order."""

from typing import cast

import torch
from executorch.exir.dialects._ops import ops
from torch import fx

from qualcomm_backend.part import Part

_PERMUTE = ops.edge.aten.permute_copy.default
_VIEW = ops.edge.aten.view_copy.default


def lay_out_interface(part: Part) -> None:
    """
    Given:  y = relu(x)      with the channels of both last in memory
    Result: y = view(permute(relu(permute(view(x, memory's sizes)))), y's sizes)

    QNN knows one order; the delegate hands it the bytes, under the tensor's own sizes.
    """
    inputs = set(part.graph_signature.user_inputs)
    for node in list(part.graph.nodes):
        if node.op == "placeholder" and node.name in inputs and (order := _order(node)):
            _permute_input(part, node, order)
    results = [_as_in_memory(part, node) for node in part.results]
    part.graph.output_node().args = (tuple(results),)
    for spec, node in zip(part.graph_signature.output_specs, results, strict=True):
        spec.arg.name = node.name  # type: ignore[union-attr]
    part.graph.lint()
    part.graph_module.recompile()


def _order(node: fx.Node) -> list[int] | None:
    """The dimensions from the outermost in memory to the innermost; None for PyTorch's order."""
    value = cast(torch.Tensor, node.meta["val"])
    order = list(value.dim_order())
    return order if order != sorted(order) else None


def _permute_input(part: Part, node: fx.Node, order: list[int]) -> None:
    readers = list(node.users)
    if not readers:
        return
    value = cast(torch.Tensor, node.meta["val"])
    in_memory = value.permute(order).contiguous()
    back = [order.index(dim) for dim in range(len(order))]
    with part.graph.inserting_before(readers[0]):
        memory = part.graph.call_function(_VIEW, (node, list(in_memory.shape)))
        memory.meta["val"] = in_memory
        logical = part.graph.call_function(_PERMUTE, (memory, back))
        logical.meta["val"] = value.contiguous()
    node.meta["val"] = value.contiguous()
    for reader in readers:
        reader.replace_input_with(node, logical)


def _as_in_memory(part: Part, node: fx.Node) -> fx.Node:
    if (order := _order(node)) is None:
        return node
    value = cast(torch.Tensor, node.meta["val"])
    with part.graph.inserting_before(part.graph.output_node()):
        memory = part.graph.call_function(_PERMUTE, (node, order))
        memory.meta["val"] = value.permute(order).contiguous()
        made = part.graph.call_function(_VIEW, (memory, list(value.shape)))
        made.meta["val"] = value.contiguous()
    return made
