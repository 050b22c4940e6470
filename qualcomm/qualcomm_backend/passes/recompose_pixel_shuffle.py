"""Recognise pixels that are shuffled by a permutation."""

from typing import Any

import torch
from backend_common.graph import Reject
from torch import fx

from qualcomm_backend.passes.form import ProgramPass, put_in_place

aten = torch.ops.aten

_RESHAPES = (aten.view.default, aten.reshape.default, aten._unsafe_view.default)
_COPIES = (aten.clone.default, aten.contiguous.default)

# [N, C, h, r, w, r] and [N, C, r, r, h, w].
_UNSHUFFLES, _SHUFFLES = [0, 1, 3, 5, 2, 4], [0, 1, 4, 2, 5, 3]


class RecomposePixelShuffle(ProgramPass):
    """
    Given:  v = aten.view(x, [N, C, h, r, w, r]); p = aten.permute(v, [0, 1, 3, 5, 2, 4])
            y = aten.reshape(p, [N, C * r * r, h, w])
    Result: y = aten.pixel_unshuffle(x, r)

    And pixel_shuffle, by its own order. The order of dimensions is read, never their sizes alone.
    """

    def match(self, node: fx.Node) -> Any:
        if node.target not in _RESHAPES:
            return None
        moved = _source(node.args[0])
        if moved is None or moved.target is not aten.permute.default:
            return None
        split = _source(moved.args[0])
        if split is None or split.target not in _RESHAPES:
            return None
        x = split.args[0]
        shapes = [each.meta["val"].shape for each in (x, split, node)]  # type: ignore[union-attr]
        if [len(shape) for shape in shapes] != [4, 6, 4]:
            return None
        if not all(isinstance(size, int) for shape in shapes for size in shape):
            return Reject(node, "a size of it is not fixed")
        order = [dim % 6 for dim in moved.args[1]]  # type: ignore[union-attr]
        before, parts, after = (list(shape) for shape in shapes)
        if order == _UNSHUFFLES:
            batch, channels, height, r, width, r2 = parts
            small, large = after, before
            operator = aten.pixel_unshuffle.default
        elif order == _SHUFFLES:
            batch, channels, r, r2, height, width = parts
            small, large = before, after
            operator = aten.pixel_shuffle.default
        else:
            return Reject(node, f"{order} is no order in which pixels are shuffled")
        if r != r2:
            return Reject(node, f"blocks of {r} by {r2}, which are no squares")
        if small != [batch, channels * r * r, height, width]:
            return Reject(node, f"{small} is not what blocks of {parts} are shuffled to")
        if large != [batch, channels, height * r, width * r]:
            return Reject(node, f"{large} is not what blocks of {parts} are shuffled to")
        return operator, x, r

    def rewrite(self, node: fx.Node, found: Any) -> None:
        put_in_place(node, *found)


def _source(node: Any) -> fx.Node | None:
    """The node, or what it is a copy of."""
    while isinstance(node, fx.Node) and node.target in _COPIES:
        node = node.args[0]
    return node if isinstance(node, fx.Node) else None
