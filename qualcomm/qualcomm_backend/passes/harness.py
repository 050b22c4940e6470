"""What tests of passes share: a program before and after, compared value by value with eager."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from backend_common.operators import operator_name
from backend_common.report import Row
from executorch.exir import EdgeCompileConfig, to_edge
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.utils import _pytree as pytree

from qualcomm_backend.passes.application import EdgePass, Rows, apply, own

NAN, INF = float("nan"), float("inf")
EDGES = torch.tensor([NAN, -1.0, 2.0, 0.0, -0.0, INF, -INF, 1e30, -1e30, 0.5, -2.5, 1e-30])


class Module(torch.nn.Module):
    """A function as a module, with tensors that are its buffers: function(self, x)."""

    def __init__(self, function: Callable[..., Any], buffers: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs) if self._buffers else self.function(*inputs)


class Checked:
    """A program after passes. rows: what they left. count: how many nodes they rewrote."""

    def __init__(self, program: ExportedProgram, rows: list[Row], count: int) -> None:
        self.program = program
        self.rows = rows
        self.count = count

    @property
    def operators(self) -> list[str]:
        names = [operator_name(node) for node in self.program.graph.nodes]
        return [name for name in names if name]

    @property
    def reasons(self) -> str:
        return "\n".join(row.reason for row in self.rows)


def program_of(function: Callable[..., Any], *inputs: Any, **buffers: torch.Tensor) -> Any:
    """The module, and its program as the flow hands it to passes."""
    module = function if isinstance(function, torch.nn.Module) else Module(function, buffers)
    exported = torch.export.export(module.eval(), inputs, strict=False)
    return module, exported.run_decompositions({})


def check(
    passes: type[Any] | Sequence[type[Any]],
    function: Callable[..., Any],
    *inputs: Any,
    also: Sequence[tuple[Any, ...]] = (),
    exact: bool = True,
    tolerance: float = 1e-5,
    **buffers: torch.Tensor,
) -> Checked:
    """Runs the passes twice and compares the program with eager.

    also: further inputs of the same kinds. exact: every bit but NaN's payload; else within
    `tolerance` x max(1, |expected|).
    """
    module, before = program_of(function, *inputs, **buffers)
    code = before.graph_module.code
    rows: list[Row] = []
    program, count = own(before), 0
    passes = [passes] if isinstance(passes, type) else passes
    for kind in passes:
        count += apply(kind, program, Rows(rows.append))
    assert before.graph_module.code == code, "the given program changed"
    program.validate()
    for each in (inputs, *also):
        expected = pytree.tree_leaves(module(*pytree.tree_map(_copy, each)))
        compare(expected, run(program, *each), exact, tolerance)
    code = program.graph_module.code
    again = sum(apply(kind, program, Rows()) for kind in passes)
    assert program.graph_module.code == code, f"{again} nodes changed again"
    return Checked(program, rows, count)


def check_edge(
    passes: Sequence[Any],
    function: Callable[..., Any],
    *inputs: Any,
    exact: bool = True,
    tolerance: float = 1e-5,
    **buffers: torch.Tensor,
) -> Checked:
    """The same for passes over Edge graphs, which are instances."""
    module, program = program_of(function, *inputs, **buffers)
    edge = to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    program = own(edge.exported_program())
    rows: list[Row] = []
    count = 0
    for each in passes:
        count += EdgePass(each, Rows(rows.append))(program.graph_module).modified
    expected = pytree.tree_leaves(module(*pytree.tree_map(_copy, inputs)))
    compare(expected, run(program, *inputs), exact, tolerance)
    return Checked(program, rows, count)


def _copy(value: Any) -> Any:
    """With the same strides; `clone` packs what has gaps."""
    if not isinstance(value, torch.Tensor):
        return value
    made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    return made.copy_(value)


def _strides(value: torch.Tensor) -> tuple[int, ...]:
    """Of dimensions along which there is more than one element."""
    steps = zip(value.shape, value.stride(), strict=True)
    return tuple(stride for size, stride in steps if size > 1) if value.numel() else ()


class _Checking(fx.Interpreter):  # type: ignore[misc]
    """Runs a graph, and compares what each node makes with what its metadata says."""

    def run_node(self, n: fx.Node) -> Any:
        value = super().run_node(n)
        if n.op in ("placeholder", "call_function"):
            noted, made = (pytree.tree_leaves(each) for each in (n.meta["val"], value))
            for one, other in zip(noted, made, strict=True):
                if isinstance(other, torch.Tensor):
                    said, done = (
                        (each.dtype, tuple(each.shape), _strides(each)) for each in (one, other)
                    )
                    assert said == done, f"{n.format_node()}: noted {said}, computed {done}"
        return value


def run(program: ExportedProgram, *inputs: Any) -> list[Any]:
    """What the program's graph returns to its user, all of its metadata checked."""
    signature, given = program.graph_signature, iter(pytree.tree_leaves(inputs))
    operands = []
    for node in program.graph.find_nodes(op="placeholder"):
        if node.name in signature.inputs_to_parameters:
            operands.append(program.state_dict[signature.inputs_to_parameters[node.name]])
        elif node.name in signature.inputs_to_buffers:
            name = signature.inputs_to_buffers[node.name]
            operands.append(program.state_dict.get(name, program.constants.get(name)))
        elif node.name in signature.inputs_to_lifted_tensor_constants:
            name = signature.inputs_to_lifted_tensor_constants[node.name]
            operands.append(program.constants[name])
        else:
            operands.append(_copy(next(given)))
    with torch.no_grad():
        results = _Checking(program.graph_module).run(*operands)
    names = [str(spec.arg.name) for spec in signature.output_specs if hasattr(spec.arg, "name")]
    returned = [node.name for node in program.graph.output_node().args[0]]
    assert names == returned, f"the signature returns {names}, the graph {returned}"
    kinds = [spec.kind for spec in signature.output_specs]
    return [
        each for kind, each in zip(kinds, results, strict=True) if kind is OutputKind.USER_OUTPUT
    ]


def compare(
    expected: Sequence[Any], actual: Sequence[Any], exact: bool = True, tolerance: float = 1e-5
) -> None:
    bound = 0.0 if exact else tolerance
    torch.testing.assert_close(
        list(actual), list(expected), rtol=bound, atol=bound, equal_nan=True, check_stride=False
    )
    if not exact:
        return
    for one, other in zip(expected, actual, strict=True):
        if one.dtype.is_floating_point:
            numbers = ~one.isnan()
            assert torch.equal(one.signbit()[numbers], other.signbit()[numbers]), "signs of zeros"
