"""The order in which a tensor's dimensions lie in memory, as ExecuTorch records it."""

import torch
from torch.utils import _pytree as pytree

from backend_common.graph import graph_modules


def order_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Which dimension is which in memory; sizes that are not known do not change it."""
    if not any(isinstance(number, torch.SymInt) for number in (*tensor.shape, *tensor.stride())):
        return tuple(tensor.dim_order())
    rank = tensor.dim()
    for last, wanted in ((torch.channels_last, 4), (torch.channels_last_3d, 5)):
        if (
            rank == wanted
            and not tensor.is_contiguous()
            and tensor.is_contiguous(memory_format=last)
        ):
            return (0, *range(2, rank), 1)
    return tuple(range(rank))


def settle_dim_orders(graph_module: torch.fx.GraphModule) -> None:
    """
    Given:  y = _clone_dim_order(x, dim_order=[0, 2, 3, 1])    of shape (1, 1, 4, 6)
    Result: y = _clone_dim_order(x, dim_order=[0, 1, 2, 3])    and the default strides

    Where sizes of 1 leave the order open, it is the default one in the whole graph: kernels
    compare orders, and ExecuTorch reads odd ones from strides.
    """
    for module in graph_modules(graph_module):
        for node in module.graph.nodes:
            if "val" not in node.meta:
                continue
            value = node.meta["val"]
            node.meta["val"] = pytree.tree_map_only(torch.Tensor, _with_default_strides, value)
            if node.kwargs.get("dim_order") and node.meta["val"] is not value:
                node.update_kwarg("dim_order", list(range(node.meta["val"].dim())))


def _with_default_strides(value: torch.Tensor) -> torch.Tensor:
    """Itself unless it is contiguous with other strides than the default ones."""
    static = all(isinstance(number, int) for number in (*value.shape, *value.stride()))
    if value.layout is not torch.strided or not static or not value.is_contiguous():
        return value
    strides = torch.empty(value.shape, device="meta").stride()
    return value if value.stride() == strides else value.as_strided(value.shape, strides)
