"""Write the epsilon of a norm, and take a computed weight out of it."""

from typing import Any

import torch
from backend_common.graph import Reject
from torch import fx

from qualcomm_backend.passes.constants import constant_of
from qualcomm_backend.passes.form import ProgramPass, wide

aten = torch.ops.aten


class WriteEpsilon(ProgramPass):
    """
    Given:  y = aten.rms_norm(x, [8], w)    of a w that is an input
    Result: y = aten.mul(aten.rms_norm(x, [8], None, 1.1920928955078125e-07), w)

    QNN's builder reads a number where there may be none, and weights that are constants.
    """

    def match(self, node: fx.Node) -> Any:
        if node.target is not aten.rms_norm.default:
            return None
        x, _, weight, epsilon = (*node.args, None, None)[:4]
        computed = isinstance(weight, fx.Node) and constant_of(self.program, weight) is None
        if epsilon is not None and not computed:
            return None
        if computed and x.meta["val"].dtype is not torch.float32:  # type: ignore[union-attr]
            return Reject(node, "halves are rounded once, after the weight")
        return computed

    def rewrite(self, node: fx.Node, found: Any) -> None:
        x, shape, weight, epsilon = (*node.args, None, None)[:4]
        if epsilon is None:  # halves have that of the 32 bits in which they are computed
            epsilon = torch.finfo(wide(x.meta["val"].dtype)).eps  # type: ignore[union-attr]
        with node.graph.inserting_before(node):
            norm = node.graph.call_function(
                node.target, (x, shape, None if found else weight, epsilon)
            )
            result = node.graph.call_function(aten.mul.Tensor, (norm, weight)) if found else norm
        result.meta["val"] = node.meta["val"]
        node.replace_all_uses_with(result)
        node.graph.erase_node(node)
