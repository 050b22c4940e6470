"""Constants of a program that passes read, and those that they add."""

import torch
from backend_common import subgraph
from torch import fx
from torch._guards import detect_fake_mode
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument


def constant_of(program: ExportedProgram, node: fx.Node) -> torch.Tensor | None:
    """As backend_common's; the nodes of bodies have names that may be those of weights."""
    return subgraph.constant_of(program, node) if node.graph is program.graph else None


def add_constant(program: ExportedProgram, name: str, value: torch.Tensor) -> fx.Node:
    """A placeholder for the value, in front of the user's inputs."""
    placeholders = program.graph.find_nodes(op="placeholder")
    specs = program.graph_signature.input_specs
    index = next(
        (i for i, spec in enumerate(specs) if spec.kind is InputKind.USER_INPUT), len(specs)
    )
    before = placeholders[index] if index < len(placeholders) else _first_call(program.graph)
    with program.graph.inserting_before(before):
        node = program.graph.placeholder(name)
    mode = detect_fake_mode([each.meta.get("val") for each in program.graph.nodes])
    node.meta["val"] = mode.from_tensor(value, static_shapes=True) if mode else value
    specs.insert(index, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), node.name))
    program.constants[node.name] = value
    return node


def _first_call(graph: fx.Graph) -> fx.Node:
    return next(node for node in graph.nodes if node.op != "placeholder")
