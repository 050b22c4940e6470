"""The names of operators, and the groups that are treated alike."""

from backend_common.operators import argument as argument
from backend_common.operators import items_taken as items_taken
from backend_common.operators import name_of as name_of
from backend_common.operators import tensors as tensors

CASTS = frozenset({"aten._to_copy.default", "dim_order_ops._to_dim_order_copy.default"})

# They only move elements: right for every dtype whose values OpenVINO can hold.
MOVES = frozenset(
    {
        "aten.alias_copy.default",
        "aten.as_strided_copy.default",
        "aten.cat.default",
        "aten.clone.default",
        "aten.constant_pad_nd.default",
        "aten.detach_copy.default",
        "aten.expand_copy.default",
        "aten.flip.default",
        "aten.permute_copy.default",
        "aten.pixel_shuffle.default",
        "aten.pixel_unshuffle.default",
        "aten.repeat.default",
        "aten.roll.default",
        "aten.select_copy.int",
        "aten.slice_copy.Tensor",
        "aten.split_with_sizes_copy.default",
        "aten.squeeze_copy.dim",
        "aten.squeeze_copy.dims",
        "aten.stack.default",
        "aten.t_copy.default",
        "aten.transpose_copy.int",
        "aten.tril.default",
        "aten.triu.default",
        "aten.unbind_copy.int",
        "aten.unsqueeze_copy.default",
        "aten.view_copy.default",
        "dim_order_ops._clone_dim_order.default",
        "getitem",
    }
)
