"""A delegated part of a program on its own: what builders read instead of an ExportedProgram."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from backend_common import subgraph
from executorch.exir.dialects._ops import ops
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

from qualcomm_backend import operators

_QUANTIZE = ops.edge.quantized_decomposed.quantize_per_tensor.default
_DEQUANTIZE = ops.edge.quantized_decomposed.dequantize_per_tensor.default


@dataclass
class Part:
    """graph_module: placeholders for inputs and for constants, the operators, the results.

    state_dict: constants by the name of their placeholder.
    The names are those of ExportedProgram, under which builders look for them.
    """

    graph_module: fx.GraphModule
    graph_signature: ExportGraphSignature
    state_dict: dict[str, torch.Tensor]
    constants: dict[str, torch.Tensor]

    @property
    def graph(self) -> fx.Graph:
        return self.graph_module.graph

    @property
    def results(self) -> Sequence[fx.Node]:
        return cast(Sequence[fx.Node], self.graph.output_node().args[0])

    def add_constant(self, name: str, value: torch.Tensor) -> fx.Node:
        """A placeholder, before the first operator, for a constant of this value."""
        first = next(node for node in self.graph.nodes if node.op != "placeholder")
        with self.graph.inserting_before(first):
            node = self.graph.placeholder(name)
        self._hold(node, value)
        return node

    def _hold(self, node: fx.Node, value: torch.Tensor) -> None:
        node.meta["val"] = value
        self.state_dict[node.name] = value
        self.graph_signature.input_specs.append(
            InputSpec(InputKind.BUFFER, TensorArgument(node.name), node.name, persistent=True)
        )


def of(program: ExportedProgram, nodes: Sequence[fx.Node], results: Sequence[fx.Node]) -> Part:
    """The nodes, which are in topological order, as a part; inputs are in order of first use."""
    return _part(program, nodes, subgraph.inputs_of(program, nodes), results)


def whole(program: ExportedProgram) -> Part:
    """A program as a part; its user inputs and outputs keep their order."""
    by_name = {node.name: node for node in program.graph.nodes}
    inputs = [by_name[str(name)] for name in program.graph_signature.user_inputs]
    results = cast(Sequence[fx.Node], program.graph.output_node().args[0])
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    return _part(program, nodes, inputs, results)


def _part(
    program: ExportedProgram,
    nodes: Collection[fx.Node],
    inputs: Sequence[fx.Node],
    results: Sequence[fx.Node],
) -> Part:
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    signature = ExportGraphSignature(input_specs=[], output_specs=[])
    part = Part(fx.GraphModule(torch.nn.Module(), graph), signature, {}, {})
    for node in inputs:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta = {"val": node.meta["val"]}
        if _QUANTIZATION in node.meta:
            copies[node].meta[_QUANTIZATION] = node.meta[_QUANTIZATION]
        argument = TensorArgument(copies[node].name)
        signature.input_specs.append(InputSpec(InputKind.USER_INPUT, argument, None))
    read = dict.fromkeys(argument for node in nodes for argument in node.all_input_nodes)
    for node in (*read, *results):
        if node in copies or node in nodes:
            continue
        value = subgraph.constant_of(program, node)
        if value is None:
            raise ValueError(f"{node.name} is neither an input nor a constant")
        copies[node] = graph.placeholder(node.name)
        part._hold(copies[node], _real(value))
    for node in nodes:
        copies[node] = graph.node_copy(node, copies.__getitem__)
        copies[node].meta = {"val": node.meta["val"]}
    outputs = [copies[node] for node in results]
    graph.output(tuple(outputs))
    signature.output_specs.extend(
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(node.name), None) for node in outputs
    )
    part.graph_module.recompile()
    return part


def _real(value: torch.Tensor) -> torch.Tensor:
    """A dense tensor; while ExecuTorch partitions, a parameter has no values, and zeros do."""
    if isinstance(value, FakeTensor):
        return torch.zeros(value.shape, dtype=value.dtype)
    return value.detach().contiguous()


def alone(program: ExportedProgram, node: fx.Node) -> Part:
    """One operator with the items that are taken from it, and the constants that it moves."""
    items = [user for user in node.users if operators.name_of(user) == "getitem"]
    made = items or [node]
    before, after = _behind(program, node), _encoded(made)
    read = {operand for each in after for operand in each.all_input_nodes}
    results = [each for each in (*made, *after) if each not in read]
    return of(program, [*before, node, *items, *after], results)


def _encoded(nodes: Sequence[fx.Node]) -> list[fx.Node]:
    """What quantizes these values, and what decodes that, with what moves them before."""
    found: dict[fx.Node, None] = {}
    for node in nodes:
        for user in node.users:
            name = operators.name_of(user)
            if name in operators.QUANTIZES:
                found |= dict.fromkeys([user, *filter(_dequantizes, user.users)])
            elif name in operators.MOVES and (moved := _encoded([user])):
                found |= dict.fromkeys([user, *moved])
    return list(found)


def _dequantizes(node: fx.Node) -> bool:
    return operators.name_of(node) in operators.DEQUANTIZES


# How an input was quantized before it was dequantized: arguments, as its operator has them.
_QUANTIZATION = "qualcomm_quantization"


def note_quantization(dequantize: fx.Node) -> None:
    """For the parts that read its value."""
    dequantize.meta[_QUANTIZATION] = dequantize.args[1:]


def quantize_inputs(part: Part) -> None:
    """
    Given:  y = relu(x)      with an input x of which it is noted how it was quantized
    Result: y = relu(dequantize(quantize(x)))

    Which changes nothing, and lets relu compute in integers.
    """
    inputs = set(part.graph_signature.user_inputs)
    for node in list(part.graph.nodes):
        if node.op != "placeholder" or node.name not in inputs or _QUANTIZATION not in node.meta:
            continue
        arguments, readers = node.meta[_QUANTIZATION], list(node.users)
        if not readers:
            continue
        with part.graph.inserting_before(readers[0]):
            quantized = part.graph.call_function(_QUANTIZE, (node, *arguments))
            decoded = part.graph.call_function(_DEQUANTIZE, (quantized, *arguments))
        quantized.meta["val"] = node.meta["val"].to(arguments[-1])
        decoded.meta["val"] = node.meta["val"]
        for reader in readers:
            reader.replace_input_with(node, decoded)


def is_quantized(program: ExportedProgram) -> bool:
    coding = operators.QUANTIZES | operators.DEQUANTIZES
    return any(operators.name_of(node) in coding for node in program.graph.nodes)


def is_constant(program: ExportedProgram, node: fx.Node) -> bool:
    """Whether it is a constant, or one with its elements moved."""
    return subgraph.constant_of(program, node) is not None or (
        (operators.name_of(node) in operators.MOVES or _dequantizes(node))
        and all(is_constant(program, operand) for operand in node.all_input_nodes)
    )


def _behind(program: ExportedProgram, node: fx.Node) -> list[fx.Node]:
    """What moves or decodes the constants that it reads, and decodes its other operands."""
    found: dict[fx.Node, None] = {}
    for operand in node.all_input_nodes:
        if is_constant(program, operand) and operand.op != "call_function":
            continue
        if is_constant(program, operand) or _decodes(operand):
            found |= dict.fromkeys([*_behind(program, operand), operand])
    return list(found)


def _decodes(node: fx.Node) -> bool:
    """Whether it decodes integers, or moves what does."""
    if operators.name_of(node) in operators.MOVES:
        return any(map(_decodes, node.all_input_nodes))
    return _dequantizes(node)


def fold_constants(part: Part) -> None:
    """
    Given:  w = permute(v); y = addmm(b, x, w)      with a constant v
    Result: y = addmm(b, x, w)      with a constant w
    """
    for node in list(part.graph.nodes):
        operands = node.all_input_nodes
        if node.op != "call_function" or not all(each.name in part.state_dict for each in operands):
            continue
        if not operands or operators.name_of(node) not in operators.MOVES:
            continue
        values = {each: part.state_dict[each.name] for each in operands}
        arguments = fx.map_arg(node.args, values.__getitem__)
        value = cast(Any, node.target)(*arguments, **node.kwargs)
        if isinstance(value, torch.Tensor):
            made = part.add_constant(f"{node.name}_folded", value.contiguous())
            node.replace_all_uses_with(made)
            part.graph.erase_node(node)
    for node in list(part.graph.nodes):
        if node.op == "placeholder" and node.name in part.state_dict and not node.users:
            part.graph.erase_node(node)
    part.graph_module.recompile()
