"""Find the places of nonzero in one dimension, and the others of those."""

from operator import mul
from typing import Any, cast

import torch
from torch import fx

from backend_common.graph import Pass

aten = torch.ops.aten


class CountInOneDimension(Pass):
    """
    Given:  nonzero(x) of two and more dimensions, whose kernel takes rows for columns
    Result: the places in the flat x, divided by the strides, modulo the sizes

    No function of the table, since each call of nonzero makes a size of its own.
    """

    operator = aten.nonzero.default

    def match(self, node: fx.Node) -> Any:
        if node.target is not self.operator:
            return None
        rank = cast(fx.Node, node.args[0]).meta["val"].dim()
        return rank if rank > 1 else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        graph, x = node.graph, cast(fx.Node, node.args[0])

        def call(target: Any, *arguments: Any, **keywords: Any) -> fx.Node:
            return graph.call_function(target, arguments, keywords)

        def row(numbers: list[Any]) -> fx.Node:
            tensors = [call(aten.full.default, [1], n, dtype=torch.int64) for n in numbers]
            return call(aten.cat.default, tensors)

        with graph.inserting_before(node):
            # With the values of the old node, so that nobody asks for another size.
            flat = call(aten.reshape.default, x, [-1])
            flat.meta["val"] = x.meta["val"].reshape(-1)
            places = call(self.operator, flat)
            places.meta = dict(node.meta) | {"val": node.meta["val"][:, :1]}
            # A column in rows' order: torch gives it the other one, which no kernel here has.
            column = call(aten.unsqueeze.default, call(aten.view.default, places, [-1]), 1)
            sizes = [
                size if isinstance(size, int) else call(aten.sym_size.int, x, dimension)
                for dimension, size in enumerate(x.meta["val"].shape)
            ]
            strides: list[Any] = [1]
            for size in sizes[:0:-1]:
                both = isinstance(size, int) and isinstance(strides[0], int)
                strides.insert(0, size * strides[0] if both else call(mul, size, strides[0]))
            quotient = call(aten.div.Tensor_mode, column, row(strides), rounding_mode="floor")
            indices = call(aten.remainder.Tensor, quotient, row(sizes))
        node.replace_all_uses_with(indices)
        graph.erase_node(node)
