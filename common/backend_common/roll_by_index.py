"""Roll along a dimension that may have no elements, by which the kernels divide."""

from typing import Any

import torch
from torch import fx

from backend_common.graph import Pass
from backend_common.sizes import bounds

aten = torch.ops.aten


class RollByIndex(Pass):
    """
    Given:  y = aten.roll(x, [2], [0])    of an x with n >= 0 rows
    Result: y = aten.index(x, [(aten.arange(n) - 2) % max(n, 1)])

    What torch writes for it divides integers by n, and the process dies where n is 0.
    """

    def match(self, node: fx.Node) -> Any:
        if node.target is not aten.roll.default:
            return None
        sizes = node.args[0].meta["val"].shape
        dims = list(node.args[2]) if len(node.args) > 2 else []
        # Without dimensions it is one of the flat tensor.
        rolled = [sizes[dim] for dim in dims] if dims else list(sizes)
        return dims if any(not isinstance(s, int) and bounds(s)[0] == 0 for s in rolled) else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        graph, x, shifts = node.graph, node.args[0], node.args[1]
        sizes = x.meta["val"].shape

        def call(target: Any, *arguments: Any, **keywords: Any) -> fx.Node:
            return graph.call_function(target, arguments, keywords)

        with graph.inserting_before(node):
            shape = [
                size if isinstance(size, int) else call(aten.sym_size.int, x, dim)
                for dim, size in enumerate(sizes)
            ]
            result = x if found else call(aten.reshape.default, x, [-1])
            for shift, dim in zip(shifts, found or [0], strict=True):
                dim %= len(sizes)
                count = shape[dim] if found else call(aten.sym_size.int, result, 0)
                places = call(aten.arange.default, count, dtype=torch.int64)
                places = call(aten.sub.Tensor, places, shift)
                number = call(aten.scalar_tensor.default, count, dtype=torch.int64)
                number = call(aten.clamp.default, number, 1)
                places = call(aten.remainder.Tensor, places, number)
                result = call(aten.index.Tensor, result, [None] * dim + [places])
            if not found:
                result = call(aten.reshape.default, result, shape)
        node.replace_all_uses_with(result)
        graph.erase_node(node)
