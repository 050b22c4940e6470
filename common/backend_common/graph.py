"""Graph surgery: passes that say why they did not match, inlining, metadata of new nodes."""

import dataclasses
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import torch
from torch import fx
from torch._guards import detect_fake_mode
from torch.utils import _pytree as pytree

from backend_common.diagnostics import Diagnostics


@dataclasses.dataclass(frozen=True)
class Reject:
    """A node that a pass might have rewritten, and why it did not."""

    node: fx.Node
    reason: str
    remedy: str = ""


class Pass:
    """Given/Result rewriting of single nodes, in the graph and in the bodies that it calls.

    match: what `rewrite` needs, or None for a node that is no concern of the pass, or a
        Reject for one that is and stays.
    rewrite: changes the graph at the node; new nodes need no metadata, it is computed.
    """

    def match(self, node: fx.Node) -> Any:
        raise NotImplementedError

    def rewrite(self, node: fx.Node, found: Any) -> None:
        raise NotImplementedError

    def __call__(self, graph_module: fx.GraphModule, diagnostics: Diagnostics | None = None) -> int:
        """Rewrites in place; returns how many nodes were rewritten."""
        count = 0
        for module in graph_modules(graph_module):
            count += self._run(module, diagnostics)
        return count

    def _run(self, module: fx.GraphModule, diagnostics: Diagnostics | None) -> int:
        count = 0
        for node in list(module.graph.nodes):
            if node._erased:  # by the rewrite of a node before it
                continue
            found = self.match(node)
            if isinstance(found, Reject):
                if diagnostics is not None:
                    diagnostics.reject(found.node, found.reason, found.remedy)
            elif found is not None:
                target = node.target
                self.rewrite(node, found)
                if not node._erased and node.target is not target:
                    node.meta.pop("val", None)
                count += 1
        if count:
            propagate_metadata(module)
            module.graph.lint()
            module.recompile()
        return count


def graph_modules(graph_module: fx.GraphModule) -> Iterator[fx.GraphModule]:
    """The bodies of its higher-order calls from the inside out, then the module itself.

    Only bodies that a graph refers to, each once; delegates are closed.
    """
    seen: set[int] = set()

    def walk(module: fx.GraphModule) -> Iterator[fx.GraphModule]:
        seen.add(id(module))
        for node in module.graph.nodes:
            if node.op != "get_attr":
                continue
            body = attribute(module, str(node.target))
            if isinstance(body, fx.GraphModule) and id(body) not in seen:
                yield from walk(body)
        yield module

    yield from walk(graph_module)


def attribute(module: torch.nn.Module, path: str) -> Any:
    """What a get_attr node with this target stands for; None when it is not there."""
    value: Any = module
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


# ---------------------------------------------------------------- who writes


def users_that_mutate(node: fx.Node) -> fx.Node | None:
    """The first node that writes to this one's memory, through a view of it or not."""
    aliases = [node]
    for alias in aliases:
        for user in alias.users:
            if user.target is operator.getitem:
                aliases.append(user)  # one of several views
                continue
            schema = getattr(user.target, "_schema", None)
            if schema is None:
                continue
            for argument, value in _bound(schema, user):
                if value is not alias or argument.alias_info is None:
                    continue
                if argument.alias_info.is_write:
                    return user
                if user not in aliases:
                    aliases.append(user)
    return None


def _bound(schema: Any, node: fx.Node) -> Iterator[tuple[Any, Any]]:
    """(argument of the schema, what the node passes), lists flattened."""
    for position, argument in enumerate(schema.arguments):
        value = (
            node.args[position]
            if position < len(node.args) and not argument.kwarg_only
            else node.kwargs.get(argument.name)
        )
        for leaf in pytree.tree_leaves(value):
            yield argument, leaf


# ---------------------------------------------------------------- inlining


def inline_submodule(node: fx.Node, body: int) -> None:
    """Replace a higher-order call by the operators of its body.

    Given:  y = wrap_with_autocast("cpu", None, False, None, submodule, a, b)     body = 4
    Result: the submodule's operators on a and b

    body: position of the submodule among the call's arguments; the operands follow it.
    The submodule's placeholders take the operands by position: names mean nothing. Calls
    within the submodule stay calls, now of this graph. The submodule itself is not changed.
    """
    module = _owner(node)
    reference = node.args[body]
    submodule = attribute(module, str(reference.target)) if isinstance(reference, fx.Node) else None
    if not isinstance(submodule, fx.GraphModule):
        raise ValueError(f"argument {body} of {node.name} is {reference}, which is no submodule")
    replace_by_graph(node, submodule, node.args[body + 1 :])
    assert isinstance(reference, fx.Node)
    if not reference.users:
        module.graph.erase_node(reference)


def replace_by_graph(node: fx.Node, body: fx.GraphModule, operands: Sequence[Any]) -> None:
    """Replace a node by the operators of `body`, whose placeholders take `operands` in order.

    A body that returns a tuple replaces the node's selected results, each by its own; a body
    that returns one value replaces the node. ValueError, and no change, when the numbers of
    operands or results do not fit.
    """
    module = _owner(node)
    graph = module.graph
    placeholders = [inner for inner in body.graph.nodes if inner.op == "placeholder"]
    if len(placeholders) != len(operands):
        raise ValueError(
            f"{node.name} passes {len(operands)} operands to a body with {len(placeholders)} inputs"
        )
    (output,) = (inner for inner in body.graph.nodes if inner.op == "output")
    results = output.args[0]
    _check_selections(node, results)

    values: dict[fx.Node, Any] = dict(zip(placeholders, operands, strict=True))
    with graph.inserting_before(node):
        for inner in body.graph.nodes:
            if inner.op in ("placeholder", "output"):
                continue
            if inner.op == "get_attr":
                target = _adopt(module, str(inner.target), attribute(body, str(inner.target)))
                copy = graph.create_node("get_attr", target, name=inner.name)
            else:
                # Not graph.node_copy: an operand may be a constant.
                copy = graph.create_node(
                    inner.op,
                    inner.target,
                    _substitute(inner.args, values),
                    _substitute(inner.kwargs, values),
                    name=inner.name,
                )
            copy.meta = dict(inner.meta)
            if "stack_trace" not in copy.meta and "stack_trace" in node.meta:
                copy.meta["stack_trace"] = node.meta["stack_trace"]
            values[inner] = copy

    if isinstance(results, (tuple, list)):
        for user in list(node.users):
            _replace(user, _substitute(results[cast(int, user.args[1])], values))
        graph.erase_node(node)
    else:
        _replace(node, _substitute(results, values))


def _check_selections(node: fx.Node, results: Any) -> None:
    if not isinstance(results, (tuple, list)):
        return
    for user in node.users:
        if user.target is not operator.getitem or user.args[0] is not node:
            raise ValueError(f"{user.name} takes all results of {node.name}; select them first")
        index = user.args[1]
        if not isinstance(index, int) or not -len(results) <= index < len(results):
            raise ValueError(f"{user.name} selects result {index} of {len(results)}")


def _substitute(arguments: Any, values: dict[fx.Node, Any]) -> Any:
    return fx.node.map_arg(arguments, lambda inner: values.get(inner, inner))


def _replace(node: fx.Node, value: Any) -> None:
    """Every use of the node becomes `value`, a node or a constant; the node goes."""
    for user in list(node.users):
        user.args = _substitute(user.args, {node: value})
        user.kwargs = _substitute(user.kwargs, {node: value})
    node.graph.erase_node(node)


def _adopt(module: torch.nn.Module, path: str, value: Any) -> str:
    """The name under which `module` holds `value`; a new one unless it has it already."""
    stem = path.replace(".", "_")
    name, number = stem, 0
    while hasattr(module, name) and getattr(module, name) is not value:
        number += 1
        name = f"{stem}_{number}"
    if not hasattr(module, name):
        setattr(module, name, value)
    return name


def _owner(node: fx.Node) -> fx.GraphModule:
    module = node.graph.owning_module
    if module is None:
        raise ValueError(f"the graph of {node.name} belongs to no module")
    return module


# ---------------------------------------------------------------- metadata


def propagate_metadata(
    graph_module: fx.GraphModule, changed: Iterable[fx.Node] | None = None
) -> None:
    """Compute meta["val"] of changed nodes, and of what follows from them, on fake tensors.

    changed: nodes whose operator or arguments changed; by default those without a value.
    Goes on downstream for as long as a dtype, shape or stride differs from what was there, so
    that values which nothing touched keep theirs, symbols of sizes included.
    """
    nodes = list(graph_module.graph.nodes)
    if changed is None:
        changed = [
            n for n in nodes if n.op in ("call_function", "get_attr") and "val" not in n.meta
        ]
    todo = set(changed)
    known = [node.meta["val"] for node in nodes if "val" in node.meta]
    mode = detect_fake_mode(known)
    if mode is None:
        raise ValueError("no node of the graph has a fake tensor to start from")

    def value_of(node: fx.Node) -> Any:
        if "val" in node.meta:
            return node.meta["val"]
        return attribute(graph_module, str(node.target))  # the body of a higher-order call

    for node in nodes:
        if node not in todo:
            continue
        if node.op == "get_attr":
            held = attribute(graph_module, str(node.target))
            if not isinstance(held, torch.Tensor):
                continue
            new = mode.from_tensor(held, static_shapes=True)
        elif node.op == "call_function":
            args, kwargs = fx.node.map_arg((node.args, node.kwargs), value_of)
            with mode:
                new = node.target(*args, **kwargs)
        else:
            continue
        if "val" not in node.meta or _signature(node.meta["val"]) != _signature(new):
            todo.update(node.users)
        node.meta["val"] = new


def _signature(value: Any) -> list[Any]:
    return [_signature_of_leaf(leaf) for leaf in pytree.tree_leaves(value)]


def _signature_of_leaf(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return leaf.dtype, tuple(leaf.shape), leaf.stride()
    if isinstance(leaf, torch.SymInt | torch.SymFloat | torch.SymBool):
        return type(leaf), leaf.node.expr  # whether the numbers are equal may not be known
    return leaf
