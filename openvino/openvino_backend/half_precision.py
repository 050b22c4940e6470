"""Where it shows that OpenVINO computes half precision in 32 bits."""

import torch
from torch import fx

from openvino_backend import operators

SUMS = frozenset(f"aten.{name}.{kind}" for name in ("add", "sub") for kind in ("Tensor", "Scalar"))

# What a difference of one rounding turns into another integer, or true into false.
_DECISIONS = frozenset(
    {
        *(f"aten.{name}.default" for name in ("ceil", "floor", "round", "trunc")),
        *(f"aten.{name}.default" for name in ("argmax", "argmin")),
        *(
            f"aten.{name}.{kind}"
            for name in ("eq", "ne", "lt", "le", "gt", "ge")
            for kind in ("Tensor", "Scalar")
        ),
        "aten.max.dim",
        "aten.min.dim",
    }
)
_CHOICES = frozenset(
    {
        *(f"aten.{name}.default" for name in ("abs", "neg", "sign", "relu", "clamp")),
        *(f"aten.{name}.default" for name in ("amax", "amin", "max", "min", "maximum", "minimum")),
        *("aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default"),
        *("aten.embedding.default", "aten.index.Tensor", "aten.gather.default"),
        *("aten.index_select.default", "aten.where.self", "aten.full.default"),
        *("aten.slice_scatter.default", "aten.copy.default", "aten.scalar_tensor.default"),
    }
)


def decides_unrounded(node: fx.Node) -> str | None:
    """OpenVINO computes half precision in 32 bits, and rounds what leaves a model alone."""
    name = operators.name_of(node)
    if name in SUMS and _is_half(node) and _undoes(node):
        return f"OpenVINO does not round to {_dtype_of(node)} what this may cancel"
    if name not in _DECISIONS or _chooses_alone(node):
        return None
    for operand in operators.tensors(node):
        if _is_half(operand) and not _rounded(operand):
            return f"OpenVINO does not round to {_dtype_of(operand)} what this decides on"
    return None


def _is_half(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16)


def _undoes(node: fx.Node) -> bool:
    """(x + 256) - 256, whose first sum is rounded to what the second leaves."""
    sums = [each for each in operators.tensors(node) if operators.name_of(each) in SUMS]
    others = [each for each in operators.tensors(node) if each not in sums]
    return len(sums) == 1 and all(_is_number(each) for each in (*others, sums[0].args[1]))


def _is_number(value: object) -> bool:
    """A number, or a tensor of one that is not computed."""
    if not isinstance(value, fx.Node):
        return True
    held = value.meta.get("val")
    return isinstance(held, torch.Tensor) and held.dim() == 0 and not operators.tensors(value)


def _chooses_alone(node: fx.Node) -> bool:
    """A comparison for `where`: the two sides of an activation meet where it decides."""
    value = node.meta["val"]
    return (
        isinstance(value, torch.Tensor)
        and value.dtype == torch.bool
        and all(operators.name_of(user) == "aten.where.self" for user in node.users)
    )


def _rounded(node: fx.Node) -> bool:
    """Whether it holds only numbers of its dtype: inputs, and what is chosen among them."""
    name = operators.name_of(node)
    if node.op != "call_function":
        return True
    if name not in operators.MOVES and name not in _CHOICES:
        return False
    dtype = node.meta["val"].dtype if isinstance(node.meta["val"], torch.Tensor) else None
    return all(
        _rounded(operand)
        for operand in operators.tensors(node)
        if dtype is None or operand.meta["val"] is None or _of_dtype(operand, dtype)
    )


def _of_dtype(node: fx.Node, dtype: torch.dtype) -> bool:
    value = node.meta["val"]
    return not isinstance(value, torch.Tensor) or value.dtype == dtype


def _dtype_of(node: fx.Node) -> str:
    return str(node.meta["val"].dtype).removeprefix("torch.")
