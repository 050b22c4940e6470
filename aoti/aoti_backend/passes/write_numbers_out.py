"""Write constants without dimensions as numbers."""

from typing import Any

import torch
from backend_common.graph import Pass, attribute
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

aten = torch.ops.aten


class WriteNumbersOut(Pass):
    """
    Given:  c a constant without dimensions
    Result: c = aten.full([], 0.5, dtype=torch.float32)

    Why: Inductor keeps such a constant in a form of its own, which views and scatters refuse.
    """

    def match(self, node: fx.Node) -> Any:
        if node.op != "get_attr" or not node.users:
            return None
        value = attribute(node.graph.owning_module, str(node.target))
        if not isinstance(value, torch.Tensor) or value.dim() or value.is_complex():
            return None
        if isinstance(value, FakeTensor):
            value = value.constant
        return value

    def rewrite(self, node: fx.Node, found: torch.Tensor) -> None:
        with node.graph.inserting_after(node):
            number = node.graph.call_function(
                aten.full.default, ([], found.item()), {"dtype": found.dtype}
            )
        number.meta["val"] = node.meta["val"]
        node.replace_all_uses_with(number)
        node.graph.erase_node(node)
