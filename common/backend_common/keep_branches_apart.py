"""Results of control flow in memory of their own."""

import operator
from collections.abc import Iterable, Iterator

import torch
from executorch.exir.dialects._ops import ops as exir_ops
from torch import fx

from backend_common.dim_orders import order_of
from backend_common.graph import graph_modules

_CONTROL_FLOW = frozenset(
    getattr(torch.ops.higher_order, name) for name in ("cond", "map_impl", "scan", "while_loop")
)
_CLONE = exir_ops.edge.dim_order_ops._clone_dim_order.default


def keep_branches_apart(graph_module: fx.GraphModule) -> None:
    """
    Given:  y = cond(p, f, g, (x,))[0]; z = cond(q, h, k, (x,))[0]
    Result: y = _clone_dim_order(cond(p, f, g, (x,))[0]); likewise z

    In place, in the bodies too, each copy before the next call; the names of results stay. Why:
    ExecuTorch plans all bodies into one piece of memory, one over the other, and leaves results
    in it: the second call writes over the result of the first.
    """
    modules = list(graph_modules(graph_module))
    calls = [
        node for module in modules for node in module.graph.nodes if node.target in _CONTROL_FLOW
    ]
    if len(calls) < 2:
        return
    for result in list(_results(calls)):
        _copy(result)
    for module in modules:
        module.graph.lint()
        module.recompile()


def _results(calls: Iterable[fx.Node]) -> Iterator[fx.Node]:
    for call in calls:
        for result in (user for user in call.users if user.target is operator.getitem):
            if isinstance(result.meta["val"], torch.Tensor):
                yield result


def _copy(result: fx.Node) -> None:
    value, name, graph = result.meta["val"], result.name, result.graph
    result.all_input_nodes[0].append(result)  # it may have been behind the next call
    with graph.inserting_after(result):
        copy = graph.call_function(_CLONE, (result,), {"dim_order": list(order_of(value))})
    copy.meta = dict(result.meta)
    result.replace_all_uses_with(copy, lambda user: user is not copy)
    # A program's outputs go by name.
    result._rename(f"{name}_in_a_body")
    copy._rename(name)
