"""Operators that the portable kernels lack or compute differently from eager, in others' terms.

They replace what a backend leaves; what it takes, it gets whole.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

import torch
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.tracer import _default_decomposition_table
from torch import fx
from torch.export import ExportedProgram
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.utils import _pytree as pytree

from backend_common import missing_kernels, wrong_kernels
from backend_common.count_in_one_dimension import CountInOneDimension
from backend_common.dim_orders import order_of, program_order
from backend_common.graph import graph_modules
from backend_common.sizes import forget_pending_sizes
from backend_common.wrong_kernels import Decomposition, Operator

aten = torch.ops.aten

DECOMPOSITIONS: Mapping[Operator, Decomposition] = {
    **{
        operator: Decomposition(function, f"aten::{kernel}")
        for operator, (function, kernel) in missing_kernels.FORMS.items()
    },
    **wrong_kernels.FORMS,
}

PASSES = (CountInOneDimension(),)

# They take any order: the first two are what changes it.
_ANY_ORDER = ("dim_order_ops", "aten.convolution", "aten.clone", "aten._to_copy", "aten.empty")

_CHANNELS_LAST = frozenset({(0, 2, 3, 1), (0, 2, 3, 4, 1)})


def _meets_orders(operator: Operator, node: fx.Node) -> bool:
    """Whether kernels see tensors whose dimensions are not in one and the default order.

    Kernels of elementwise operators take one other order, channels last; the others refuse it at
    run, or, as constant_pad_nd, ignore it.
    """
    if str(operator).startswith(_ANY_ORDER):
        return False
    values = (*(operand.meta.get("val") for operand in node.all_input_nodes), node.meta.get("val"))
    orders = {program_order(leaf) for leaf in pytree.tree_leaves(values) if _is_plain(leaf)}
    if torch.Tag.pointwise in operator.tags and len(orders) == 1 and orders <= _CHANNELS_LAST:
        return False
    return any(order != tuple(range(len(order))) for order in orders)


def _original(operator: Operator) -> Operator:
    """The Edge dialect's copying operator as programs spell it before: `view` for `view_copy`."""
    name = operator._schema.name.removeprefix("aten::")
    packet = getattr(aten, name.removesuffix("_copy"), None)
    return cast(Operator, getattr(packet, operator._overloadname, operator))


def _is_plain(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided


def _in_default_order(operator: Operator, function: Callable[..., Any]) -> Callable[..., Any]:
    """Given:  operator(x) with x channels-last, say
    Result: function(x.contiguous()), or the operator itself of it; then the order it had
    """

    asking = False

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        nonlocal asking
        if asking:
            return NotImplemented
        leaves, tree = pytree.tree_flatten((args, kwargs))
        ordered = [_ordered(leaf) if _is_plain(leaf) else leaf for leaf in leaves]
        new_args, new_kwargs = pytree.tree_unflatten(ordered, tree)
        result = function(*new_args, **new_kwargs)
        if all(new is old for new, old in zip(ordered, leaves, strict=True)):
            return result
        if result is NotImplemented:
            result = operator(*new_args, **new_kwargs)
        asking = True
        try:
            with disable_proxy_modes_tracing():
                before = operator(*args, **kwargs)
        finally:
            asking = False
        return pytree.tree_map(_ordered_like, result, before)

    return wrapped


def _ordered(tensor: torch.Tensor) -> torch.Tensor:
    if program_order(tensor) == tuple(range(tensor.dim())):
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)


def _ordered_like(tensor: Any, before: Any) -> Any:
    # ExecuTorch has a name for this order alone, and its kernel wants it to be the only one.
    last = torch.channels_last
    wanted = _is_plain(before) and order_of(before) == (0, 2, 3, 1)
    if wanted and not tensor.is_contiguous(memory_format=last):
        return tensor.clone(memory_format=last)
    return tensor


def needed(program: ExportedProgram, kernels: Collection[str]) -> set[Operator]:
    """The operators among what the graph and its bodies call that need their decomposition."""
    found = set()
    for module in graph_modules(program.graph_module):
        for node in module.graph.nodes:
            target = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
            decomposition = DECOMPOSITIONS.get(target)
            if decomposition is not None and (
                decomposition.kernel not in kernels or decomposition.wrong(node)
            ):
                found.add(target)
            elif isinstance(target, torch._ops.OpOverload) and _meets_orders(target, node):
                found.add(_original(target))
    return found


def decompose(program: ExportedProgram, operators: Collection[Operator]) -> ExportedProgram:
    """A program in which these operators are written with others; `program` stays as it is."""
    # ExecuTorch's own, which take more apart; and those of composites.
    defaults = {**torch.export.default_decompositions(), **_default_decomposition_table()}
    there = {n.target for m in graph_modules(program.graph_module) for n in m.graph.nodes}
    # An operator that is not there yet comes out of a composite.
    table: dict[Any, Callable[..., Any]] = {} if there.issuperset(operators) else defaults.copy()
    for operator in operators:
        decomposition = DECOMPOSITIONS.get(operator)
        function = decomposition.function if decomposition is not None else _nothing
        if function is None:
            continue  # a pass's concern
        table[operator] = _in_default_order(operator, function)
        if decomposition is not None:
            table |= {composite: defaults[composite] for composite in decomposition.composites}
    forget_pending_sizes(program.graph)
    decomposed = program.run_decompositions(table)
    for rewrite in PASSES:
        if rewrite.operator in operators:
            rewrite(decomposed.graph_module)
    return decomposed


def _nothing(*args: Any, **kwargs: Any) -> Any:
    return NotImplemented
