"""Regions of torch.autocast, whose dtypes a strict export does not know."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

import torch
from torch import fx
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from backend_common.composites_in_autocast import operands_of, parts_in_autocast
from backend_common.graph import graph_modules, propagate_metadata, replace_by_graph
from backend_common.subgraph import body_of

_ENTER = torch.amp.autocast_mode._enter_autocast
_EXIT = torch.amp.autocast_mode._exit_autocast
_AUTOCAST = torch.ops.higher_order.wrap_with_autocast
_PARTS = "parts_in_autocast"  # of a node's metadata: what is to stand in its place
_GRAD_MODE = torch.ops.higher_order.wrap_with_set_grad_enabled


def note_autocast_dtypes(program: ExportedProgram) -> None:
    """
    Given:  y = wrap_with_autocast("cpu", torch.bfloat16, True, None, body, x)[0]
            _assert_tensor_metadata(y, dtype=torch.float32)
    Result: y, what the body computes, and what follows from them noted as bfloat16; no assertion;
            composites that a region acts inside of as their parts, with the casts

    In place; likewise between _enter_autocast and _exit_autocast, which is how a region around
    control flow is written. torch.export(strict=True) notes and asserts what a region would
    compute without its autocast. Whoever runs or traces the region computes the right dtypes. What
    is lost is a cast that had nothing to do without the autocast: y and y.float() are one node to
    a strict export.
    """
    modules = list(graph_modules(program.graph_module))
    regions = (_AUTOCAST, _ENTER)
    if not any(node.target in regions for module in modules for node in module.graph.nodes):
        return
    for module in modules:
        for node in list(module.graph.nodes):
            node.meta = dict(node.meta)  # a body's results share theirs with what selects them
            if node.target is torch.ops.aten._assert_tensor_metadata.default:
                module.graph.erase_node(node)
        module.recompile()
    mode = detect_fake_mode([node.meta.get("val") for node in program.graph.nodes])
    if mode is None:
        raise ValueError("the program has no fake tensor to start from")
    with mode, torch.no_grad(), _no_new_symbols(mode):  # a trainable weight may be written to
        _note(program.graph_module, None, everything=False)
    for module in modules:
        _write_composites_out(module)


def _no_new_symbols(mode: FakeTensorMode) -> AbstractContextManager[Any]:
    environment = mode.shape_env
    return nullcontext() if environment is None else environment.ignore_fresh_unbacked_symbols()


def _note(module: fx.GraphModule, operands: Sequence[Any] | None, *, everything: bool) -> Any:
    """Corrects the dtypes in a graph; returns the values that it returns.

    operands: values for the placeholders. everything: not only what follows from a region, but
    each node, as within a region.
    """
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    changed: set[fx.Node] = set()
    for node, operand in zip(placeholders, operands or (), strict=bool(operands)):
        if _correct(node, operand):
            changed.add(node)
    with ExitStack() as stack:  # nothing stays entered where an operator raises
        _note_nodes(module, changed, stack, everything=everything)
    return fx.node.map_arg(module.graph.output_node().args[0], _value_of)


def _note_nodes(
    module: fx.GraphModule, changed: set[fx.Node], stack: ExitStack, *, everything: bool
) -> None:
    entered: list[ExitStack] = []
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is _ENTER:
            entered.append(stack.enter_context(ExitStack()))
            entered[-1].enter_context(_region(node.args))
            continue
        if node.target is _EXIT:
            entered.pop().close()
            continue
        again = everything or bool(entered) or not changed.isdisjoint(node.all_input_nodes)
        if any(body_of(operand) is not None for operand in node.all_input_nodes):
            value = _of_bodies(node, everything=again)
        elif again:
            args, kwargs = fx.node.map_arg((node.args, node.kwargs), _value_of)
            value = node.target(*args, **kwargs)
            if parts := parts_in_autocast(node, args, kwargs):
                node.meta[_PARTS] = parts
        else:
            continue
        if _correct(node, value):
            changed.add(node)


def _write_composites_out(module: fx.GraphModule) -> None:
    composites = [node for node in module.graph.nodes if _PARTS in node.meta]
    for node in composites:
        replace_by_graph(node, node.meta.pop(_PARTS), operands_of(node))
    if composites:
        propagate_metadata(module)
        module.recompile()


def _of_bodies(node: fx.Node, *, everything: bool) -> Any:
    """The results of a higher-order call: what the last of its bodies returns."""
    bodies = [body for operand in node.all_input_nodes if (body := body_of(operand)) is not None]
    if node.target in (_AUTOCAST, _GRAD_MODE):
        first = 5 if node.target is _AUTOCAST else 2
        with _region(node.args) if node.target is _AUTOCAST else nullcontext():
            inside = everything or node.target is _AUTOCAST
            return _note(bodies[0], _values(node.args[first:]), everything=inside)
    # Control flow: a body takes the tensors in their order, or slices of them.
    reads = _values(
        leaf
        for leaf in pytree.tree_leaves(
            node.args[1:], is_leaf=lambda leaf: isinstance(leaf, fx.Node)
        )
        if isinstance(leaf, fx.Node) and body_of(leaf) is None
    )
    results = [_note(body, _slices(body, reads), everything=everything) for body in bodies]
    return results[-1]


def _region(arguments: Sequence[Any]) -> AbstractContextManager[Any]:
    device, dtype, enabled = arguments[:3]
    options: dict[str, Any] = {"dtype": dtype, "enabled": bool(enabled), "cache_enabled": False}
    context: AbstractContextManager[Any] = torch.autocast(str(device), **options)
    return context


def _slices(body: fx.GraphModule, reads: Sequence[Any]) -> list[Any] | None:
    """The body's placeholders with the dtypes of what the call passes; None if they differ."""
    placeholders = [node for node in body.graph.nodes if node.op == "placeholder"]
    if len(placeholders) != len(reads):
        return None
    return [_with_dtype(node.meta.get("val"), read) for node, read in zip(placeholders, reads)]


def _correct(node: fx.Node, value: Any) -> bool:
    """Gives what is noted of a node the dtypes of `value`; True where they were others."""
    noted = node.meta.get("val")
    leaves, spec = pytree.tree_flatten(noted)
    right = pytree.tree_leaves(value)
    if len(leaves) != len(right):
        node.meta["val"] = value
        return True
    corrected = [_with_dtype(old, new) for old, new in zip(leaves, right, strict=True)]
    if all(old is new for old, new in zip(leaves, corrected, strict=True)):
        return False
    node.meta["val"] = pytree.tree_unflatten(corrected, spec)
    return True


def _with_dtype(noted: Any, value: Any) -> Any:
    tensors = isinstance(noted, torch.Tensor) and isinstance(value, torch.Tensor)
    return noted if not tensors or noted.dtype == value.dtype else noted.to(value.dtype)


def _values(operands: Any) -> list[Any]:
    return [_value_of(each) if isinstance(each, fx.Node) else each for each in operands]


def _value_of(node: fx.Node) -> Any:
    return node.meta["val"] if "val" in node.meta else body_of(node)
