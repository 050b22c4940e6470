"""Arithmetic of dynamic sizes that ExecuTorch has no instruction for, in what it has."""

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch._guards import detect_fake_mode

from backend_common.graph import Pass

aten = torch.ops.aten

_POWERS = (operator.pow, pow)
_FUNCTIONS = {
    getattr(torch, f"_sym_{name}"): getattr(aten, name).default
    for name in (
        "sqrt",
        "log2",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
    )
}


class MultiplySizes(Pass):
    """
    Given:  n ** 3
    Result: n * n * n
    """

    def match(self, node: fx.Node) -> Any:
        if node.target not in _POWERS or not isinstance(node.args[0], fx.Node):
            return None
        exponent = node.args[1]
        return exponent if isinstance(exponent, int) and 1 <= exponent <= 16 else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        size = result = node.args[0]
        with node.graph.inserting_before(node):
            for _ in range(found - 1):
                result = node.graph.call_function(operator.mul, (result, size))
        node.replace_all_uses_with(result)
        node.graph.erase_node(node)


class AskTensorsForPowers(Pass):
    """
    Given:  n ** 0.5
    Result: item(pow(scalar_tensor(n, dtype=float64), 0.5)), in the same 64 bits

    Integers' powers go through float64, too: exact as far as sizes reach.
    """

    def match(self, node: fx.Node) -> Any:
        if not isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat)):
            return None
        return True if node.target in _POWERS or node.target in _FUNCTIONS else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        graph = node.graph
        # Values are told, not asked for: a number out of a tensor would be a new symbol.
        mode = detect_fake_mode([n.meta["val"] for n in graph.nodes if "val" in n.meta])
        assert mode is not None

        def call(target: Any, *arguments: Any, **keywords: Any) -> fx.Node:
            made = graph.call_function(target, arguments, keywords)
            with mode:
                made.meta["val"] = torch.empty((), dtype=keywords.get("dtype", torch.float64))
            return made

        with graph.inserting_before(node):
            result = self._power(node, call)
            if isinstance(node.meta["val"], torch.SymInt):
                result = call(aten._to_copy.default, result, dtype=torch.int64)
            number = call(aten._local_scalar_dense.default, result)
        number.meta = dict(node.meta)
        node.replace_all_uses_with(number)
        graph.erase_node(node)

    def _power(self, node: fx.Node, call: Callable[..., fx.Node]) -> fx.Node:
        base, *exponent = node.args
        tensor = call(aten.scalar_tensor.default, base, dtype=torch.float64)
        if not exponent:
            return call(_FUNCTIONS[node.target], tensor)
        if isinstance(exponent[0], fx.Node):
            other = call(aten.scalar_tensor.default, exponent[0], dtype=torch.float64)
            return call(aten.pow.Tensor_Tensor, tensor, other)
        return call(aten.pow.Tensor_Scalar, tensor, exponent[0])


class NegateToRoundDown(Pass):
    """
    Given:  math.floor(n / 2)
    Result: -math.ceil(-(n / 2))
    """

    def match(self, node: fx.Node) -> Any:
        return True if node.target is math.floor else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        graph = node.graph
        with graph.inserting_before(node):
            negative = graph.call_function(operator.neg, node.args)
            result = graph.call_function(
                operator.neg, (graph.call_function(math.ceil, (negative,)),)
            )
        node.replace_all_uses_with(result)
        graph.erase_node(node)


class AddSizesInPairs(Pass):
    """
    Given:  torch.sym_sum([a, b, c])
    Result: a + b + c
    """

    def match(self, node: fx.Node) -> Any:
        return node.args[0] if node.target is torch.sym_sum else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        graph = node.graph
        with graph.inserting_before(node):
            result = functools.reduce(
                lambda a, b: graph.call_function(operator.add, (a, b)), list(found)
            )
        node.replace_all_uses_with(result)
        graph.erase_node(node)


PASSES = (MultiplySizes(), AskTensorsForPowers(), NegateToRoundDown(), AddSizesInPairs())
