"""Write an operator with others, by a function that is traced on the operator's operands."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import torch
from backend_common.graph import Pass, Reject, propagate_metadata, replace_by_graph
from torch import fx
from torch._guards import detect_fake_mode
from torch.export import ExportedProgram
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

aten = torch.ops.aten

Operator: TypeAlias = torch._ops.OpOverload
Form: TypeAlias = Callable[..., Any]
Forms: TypeAlias = Mapping[Operator, Form]


class Leave(Exception):  # noqa: N818  # no error: the node stays as it is
    """Raised by a form: why the operator is not written with others."""


class ProgramPass(Pass):
    """A pass over one program; its nodes may stand for the program's constants."""

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program


class WriteWithOthers(ProgramPass):
    """Replaces operators by what a function of the same arguments calls.

    forms: by operator. A form may return NotImplemented: the node is no concern of the pass.
    A form is given tensors without values, of sizes that are numbers.
    """

    forms: ClassVar[Forms]

    def match(self, node: fx.Node) -> Any:
        form = self.forms.get(node.target)  # type: ignore[call-overload]
        if form is None:
            return None
        try:
            return _trace(node, form)
        except Leave as reason:
            return Reject(node, str(reason))

    def rewrite(self, node: fx.Node, found: Any) -> None:
        body, operands = found
        users, graph = list(node.users), node.graph
        module, before = graph.owning_module, _strides(node.meta["val"])
        replace_by_graph(node, body, operands)
        if before != _strides(body.graph.output_node().meta["val"]):
            propagate_metadata(module, [user for user in users if not user._erased])


def _trace(node: fx.Node, form: Form) -> tuple[fx.GraphModule, Sequence[fx.Node]] | None:
    """The form's graph, from the operands to the results; None where it is no concern of it."""
    leaves, tree = pytree.tree_flatten((node.args, node.kwargs))
    operands = list(dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, fx.Node)))
    values = [operand.meta["val"] for operand in operands]
    _check_sizes([*values, node.meta["val"]])

    def function(*tensors: torch.Tensor) -> Any:
        by_node = dict(zip(operands, tensors, strict=True))
        filled = [by_node.get(leaf, leaf) if isinstance(leaf, fx.Node) else leaf for leaf in leaves]
        args, kwargs = pytree.tree_unflatten(filled, tree)
        results = form(*args, **kwargs)
        # A result that is an operand would give one value two names.
        return _map(lambda each: each.clone() if _is_one_of(each, tensors) else each, results)

    mode = detect_fake_mode(values)
    if mode is None:
        raise Leave("it reads no tensor")
    try:
        with mode, torch.no_grad():
            if function(*values) is NotImplemented:  # of most nodes, and at once
                return None
            body = make_fx(function)(*values)
    except Leave:
        raise
    except Exception as error:
        raise Leave(f"its form does not take it: {type(error).__name__}: {error}") from error
    for inner in body.graph.nodes:
        if inner.target is aten.view.default:  # whose operand may get other strides
            inner.target = aten.reshape.default
    output = body.graph.output_node()
    output.meta["val"] = _map(lambda each: each.meta["val"], output.args[0])
    if _kinds(output.meta["val"]) != _kinds(node.meta["val"]):
        raise Leave(
            f"its form gives {_kinds(output.meta['val'])}, and it is {_kinds(node.meta['val'])}"
        )
    return body, operands


def put_in_place(node: fx.Node, target: Operator, *args: Any) -> None:
    """target(*args) in place of the node; its strides may be others."""
    with node.graph.inserting_before(node):
        made = node.graph.call_function(target, args)
    made.meta = dict(node.meta)
    node.replace_all_uses_with(made)
    node.graph.erase_node(node)
    propagate_metadata(made.graph.owning_module, [made])


def wide(dtype: torch.dtype) -> torch.dtype:
    """What eager adds up half precision in."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def _map(function: Callable[[Any], Any], results: Any) -> Any:
    if isinstance(results, (tuple, list)):
        return tuple(function(each) for each in results)
    return function(results)


def _is_one_of(result: Any, tensors: Sequence[torch.Tensor]) -> bool:
    return any(result is tensor for tensor in tensors)


def _check_sizes(values: Sequence[Any]) -> None:
    for value in pytree.tree_leaves(values):
        if not isinstance(value, torch.Tensor):
            raise Leave("it reads a number that is not fixed")
        if not all(isinstance(size, int) for size in value.shape):
            raise Leave("a size of it is not fixed")


def _kinds(value: Any) -> list[tuple[torch.dtype, tuple[int, ...]]]:
    return [(leaf.dtype, tuple(leaf.shape)) for leaf in pytree.tree_leaves(value)]


def _strides(value: Any) -> list[tuple[int, ...]]:
    return [leaf.stride() for leaf in pytree.tree_leaves(value)]
