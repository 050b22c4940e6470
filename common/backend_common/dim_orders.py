"""The order in which a tensor's dimensions lie in memory, as ExecuTorch records it."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import torch
from executorch.exir.pass_base import ProxyValue
from executorch.exir.passes.dim_order_ops_registry import DimOrderOpsMap
from executorch.exir.passes.memory_format_ops_pass import MemoryFormatOpsPass
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


def program_order(tensor: torch.Tensor) -> tuple[int, ...]:
    """The order that a program notes of a tensor: of strides that are not known, by the example."""
    order = order_of(tensor)
    if order != tuple(range(tensor.dim())):
        return order
    strides = tensor.stride()
    known = [each.node.hint if isinstance(each, torch.SymInt) else each for each in strides]
    if any(stride is None for stride in known):
        return order
    return tuple(sorted(order, key=lambda dim: -known[dim]))


_LOCK = threading.RLock()
_LAST = (0, 2, 3, 1)  # the only order but the default one that ExecuTorch's copies have a name for


@contextlib.contextmanager
def copies_in_named_orders() -> Iterator[None]:
    """While lowering to the Edge dialect:

    Given:  y = aten.clone(x) or aten._to_copy(x, dtype) of an x in the order (1, 0)
    Result: y in the default order, whose values are the same

    ExecuTorch writes down that y has x's order, and knows no kernel's name for it. One thread at a
    time, for it is a class that changes.
    """
    with _LOCK:
        original = MemoryFormatOpsPass.call_operator

        def call_operator(self: Any, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
            if op in DimOrderOpsMap and not _has_name(args[0], kwargs.get("memory_format")):
                kwargs = {**kwargs, "memory_format": torch.contiguous_format}
            return original(self, op, args, kwargs, meta)

        MemoryFormatOpsPass.call_operator = call_operator
        try:
            yield
        finally:
            MemoryFormatOpsPass.call_operator = original


def _has_name(operand: Any, memory_format: torch.memory_format | None) -> bool:
    """Whether ExecuTorch can say in which order a copy of this format lies."""
    if memory_format not in (None, torch.preserve_format):
        return memory_format is not torch.channels_last_3d
    tensor = operand.data if isinstance(operand, ProxyValue) else operand
    if not isinstance(tensor, torch.Tensor):
        return True
    order = order_of(tensor)
    static = not any(isinstance(each, torch.SymInt) for each in (*tensor.shape, *tensor.stride()))
    return order == _LAST or (static and order == tuple(range(tensor.dim())))


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
