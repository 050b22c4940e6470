"""Which nodes are offered to Inductor; every refusal says why.

Short on purpose: Inductor takes nearly all of ATen, and which kernels it will call is known only
when it has written its code, which the audit looks at.
"""

import operator as python_operator
from collections.abc import Iterator

import torch
from backend_common.operators import operator_name
from backend_common.subgraph import body_of
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils import _pytree as pytree

DTYPES = frozenset(
    {
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
    }
)

# Of torch and ExecuTorch; other namespaces hold operators of users, whose code is not here.
_NAMESPACES = ("aten.", "prims.", "dim_order_ops.", "quantized_decomposed.", "higher_order.")

_HIGHER_ORDER = frozenset({"cond", "while_loop"})

# They compute nothing: elements of a tensor at other places, or as another tensor.
_MOVES = frozenset(
    {
        *("alias", "alias_copy", "as_strided_copy", "clone", "detach", "detach_copy", "expand"),
        *("expand_copy", "permute", "permute_copy", "reshape", "select", "select_copy", "slice"),
        *("slice_copy", "split_copy", "split_with_sizes_copy", "squeeze", "squeeze_copy", "t"),
        *("t_copy", "transpose", "transpose_copy", "unbind_copy", "unsqueeze", "unsqueeze_copy"),
        *("view", "view_copy", "_clone_dim_order", "contiguous", "lift_fresh_copy"),
    }
)


# Of images of bytes: bilinear and bicubic.
_IN_FIXED_POINT = ("aten.upsample_bi", "aten._upsample_bi")


def is_selection(node: fx.Node) -> bool:
    """Whether a node takes one of several results."""
    return node.target is python_operator.getitem


def is_size(node: fx.Node) -> bool:
    """Whether a node's value is a size, or computed of sizes."""
    return isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool, int))


def is_fraction(node: fx.Node) -> bool:
    """Whether a node's value is a number that is computed of sizes and is no integer."""
    return isinstance(node.meta.get("val"), (torch.SymFloat, torch.SymBool))


def only_moves(node: fx.Node) -> bool:
    name = operator_name(node)
    return not name or is_size(node) or (name.split(".")[1:2] or [name])[0] in _MOVES


def is_spread_out(node: fx.Node) -> bool:
    """Whether a result's elements share memory (a stride of 0), which no dim order can say."""
    return any(
        stride == 0 and size != 1
        for value in pytree.tree_leaves(node.meta.get("val"))
        if isinstance(value, torch.Tensor) and value.layout == torch.strided
        for size, stride in zip(value.shape, value.stride(), strict=True)
        if isinstance(stride, int)
    )


def objection(node: fx.Node) -> str:
    """Why Inductor should not compile this node; "" where it should."""
    name = operator_name(node)
    for item in (*node.all_input_nodes, node):
        if free_unbacked_symbols(item.meta.get("val")):
            # Of the delegate's results, memory is planned for the greatest size.
            return "a size depends on values"
    if not name:
        if node.target is torch.ops.higher_order.executorch_call_delegate:
            return "it is another delegate's"
        return ""  # arithmetic of sizes, and what takes a result from a delegate
    if "." not in name and name not in _HIGHER_ORDER:
        return f"the AOTI backend has no rule for {name}"
    if "." in name and not name.startswith(_NAMESPACES):
        return "it is no operator of torch, and no kernel for it is in the shim library"
    for value in _values(node):
        if value.dtype not in DTYPES:
            short = str(value.dtype).removeprefix("torch.")
            return f"the AOTI backend does not take {short}"
        if value.layout != torch.strided:
            return f"the AOTI backend does not take tensors with layout {value.layout}"
    if _is_uint8_image(node) and name.startswith(_IN_FIXED_POINT):
        return "eager computes it in fixed point for uint8"
    if name.startswith("aten.grid_sampler") and (reason := _samples_in_16_bits(node)):
        return reason
    for body in map(body_of, node.all_input_nodes):
        for inner in body.graph.nodes if body is not None else ():
            if inner.op == "call_function" and (reason := objection(inner)):
                return f"in its body, {operator_name(inner)}: {reason}"
    return ""


def _is_uint8_image(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype is torch.uint8 and value.dim() == 4


def _samples_in_16_bits(node: fx.Node) -> str:
    value, bilinear = node.meta["val"], node.args[2] == 0
    if value.dtype not in (torch.float16, torch.bfloat16):
        return ""
    if value.dim() == 5:
        return "the kernel for volumes takes float32 and float64"
    # Another place is another pixel, or other weights.
    return "" if bilinear else "eager computes its places in 16 bits"


def _values(node: fx.Node) -> Iterator[torch.Tensor]:
    """The tensors that a node reads and makes."""
    for item in (*node.all_input_nodes, node):
        value = item.meta.get("val")
        for part in value if isinstance(value, (tuple, list)) else [value]:
            if isinstance(part, torch.Tensor):
                yield part
