"""Chains of operators that only move elements, as few as they can be."""

from collections.abc import Sequence
from typing import cast

from executorch.exir.dialects._ops import ops
from torch import fx

from qualcomm_backend import operators
from qualcomm_backend.part import Part

_VIEW = ops.edge.aten.view_copy.default
_PERMUTE = ops.edge.aten.permute_copy.default

_RESHAPES = frozenset(
    {
        "aten.squeeze_copy.dims",
        "aten.unsqueeze_copy.default",
        "aten.view_copy.default",
        "dim_order_ops._clone_dim_order.default",  # inside, QNN knows one order
    }
)


# Why: QNN's compiler takes such chains apart by itself, and not always rightly. With
#   y = view(bmm(view(permute(permute(unsqueeze(x, 2), (0, 2, 1)), (0, 2, 1))), z))
# of 2.49.40, which is what torch.einsum("ij,jk->ik") becomes, y has the values of another matrix.
def shorten_moves(part: Part) -> None:
    """
    Given:  a = unsqueeze(x, 2); b = permute(a, (0, 2, 1)); c = view(b, (1, 3, 4))
    Result: c = view(x, (1, 3, 4))

    A permutation of dimensions of size 1 is a view; of views in a row the last one counts, of
    permutations their product; what leaves everything in its place goes.
    """
    for node in list(part.graph.nodes):
        name = operators.name_of(node)
        if name in _RESHAPES or (name == "aten.permute_copy.default" and _keeps_order(node)):
            _reshape(node)
        elif name == "aten.permute_copy.default":
            _permute(node)
    part.graph.eliminate_dead_code()
    part.graph.lint()
    part.graph_module.recompile()


def _source(node: fx.Node) -> fx.Node:
    return cast(fx.Node, node.args[0])


def _sizes(node: fx.Node) -> list[int]:
    return list(node.meta["val"].shape)


def _order(node: fx.Node) -> list[int]:
    order = cast(Sequence[int], node.args[1])
    return [dim % len(order) for dim in order]


def _keeps_order(node: fx.Node) -> bool:
    """Whether the elements stay in their order, since all that moves is of size 1."""
    sizes = _sizes(_source(node))
    moved = [dim for dim in _order(node) if sizes[dim] != 1]
    return moved == sorted(moved)


def _reshape(node: fx.Node) -> None:
    source = _source(node)
    while source.target is _VIEW:
        source = _source(source)
    if _sizes(source) == _sizes(node) and not _is_result(node):
        node.replace_all_uses_with(source)
        return
    node.target, node.args, node.kwargs = _VIEW, (source, _sizes(node)), {}


def _permute(node: fx.Node) -> None:
    source, order = _source(node), _order(node)
    while source.target is _PERMUTE:
        first = _order(source)
        source, order = _source(source), [first[dim] for dim in order]
    if order == sorted(order) and not _is_result(node):
        node.replace_all_uses_with(source)
        return
    node.args = (source, order)


def _is_result(node: fx.Node) -> bool:
    """QNN returns what an operator of its own makes, and each of them once."""
    return any(user.op == "output" for user in node.users)
