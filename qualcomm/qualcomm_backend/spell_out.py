"""A part written with the operators and arguments that builders read."""

from collections.abc import Callable
from typing import Any, cast

import torch
from executorch.exir.dialects._ops import ops
from torch import fx

from qualcomm_backend import operators
from qualcomm_backend.operators import argument
from qualcomm_backend.part import Part
from qualcomm_backend.tensor_encodings import encode_number

_EDGE = ops.edge.aten


def spell_out(part: Part) -> None:
    """In place; what is computed stays the same."""
    for node in list(part.graph.nodes):
        if not node._erased and (rewrite := _REWRITES.get(operators.name_of(node))):
            rewrite(part, node)
    part.graph.eliminate_dead_code()
    part.graph.lint()
    part.graph_module.recompile()


def recompose_linear(part: Part) -> None:
    """
    Given:  y = addmm(b, x, permute(w, (1, 0)))      with a constant w, of integers or floats
    Result: y = linear(x, w, b)
    """
    for node in list(part.graph.nodes):
        name = operators.name_of(node)
        if name not in ("aten.addmm.default", "aten.mm.default"):
            continue
        *bias, rows, turned = node.args
        weight = _turned_constant(part, cast(fx.Node, turned))
        if weight is not None and all(_is_constant(part, cast(fx.Node, each)) for each in bias):
            _replace(part, node, _EDGE.linear.default, rows, weight, *bias)
    part.graph.eliminate_dead_code()
    part.graph_module.recompile()


def _turned_constant(part: Part, node: fx.Node) -> fx.Node | None:
    if operators.name_of(node) != "aten.permute_copy.default" or list(node.args[1]) != [1, 0]:  # type: ignore[arg-type]
        return None
    source = cast(fx.Node, node.args[0])
    return source if _is_constant(part, source) else None


def _is_constant(part: Part, node: fx.Node) -> bool:
    if operators.name_of(node) in operators.DEQUANTIZES:
        return _is_constant(part, cast(fx.Node, node.args[0]))
    return node.name in part.state_dict


def _replace(part: Part, node: fx.Node, target: Any, *arguments: Any) -> fx.Node:
    with part.graph.inserting_before(node):
        made = part.graph.call_function(target, arguments)
    made.meta = dict(node.meta)
    node.replace_all_uses_with(made)
    part.graph.erase_node(node)
    return made


def _number(part: Part, node: fx.Node, number: float) -> fx.Node:
    like = cast(fx.Node, node.args[0]).meta["val"]
    made = part.add_constant(f"{node.name}_number", torch.tensor([number], dtype=like.dtype))
    encode_number(made, number, like=node)
    return made


def _by_tensor(target: Any) -> Callable[[Part, fx.Node], None]:
    """
    Given:  y = aten.mul.Scalar(x, 2.0)
    Result: y = aten.mul.Tensor(x, tensor([2.0]))
    """

    def rewrite(part: Part, node: fx.Node) -> None:
        _replace(part, node, target, node.args[0], _number(part, node, cast(float, node.args[1])))

    return rewrite


def _power(part: Part, node: fx.Node) -> None:
    """
    Given:  y = aten.pow.Tensor_Scalar(x, 3)
    Result: y = x * x * x, right for negative numbers, too
    """
    base = cast(fx.Node, node.args[0])
    exponent = int(cast(float, node.args[1]))
    made = base
    with part.graph.inserting_before(node):
        for _ in range(exponent - 1):
            made = part.graph.call_function(_EDGE.mul.Tensor, (made, base))
            made.meta = dict(node.meta)
    node.replace_all_uses_with(made)
    part.graph.erase_node(node)


def _linear(part: Part, node: fx.Node) -> None:
    """
    Given:  y = aten.addmm(b, x, w)
    Result: y = aten.linear(x, w transposed, b)      with constants b and w
            y = aten.add(aten.mm(x, w), b)           else: a constant that others need is an input
    """
    bias, rows, weight = (cast(fx.Node, each) for each in node.args)
    if weight.name in part.state_dict and bias.name in part.state_dict:
        transposed = part.state_dict[weight.name].t().contiguous()
        made = part.add_constant(f"{node.name}_weight", transposed)
        _replace(part, node, _EDGE.linear.default, rows, made, bias)
        return
    with part.graph.inserting_before(node):
        product = part.graph.call_function(_EDGE.mm.default, (rows, weight))
    product.meta = dict(node.meta)
    _replace(part, node, _EDGE.add.Tensor, product, bias)


def _max_pool(part: Part, node: fx.Node) -> None:
    """
    Given:  y = aten.max_pool2d_with_indices(x, [2, 2])
    Result: y = aten.max_pool2d_with_indices(x, [2, 2], [2, 2], [0, 0], [1, 1], False)
    """
    kernel = _pair(node.args[1])
    node.args = (
        node.args[0],
        kernel,
        _pair(argument(node, "stride")) or kernel,
        _pair(argument(node, "padding")),
        _pair(argument(node, "dilation")),
        argument(node, "ceil_mode"),
    )


def _average_pool(part: Part, node: fx.Node) -> None:
    kernel = _pair(node.args[1])
    node.args = (
        node.args[0],
        kernel,
        _pair(argument(node, "stride")) or kernel,
        _pair(argument(node, "padding")),
        argument(node, "ceil_mode"),
        argument(node, "count_include_pad"),
    )


def _pair(numbers: Any) -> list[int]:
    given = [numbers] if isinstance(numbers, int) else list(numbers)
    return given * 2 if len(given) == 1 else given


def _pad(part: Part, node: fx.Node) -> None:
    node.args = (node.args[0], node.args[1], float(argument(node, "value", 0.0)))
    node.kwargs = {}


def _reduce(target: Any) -> Callable[[Part, fx.Node], None]:
    """
    Given:  y = aten.mean(x), or aten.sum.dim_IntList(x, [])
    Result: y = aten.mean.dim(x, [0, 1, 2], False)
    """

    def rewrite(part: Part, node: fx.Node) -> None:
        rank = cast(fx.Node, node.args[0]).meta["val"].dim()
        dims = argument(node, "dim") or list(range(rank))
        _replace(part, node, target, node.args[0], dims, bool(argument(node, "keepdim", False)))

    return rewrite


# Why: QNN 2.49.40 makes one operator of both, which gives every row of a batch the first one's
# summand.
def _layer_norm(part: Part, node: fx.Node) -> None:
    """
    Given:  y = aten.native_layer_norm(aten.add(x, z))      with x of (5, 32, 8), z of (1, 32, 8)
    Result: y = aten.native_layer_norm(aten.add(x, aten.expand(z, (5, 32, 8))))
    """
    summed = cast(fx.Node, node.args[0])
    if operators.name_of(summed) not in _OF_TWO:
        return
    sizes = list(summed.meta["val"].shape)
    for operand in dict.fromkeys(summed.all_input_nodes):
        own = operand.meta["val"].shape
        if list(own) == sizes or sum(size != 1 for size in own) < 2:
            continue
        with part.graph.inserting_before(summed):
            wide = _with_rank(part, operand, len(sizes))
            spread = _moved(part, _EDGE.expand_copy.default, wide, sizes)
        summed.replace_input_with(operand, spread)


def _expand(part: Part, node: fx.Node) -> None:
    """
    Given:  y = aten.expand(x, (2, 3, 4))      with x of (3, 4)
    Result: y = aten.expand(aten.view(x, (1, 3, 4)), (2, 3, 4))
    """
    source = cast(fx.Node, node.args[0])
    sizes = list(node.meta["val"].shape)
    with part.graph.inserting_before(node):
        node.args = (_with_rank(part, source, len(sizes)), sizes)


def _with_rank(part: Part, node: fx.Node, rank: int) -> fx.Node:
    """Behind a view that puts dimensions of size 1 in front, where it has fewer."""
    own = list(node.meta["val"].shape)
    if len(own) == rank:
        return node
    return _moved(part, _EDGE.view_copy.default, node, [1] * (rank - len(own)) + own)


def _moved(part: Part, target: Any, source: fx.Node, sizes: list[int]) -> fx.Node:
    made = part.graph.call_function(target, (source, sizes))
    made.meta = dict(source.meta)
    made.meta["val"] = cast(torch.Tensor, source.meta["val"]).expand(sizes).contiguous()
    return made


_OF_TWO = frozenset({"aten.add.Tensor", "aten.div.Tensor", "aten.mul.Tensor", "aten.sub.Tensor"})

_REWRITES: dict[str, Callable[[Part, fx.Node], None]] = {
    "aten.expand_copy.default": _expand,
    "aten.native_layer_norm.default": _layer_norm,
    "aten.add.Scalar": _by_tensor(_EDGE.add.Tensor),
    "aten.sub.Scalar": _by_tensor(_EDGE.sub.Tensor),
    "aten.mul.Scalar": _by_tensor(_EDGE.mul.Tensor),
    "aten.div.Scalar": _by_tensor(_EDGE.div.Tensor),
    "aten.pow.Tensor_Scalar": _power,
    "aten.addmm.default": _linear,
    "aten.max_pool2d_with_indices.default": _max_pool,
    "aten.avg_pool2d.default": _average_pool,
    "aten.constant_pad_nd.default": _pad,
    "aten.mean.default": _reduce(_EDGE.mean.dim),
    "aten.mean.dim": _reduce(_EDGE.mean.dim),
    "aten.sum.dim_IntList": _reduce(_EDGE.sum.dim_IntList),
}
