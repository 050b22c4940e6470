"""Hand the constants of control-flow bodies in as operands."""

from collections.abc import Iterator
from typing import Any

import torch
from backend_common.graph import Pass, attribute
from torch import fx
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensor

_higher_order = torch.ops.higher_order

# How many arguments are bodies, and which one is the tuple that may grow.
_BODIES = {_higher_order.cond: (slice(1, 3), 3), _higher_order.while_loop: (slice(0, 2), 3)}


class PassConstantsToBodies(Pass):
    """
    Given:  y = cond(p, true, false, (x,))       true(x) reads a tensor that is an attribute of it
    Result: y = cond(p, true, false, (x, c))     with c an attribute of the module itself

    Why: Inductor traces bodies twice, and takes their own tensors for two different things.
    """

    def match(self, node: fx.Node) -> Any:
        if node.target not in _BODIES:
            return None
        bodies = list(_bodies(node))
        read = [
            (body, inner) for body in bodies for inner in body.graph.nodes if _constant(body, inner)
        ]
        return (bodies, read) if read else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        bodies, read = found
        owner = node.graph.owning_module
        _, operands = _BODIES[node.target]
        for body, inner in read:
            value = attribute(body, str(inner.target))
            if isinstance(value, FakeTensor) and value.constant is not None:
                value = value.constant
            name = _free_name(owner, "body_constant")
            owner.register_buffer(name, value.detach())
            with node.graph.inserting_before(node):
                constant = node.graph.get_attr(name)
            constant.meta["val"] = _fake(node, value)
            arguments = list(node.args)
            if len(arguments) <= operands:
                arguments.append(())
            arguments[operands] = (*arguments[operands], constant)
            node.args = tuple(arguments)
            for other in bodies:
                _add_input(other, name, constant.meta["val"], inner if other is body else None)


def _bodies(node: fx.Node) -> Iterator[fx.GraphModule]:
    places, _ = _BODIES[node.target]
    for argument in node.args[places]:
        body = attribute(node.graph.owning_module, str(argument.target))
        assert isinstance(body, fx.GraphModule), body
        yield body


def _constant(body: fx.GraphModule, node: fx.Node) -> bool:
    return node.op == "get_attr" and isinstance(attribute(body, str(node.target)), torch.Tensor)


def _add_input(body: fx.GraphModule, name: str, value: Any, replaced: fx.Node | None) -> None:
    """A last input, which takes the place of `replaced`."""
    last = [node for node in body.graph.nodes if node.op == "placeholder"][-1:]
    place = last[0] if last else body.graph._root
    with body.graph.inserting_after(place):
        added = body.graph.placeholder(name)
    added.meta["val"] = value
    if replaced is not None:
        replaced.replace_all_uses_with(added)
        body.graph.erase_node(replaced)
    body.recompile()


def _free_name(module: torch.nn.Module, stem: str) -> str:
    number = 0
    while hasattr(module, f"{stem}_{number}"):
        number += 1
    return f"{stem}_{number}"


def _fake(node: fx.Node, value: torch.Tensor) -> Any:
    mode = detect_fake_mode([each.meta["val"] for each in node.graph.nodes if "val" in each.meta])
    return value if mode is None else mode.from_tensor(value, static_shapes=True)
