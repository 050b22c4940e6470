"""A delegated part of a program as a module of its own, constants and bodies included."""

import copy
from collections.abc import Collection, Sequence
from typing import cast

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram

from backend_common.graph import attribute


def constant_of(program: ExportedProgram, node: fx.Node) -> torch.Tensor | None:
    """The tensor that a node stands for when no call can change it, else None.

    A mutated buffer is state, not a constant: it stays an input.
    """
    signature = program.graph_signature
    value: object = None
    if node.op == "get_attr":
        value = attribute(program.graph_module, str(node.target))
    elif node.op == "placeholder":
        if (name := signature.inputs_to_lifted_tensor_constants.get(node.name)) is not None:
            value = program.constants[name]
        elif (name := signature.inputs_to_parameters.get(node.name)) is not None:
            value = program.state_dict[name]
        elif (
            name := signature.inputs_to_buffers.get(node.name)
        ) is not None and name not in signature.buffers_to_mutate.values():
            # Buffers that are not persistent live beside the state dict.
            value = program.state_dict.get(name, program.constants.get(name))
    if isinstance(value, FakeTensor) and value.constant is not None:
        value = value.constant  # a number that became a tensor while ExecuTorch traced
    return value.detach() if isinstance(value, torch.Tensor) else None


def body_of(node: fx.Node) -> fx.GraphModule | None:
    """The body of a control-flow operator that a node stands for, else None."""
    owner = node.graph.owning_module
    if node.op != "get_attr" or owner is None:
        return None
    body = attribute(owner, str(node.target))
    return body if isinstance(body, fx.GraphModule) else None


def inputs_of(program: ExportedProgram, nodes: Collection[fx.Node]) -> list[fx.Node]:
    """What the nodes read from outside and is no constant, in the order of first use."""
    inside = set(nodes)
    read = dict.fromkeys(argument for node in nodes for argument in node.all_input_nodes)
    return [
        node
        for node in read
        if node not in inside and constant_of(program, node) is None and body_of(node) is None
    ]


def results_of(nodes: Collection[fx.Node]) -> list[fx.Node]:
    """Those of the nodes that someone outside reads."""
    inside = set(nodes)
    return [node for node in nodes if any(user not in inside for user in node.users)]


def extract(
    program: ExportedProgram,
    nodes: Sequence[fx.Node],
    inputs: Sequence[fx.Node],
    results: Sequence[fx.Node],
) -> fx.GraphModule:
    """The nodes, which are in topological order, as a module from `inputs` to `results`.

    Its nodes keep their names and values, its bodies are copies.
    """
    root = torch.nn.Module()
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}

    def add(node: fx.Node, made: fx.Node) -> None:
        # The value alone: a tag or a stack trace would tie the copy to its origin.
        made.meta = {"val": node.meta["val"]} if "val" in node.meta else {}
        copies[node] = made

    def lookup(node: fx.Node) -> fx.Node:
        if node not in copies:
            body = body_of(node)
            name = f"{'constant' if body is None else 'body'}_{len(copies)}"
            if body is not None:
                setattr(root, name, copy.deepcopy(body))
            else:
                value = constant_of(program, node)
                if value is None:
                    raise ValueError(f"{node.name} is neither an input nor a constant")
                root.register_buffer(name, _compact(value))
            add(node, graph.get_attr(name))
        return copies[node]

    for node in inputs:
        add(node, graph.placeholder(node.name))
    for node in nodes:
        for argument in node.all_input_nodes:
            lookup(argument)
        add(node, graph.node_copy(node, lookup))
    graph.output(tuple(lookup(node) for node in results))
    return fx.GraphModule(root, graph)


def whole(program: ExportedProgram) -> fx.GraphModule:
    """The program as such a module: its user inputs and its outputs, in their order."""
    by_name = {node.name: node for node in program.graph.nodes}
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    inputs = [by_name[str(name)] for name in program.graph_signature.user_inputs]
    results = cast(Sequence[fx.Node], program.graph.output_node().args[0])
    return extract(program, nodes, inputs, results)


def _compact(value: torch.Tensor) -> torch.Tensor:
    """A constant with a storage of its own: the whole storage would go into the program."""
    if isinstance(value, FakeTensor):
        # ExecuTorch partitions before it looks at parameters: any value will do. Those of floats
        # are not read; integers may be shapes.
        make = torch.empty if value.dtype.is_floating_point else torch.zeros
        return make(value.shape, dtype=value.dtype)
    if value.untyped_storage().nbytes() == value.numel() * value.element_size():
        return value
    return value.clone(memory_format=torch.contiguous_format)
