"""The names of operators, and the groups that are treated alike."""

from backend_common.operators import argument as argument
from backend_common.operators import items_taken as items_taken
from backend_common.operators import name_of as name_of
from backend_common.operators import tensors as tensors
from torch import fx

# QNN computes them with channels last.
IMAGES = frozenset(
    {
        "aten.avg_pool2d.default",
        "aten.convolution.default",
        "aten.max_pool2d_with_indices.default",
        "aten._native_batch_norm_legit_no_training.default",
        "aten.native_group_norm.default",
        "aten.upsample_bilinear2d.vec",
        "aten.upsample_nearest2d.vec",
    }
)

# The same in every layout, as long as all operands have it.
ELEMENTWISE = frozenset(
    {
        "aten.abs.default",
        "aten.add.Tensor",
        "aten.clamp.default",
        "aten.div.Tensor",
        "aten.elu.default",
        "aten.exp.default",
        "aten.gelu.default",
        "aten.hardtanh.default",
        "aten.maximum.default",
        "aten.minimum.default",
        "aten.mul.Tensor",
        "aten.neg.default",
        "aten.relu.default",
        "aten.sigmoid.default",
        "aten.sqrt.default",
        "aten.sub.Tensor",
        "aten.tanh.default",
    }
)

# They only move elements.
MOVES = frozenset(
    {
        "aten.cat.default",
        "aten.flip.default",
        "aten.permute_copy.default",
        "aten.repeat.default",
        "aten.select_copy.int",
        "aten.slice_copy.Tensor",
        "aten.split_with_sizes_copy.default",
        "aten.squeeze_copy.dims",
        "aten.unsqueeze_copy.default",
        "aten.view_copy.default",
        "dim_order_ops._clone_dim_order.default",
        "getitem",
    }
)

# Their results jump where an operand differs by what a float of 16 bits does not hold.
_JUMPS = frozenset(
    {"argmax", "argmin", "ceil", "eq", "floor", "floor_divide", "fmod", "ge", "gt", "le", "lt"}
    | {"ne", "remainder", "round", "sign", "trunc"}
)


def jumps(node: fx.Node) -> bool:
    value = node.meta.get("val")
    name = name_of(node)
    if name.startswith("dim_order_ops._to_dim_order_copy"):
        return not value.dtype.is_floating_point  # type: ignore[union-attr]
    return name.startswith("aten.") and name.split(".")[1] in _JUMPS


# What costs as little anywhere.
CHEAP = ELEMENTWISE | frozenset(
    {
        "aten.add.Scalar",
        "aten.amax.default",
        "aten.amin.default",
        "aten.div.Scalar",
        "aten.mean.dim",
        "aten.mul.Scalar",
        "aten.pow.Tensor_Scalar",
        "aten.rsqrt.default",
        "aten.sub.Scalar",
        "aten.sum.dim_IntList",
    }
)

QUANTIZES = frozenset({"quantized_decomposed.quantize_per_tensor.default"})
DEQUANTIZES = frozenset(
    {
        "quantized_decomposed.dequantize_per_channel.default",
        "quantized_decomposed.dequantize_per_tensor.default",
    }
)
