"""Replace view copies by views where nothing can tell the difference."""

from typing import Any

import torch
from backend_common.graph import Pass, Reject, users_that_mutate
from torch import fx

aten = torch.ops.aten

# Copies whose names end like those of views, and which are none.
_NO_VIEWS = frozenset({"_to_copy", "lift_fresh_copy", "index_copy", "_conj_copy", "_neg_view_copy"})

# Other than by its name: `detach` itself fails Edge's verification, and a view of what is not
# contiguous may have to copy.
_OTHERWISE = {
    aten.detach_copy.default: aten.alias.default,
    aten.view_copy.default: aten.reshape.default,
    aten._unsafe_view.default: aten.reshape.default,
}


def _view_of(target: Any) -> Any:
    """The view that a copy is a copy of, None for what is none."""
    if target in _OTHERWISE:
        return _OTHERWISE[target]
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
        return None
    name = target._schema.name.partition("::")[2]
    if not name.endswith("_copy") or name in _NO_VIEWS:
        return None
    packet = getattr(aten, name.removesuffix("_copy"), None)
    return getattr(packet, target._overloadname, None)


class ReplaceViewCopies(Pass):
    """
    Given:  y = aten.slice_copy(x, 1, 0, 4)      with x and y never written
    Result: y = aten.slice(x, 1, 0, 4)

    Why: Inductor has no lowering for most of the copies, and a copy that nobody needs costs
    memory traffic. A view is the same value as long as neither it nor its base is written
    afterwards.
    """

    def match(self, node: fx.Node) -> Any:
        view = _view_of(node.target)
        if view is None:
            return None
        for value in (node, node.args[0]):
            if isinstance(value, fx.Node) and (writer := users_that_mutate(value)) is not None:
                return Reject(node, f"{writer.name} writes to {value.name}")
        return view

    def rewrite(self, node: fx.Node, found: Any) -> None:
        value = node.meta["val"]
        node.target = found
        node.meta["val"] = value
