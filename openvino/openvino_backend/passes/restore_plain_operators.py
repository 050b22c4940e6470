"""Replace the Edge dialect's dim-order operators by the ATen operators they came from."""

import torch
from torch import fx

from openvino_backend import operators

aten = torch.ops.aten


def restore_plain_operators(graph: fx.Graph) -> None:
    """
    Given:  y = dim_order_ops._to_dim_order_copy(x, dtype=torch.float32, dim_order=[0, 1])
    Result: y = aten._to_copy(x, dtype=torch.float32)

    Inside OpenVINO a value has no dim order; the delegate's inputs and outputs have, and it
    packs them.
    """
    for node in graph.nodes:
        name = operators.name_of(node)
        if name in operators.CASTS:
            node.target = aten._to_copy.default
            node.kwargs = {"dtype": node.meta["val"].dtype}
        elif name == "dim_order_ops._clone_dim_order.default":
            node.target = aten.clone.default
            node.kwargs = {}
