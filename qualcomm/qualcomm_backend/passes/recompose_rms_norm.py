"""Recognise a root mean square norm that is written out."""

from dataclasses import dataclass
from typing import Any

import torch
from backend_common.graph import Reject
from torch import fx

from qualcomm_backend.passes.constants import constant_of
from qualcomm_backend.passes.form import ProgramPass, put_in_place

aten = torch.ops.aten

_PRODUCTS = (aten.mul.Tensor,)
_SUMS = (aten.add.Tensor, aten.add.Scalar)


@dataclass(frozen=True)
class _Norm:
    """x * rsqrt(mean(x * x, -1) + epsilon), times gamma where there is one."""

    x: fx.Node
    gamma: fx.Node | None
    epsilon: float


class RecomposeRmsNorm(ProgramPass):
    """
    Given:  r = aten.rsqrt(aten.add(aten.mean(aten.pow(x, 2), [-1], True), epsilon))
            y = aten.mul(aten.mul(x, r), gamma)
    Result: y = aten.rms_norm(x, [x.shape[-1]], gamma, epsilon)

    x is one and the same float32 value in both places, the power is 2, the mean is that of the
    last dimension alone; gamma is a constant of that size, and is left outside where it is not.
    """

    def match(self, node: fx.Node) -> Any:
        found = self._match(node)
        returned = any(user.op == "output" for user in node.users)
        if isinstance(found, _Norm) and returned and not node.meta["val"].is_contiguous():
            return Reject(node, "it is returned with an order of dimensions of its own")
        return found

    def _match(self, node: fx.Node) -> Any:
        if node.target not in (*_PRODUCTS, aten.div.Tensor):
            return None
        if any(self._is_gamma_of(user, node) for user in node.users):
            return None
        plain = self._norm(node)
        if plain is not None:
            return plain
        for inner, gamma in _both_ways(node):
            if isinstance(inner, fx.Node) and self._is_gamma_of(node, inner):
                found = self._norm(inner)
                if isinstance(found, _Norm):
                    return _Norm(found.x, gamma, found.epsilon)
                return None  # whose reason is told where it is matched itself
        return None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        size = found.x.meta["val"].shape[-1]
        arguments = (found.x, [size], found.gamma, found.epsilon)
        put_in_place(node, aten.rms_norm.default, *arguments)

    def _is_gamma_of(self, product: fx.Node, inner: fx.Node) -> bool:
        """Whether `product` is that of a norm, which nothing else reads, and its gamma."""
        if product.target not in _PRODUCTS or len(inner.users) != 1:
            return False
        if not isinstance(self._norm(inner), _Norm):
            return False
        x = inner.meta["val"]
        for one, other in _both_ways(product):
            if one is inner and isinstance(other, fx.Node):
                value = constant_of(self.program, other)
                return value is not None and value.shape == x.shape[-1:] and value.dtype == x.dtype
        return False

    def _norm(self, node: fx.Node) -> _Norm | Reject | None:
        """Without gamma; a Reject for what has a root of a mean and is no such norm."""
        if node.target is aten.div.Tensor:
            ways: Any = ((node.args[0], _argument_of(aten.sqrt.default, node.args[1])),)
        else:
            ways = ((x, _root_of(root)) for x, root in _both_ways(node))
        for x, inside in ways:
            if inside is None or node.target not in (*_PRODUCTS, aten.div.Tensor):
                continue
            for mean, epsilon in _both_ways(inside) if inside.target in _SUMS else ():
                if isinstance(mean, fx.Node) and mean.target is aten.mean.dim:
                    return self._proved(node, x, inside, mean, epsilon)
        return None

    def _proved(
        self, node: fx.Node, x: Any, inside: fx.Node, mean: fx.Node, epsilon: Any
    ) -> _Norm | Reject:
        if not isinstance(x, fx.Node):
            return Reject(node, "a number is divided by the root, not what the mean is of")
        value = x.meta["val"]
        if value.dtype is not torch.float32:
            return Reject(node, f"it is computed in {value.dtype}, and rms_norm in 32 bits")
        squared = _squared(mean.args[0])
        if squared is None:
            return Reject(node, "the mean is not one of squares")
        if squared is not x:
            return Reject(node, f"the mean is of {squared.name}, what is divided is {x.name}")
        if _dims(mean) != [value.dim() - 1] or not value.dim():
            return Reject(node, "the mean is not that of the last dimension alone")
        if not _keeps(mean):
            return Reject(node, "the mean has lost its dimension")
        if mean.kwargs.get("dtype", torch.float32) is not torch.float32:
            return Reject(node, "the mean has another dtype")
        if _factor(inside) != 1:
            return Reject(node, "epsilon has a factor")
        number = self._number(epsilon)
        if number is None:
            return Reject(node, "epsilon is not one number")
        if number < 0:
            return Reject(node, "epsilon is negative")
        if node.meta["val"].shape != value.shape:
            return Reject(node, "the product has another shape than what is divided")
        return _Norm(x, None, number)

    def _number(self, value: Any) -> float | None:
        if isinstance(value, (int, float)):
            return float(value)
        held = constant_of(self.program, value) if isinstance(value, fx.Node) else None
        return float(held) if held is not None and held.numel() == 1 and not held.dim() else None


def _both_ways(node: fx.Node) -> tuple[tuple[Any, Any], ...]:
    """The two operands, in both orders; none where there are not two."""
    if len(node.args) < 2:
        return ()
    return (node.args[0], node.args[1]), (node.args[1], node.args[0])


def _root_of(node: Any) -> fx.Node | None:
    """What a node is one over the square root of."""
    if not isinstance(node, fx.Node):
        return None
    if node.target is aten.pow.Tensor_Scalar:
        inside = node.args[0] if node.args[1] == -0.5 else None
        return inside if isinstance(inside, fx.Node) else None
    if node.target is aten.reciprocal.default:
        return _argument_of(aten.sqrt.default, node.args[0])
    return _argument_of(aten.rsqrt.default, node)


def _argument_of(target: Any, node: Any) -> fx.Node | None:
    """What the target is called on, where the node calls it."""
    if not isinstance(node, fx.Node) or node.target is not target:
        return None
    argument = node.args[0]
    return argument if isinstance(argument, fx.Node) else None


def _squared(node: Any) -> fx.Node | None:
    """What a node is the square of."""
    if not isinstance(node, fx.Node):
        return None
    power = node.target is aten.pow.Tensor_Scalar and node.args[1] == 2
    product = node.target is aten.mul.Tensor and node.args[0] is node.args[1]
    if power or product or node.target is aten.square.default:
        base = node.args[0]
        return base if isinstance(base, fx.Node) else None
    return None


def _dims(mean: fx.Node) -> list[int] | None:
    dims = mean.args[1] if len(mean.args) > 1 else mean.kwargs.get("dim")
    source: Any = mean.args[0]
    rank = source.meta["val"].dim()
    return [each % rank for each in dims] if dims and rank else None  # type: ignore[union-attr]


def _keeps(mean: fx.Node) -> bool:
    return bool(mean.args[2] if len(mean.args) > 2 else mean.kwargs.get("keepdim", False))


def _factor(node: fx.Node) -> Any:
    """Of the second operand of a sum; a norm's mean may be the second one, too."""
    return node.args[2] if len(node.args) > 2 else node.kwargs.get("alpha", 1)
