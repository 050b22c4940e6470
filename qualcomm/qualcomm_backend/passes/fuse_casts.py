"""Leave out casts to a dtype that holds every value of the one before."""

from typing import Any

import torch
from backend_common.graph import Pass
from backend_common.operators import operator_name
from torch import fx

_CASTS = ("aten._to_copy.default", "dim_order_ops._to_dim_order_copy.default")


class FuseCasts(Pass):
    """
    Given:  y = aten._to_copy(aten._to_copy(x: float16, dtype=float32), dtype=bfloat16)
    Result: y = aten._to_copy(x, dtype=bfloat16)

    A cast that may lose something stays: x.int().float() drops fractions, x.bool().float() is 0
    or 1.
    """

    def __init__(self, program: Any = None) -> None:
        """program: of no concern here; others are made for one."""

    def match(self, node: fx.Node) -> Any:
        inner = node.args[0] if operator_name(node) in _CASTS else None
        if not isinstance(inner, fx.Node) or operator_name(inner) not in _CASTS:
            return None
        if inner.target is not node.target or not _differ_in_dtype(inner, node):
            return None
        x: Any = inner.args[0]
        dtypes = [each.meta["val"].dtype for each in (x, inner, node)]
        return x if may_skip(*dtypes) else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        node.replace_input_with(node.args[0], found)


def _differ_in_dtype(one: fx.Node, other: fx.Node) -> bool:
    """Whether they say the same of everything else, and say nothing of memory."""
    rest = [{k: v for k, v in node.kwargs.items() if k != "dtype"} for node in (one, other)]
    return rest[0] == rest[1] and not rest[0].get("memory_format")


def may_skip(first: torch.dtype, second: torch.dtype, third: torch.dtype) -> bool:
    """Whether first -> second -> third is first -> third for every value."""
    if not holds(second, first):
        return False
    if second.is_floating_point and _is_whole(third):
        # Beyond the range of an integer, floats of different kinds end up differently.
        return holds(third, first)
    return True


def holds(wide: torch.dtype, narrow: torch.dtype) -> bool:
    """Whether each value of `narrow` is one of `wide`."""
    if wide == narrow or narrow is torch.bool:
        return True
    if wide is torch.bool or wide.is_complex or narrow.is_complex:
        return False
    if not _is_whole(narrow):
        return not _is_whole(wide) and _holds_floats(wide, narrow)
    limits = torch.iinfo(narrow)
    if _is_whole(wide):
        return bool(torch.iinfo(wide).min <= limits.min and limits.max <= torch.iinfo(wide).max)
    exact = 2 / torch.finfo(wide).eps
    return bool(-exact <= limits.min and limits.max <= min(exact, torch.finfo(wide).max))


def _holds_floats(wide: torch.dtype, narrow: torch.dtype) -> bool:
    one, other = torch.finfo(wide), torch.finfo(narrow)
    return bool(
        one.eps <= other.eps
        and one.max >= other.max
        and one.smallest_normal <= other.smallest_normal
    )


def _is_whole(dtype: torch.dtype) -> bool:
    return not dtype.is_floating_point and not dtype.is_complex and dtype is not torch.bool
