"""Recognise a maximum pool whose padding is written before it."""

import math
from operator import getitem
from typing import Any

import torch
from backend_common.graph import Reject
from torch import fx

from qualcomm_backend.passes.form import ProgramPass
from qualcomm_backend.passes.pool_images import several

aten = torch.ops.aten

_PADS = (aten.constant_pad_nd.default, aten.pad.default)


class RecomposePaddedPool(ProgramPass):
    """
    Given:  p = aten.constant_pad_nd(x, [1, 1, 1, 1], -inf)
            y = aten.max_pool2d_with_indices(p, [3, 3], [2, 2])[0]
    Result: y = aten.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1])[0]

    The padding is the least number there is, or 0 around what a relu made; it is the same on both
    sides, and at most half of the window, so that each window has a value of x.
    """

    def match(self, node: fx.Node) -> Any:
        if node.target is not aten.max_pool2d_with_indices.default:
            return None
        pad = node.args[0]
        if not isinstance(pad, fx.Node) or pad.target not in _PADS:
            return None
        if pad.target is aten.pad.default and (*pad.args, "constant")[2] != "constant":
            return None
        if reason := self._objection(node, pad):
            return Reject(node, reason)
        pads: Any = pad.args[1]
        return pad.args[0], [pads[2] if len(pads) > 2 else 0, pads[0]]

    def _objection(self, node: fx.Node, pad: fx.Node) -> str:
        x: Any = pad.args[0]
        value, pads = x.meta["val"], _four(pad.args[1])
        if pads is None or value.dim() != 4:
            return "more than height and width of images is padded"
        left, right, top, bottom = pads
        if (left, top) != (right, bottom) or min(pads) < 0:
            return f"the padding {pads} is not the same on both sides"
        kernel, stride, padding, dilation, ceil = _arguments(node)
        window = several(kernel, 2)
        if any(several(padding, 2)):
            return "the pool has a padding of its own"
        if any(each != 1 for each in several(dilation, 2)):
            return "the pool is dilated"
        if top > window[0] // 2 or left > window[1] // 2:
            return f"a padding of {[top, left]} is more than half of the window {window}"
        if not _is_least(pad, x):
            return "a padded value may be the largest of its window"
        if any(user.target is not getitem or user.args[1] != 0 for user in node.users):
            return "its places are read, which the padding moves"
        if ceil and not self._same_windows(value, window, stride, [top, left], node):
            return "rounded up, it has other windows"
        return ""

    def _same_windows(
        self, x: torch.Tensor, window: list[int], stride: Any, padding: list[int], node: fx.Node
    ) -> bool:
        strides = several(stride, 2) if stride not in ((), []) else window
        found = aten.max_pool2d_with_indices(
            torch.empty(x.shape, device="meta"), window, strides, padding, [1, 1], True
        )
        return bool(found[0].shape == node.meta["val"][0].shape)

    def rewrite(self, node: fx.Node, found: Any) -> None:
        x, padding = found
        kernel, stride, _, _, ceil = _arguments(node)
        window = several(kernel, 2)
        strides = several(stride, 2) if stride not in ((), []) else window
        node.args = (x, window, strides, padding, [1, 1], ceil)


def _arguments(pool: fx.Node) -> tuple[Any, ...]:
    """Window, stride, padding, dilation, whether it rounds up; written or not."""
    defaults: tuple[Any, ...] = ((), 0, 1, False)
    return (*pool.args[1:], *defaults[len(pool.args) - 2 :])


def _four(pads: Any) -> list[int] | None:
    """Left, right, top, bottom; None where other dimensions are padded."""
    all_of_them: list[int] = [*pads, 0, 0, 0, 0]
    if any(all_of_them[4:]) or not all(isinstance(each, int) for each in all_of_them):
        return None
    return all_of_them[:4]


def _is_least(pad: fx.Node, x: fx.Node) -> bool:
    default = 3 if pad.target is aten.pad.default else 2
    number: Any = pad.args[default] if len(pad.args) > default else pad.kwargs.get("value", 0)
    number = 0 if number is None else number
    dtype = x.meta["val"].dtype
    least = -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min
    return bool(number == least or (number == 0 and x.target is aten.relu.default))
