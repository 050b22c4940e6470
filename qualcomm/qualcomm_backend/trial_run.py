"""Each delegate is run once, on the emulator, while its program is lowered.

QNN's compiler is closed, and some graphs that it accepts it compiles wrong. So a program's example
inputs go through it in eager; what a delegate then makes of its own inputs is compared with what
eager makes of them. Where they differ, the operator with which the difference begins is found by
halving, and given back.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from backend_common import subgraph
from backend_common.diagnostics import source_line
from backend_common.errors import ExecutionError, WithdrawalError
from backend_common.report import Row
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.lowered_backend_module import LoweredBackendModule
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from qualcomm_backend import emulator, operators, part, preprocess
from qualcomm_backend.stock import QnnError


@dataclass(frozen=True)
class _Limits:
    """noise: the root mean square of the errors, in shares of that of the values.
    error: of one value, in shares of it and of the root mean square together.
    """

    noise: float
    error: float


# In 16-bit floats against 32; parts that are right have a noise of 0.005 at most.
_OF_FLOATS = _Limits(0.03, 0.1)

# Against the quantized program in eager: rounding in another place is another step.
_OF_INTEGERS = _Limits(0.15, 0.5)


@dataclass(frozen=True)
class Difference:
    """An operator, by its node in the delegate's program, and what is wrong after it."""

    node: fx.Node
    reason: str


def give_back_what_differs(
    programs: Mapping[str, ExportedProgram], example_inputs: Mapping[str, Any]
) -> None:
    """
    programs: lowered Edge programs by method.
    example_inputs: as ExportedProgram has them; a program without is not tried.

    Raises WithdrawalError, whose rows name the operators that are to be given back.
    """
    rows = [
        Row(
            *(name, operators.name_of(found.node), found.node.name, source_line(found.node)),
            delegated=False,
            backend="qualcomm",
            reason=found.reason,
            remedy="",
        )
        for name, program in programs.items()
        for call in _calls(program, example_inputs[name])
        for found in _differences(call)
    ]
    if rows:
        noun = "operator" if len(rows) == 1 else "operators"
        raise WithdrawalError(f"QNN computes {len(rows)} {noun} otherwise than eager:", rows)


@dataclass(frozen=True)
class _Call:
    """A delegate, and what it was called with while the program ran in eager."""

    delegate: LoweredBackendModule
    inputs: Sequence[Any]

    @property
    def program(self) -> ExportedProgram:
        return self.delegate.original_module

    @property
    def options(self) -> bytes:
        return bytes(self.delegate.compile_specs[0].value)

    def trial(
        self, binary: bytes, inputs: Sequence[fx.Node], results: Sequence[fx.Node]
    ) -> "_Trial":
        limits = _OF_INTEGERS if part.is_quantized(self.program) else _OF_FLOATS
        return _Trial(self.delegate.compile_specs, binary, inputs, results, limits)


class _Recorder(fx.Interpreter):
    """Keeps every value; a delegate computes what it was made of."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.calls: list[_Call] = []

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        if target is not executorch_call_delegate:
            return super().call_function(target, args, kwargs)
        delegate, *inputs = args
        self.calls.append(_Call(delegate, inputs))
        return _run_in_eager(delegate.original_module, inputs).results


@dataclass(frozen=True)
class _Values:
    by_node: Mapping[fx.Node, Any]
    results: tuple[Any, ...]
    calls: Sequence[_Call]


def _run_in_eager(program: ExportedProgram, inputs: Sequence[Any]) -> _Values:
    given = iter(inputs)
    operands = []
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            operands.append(next(given))
        elif spec.target in program.state_dict:
            operands.append(program.state_dict[str(spec.target)].detach().clone())
        else:
            value = program.constants[str(spec.target)]
            operands.append(value.clone() if isinstance(value, torch.Tensor) else value)
    recorder = _Recorder(program.graph_module)
    with torch.no_grad():
        results = recorder.run(*operands, enable_io_processing=False)
    return _Values(recorder.env, tuple(results), recorder.calls)


def _calls(program: ExportedProgram, example_inputs: Any) -> Sequence[_Call]:
    if example_inputs is None:
        return []
    inputs = pytree.tree_leaves(example_inputs)
    copies = [each.clone() if isinstance(each, torch.Tensor) else each for each in inputs]
    return _run_in_eager(program, copies).calls


def _differences(call: _Call) -> Iterator[Difference]:
    values = _run_in_eager(call.program, call.inputs).by_node
    by_name = {node.name: node for node in call.program.graph.nodes}
    inputs = [by_name[str(name)] for name in call.program.graph_signature.user_inputs]
    results = call.program.graph.output_node().args[0]
    reason = call.trial(call.delegate.processed_bytes, inputs, results).run(values)
    if not reason:
        return
    segments = _Segments(call, values)
    start, found = 0, False
    while start < segments.count and (wrong := segments.first_wrong(start)) is not None:
        start, found = wrong.end, True
        yield from wrong.differences
    if not found:
        # Only all of it together is wrong.
        for node in segments.nodes_between(0, segments.count):
            yield Difference(node, reason)


@dataclass(frozen=True)
class _Wrong:
    end: int
    differences: Sequence[Difference]


class _Segments:
    """A delegate's operators, cut where every value that crosses is one that QNN could hand out."""

    def __init__(self, call: _Call, values: Mapping[fx.Node, Any]) -> None:
        self._call = call
        self._values = values
        program = call.program
        self._order = {node: index for index, node in enumerate(program.graph.nodes)}
        self._computed = [
            node
            for node in program.graph.nodes
            if node.op == "call_function"
            and operators.name_of(node) != "getitem"
            and not part.is_constant(program, node)
        ]
        self._quantized = part.is_quantized(program)
        cuts = range(1, len(self._computed))
        self._cuts = [0, *filter(self._may_cut, cuts), len(self._computed)]

    @property
    def count(self) -> int:
        return len(self._cuts) - 1

    def nodes_between(self, start: int, end: int) -> list[fx.Node]:
        """Those of the user's operators."""
        nodes = self._computed[self._cuts[start] : self._cuts[end]]
        coding = operators.QUANTIZES | operators.DEQUANTIZES
        return [node for node in nodes if operators.name_of(node) not in coding]

    def first_wrong(self, start: int) -> _Wrong | None:
        """The first segment with which the values from `start` on are wrong, by halving."""
        reason = self._reason(start, self.count)
        if not reason:
            return None
        right, wrong = start, self.count
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if found := self._reason(start, middle):
                wrong, reason = middle, found
            else:
                right = middle
        guilty = self.nodes_between(wrong - 1, wrong) or self.nodes_between(start, wrong)
        return _Wrong(wrong, [Difference(node, reason) for node in guilty])

    def _may_cut(self, at: int) -> bool:
        if not self._quantized:
            return True
        return all(
            operators.name_of(node) in operators.QUANTIZES | operators.DEQUANTIZES
            for node in self._crossing(self._computed[:at])
        )

    def _crossing(self, nodes: Sequence[fx.Node]) -> list[fx.Node]:
        """Those whose values, or items of them, are read by others."""
        inside = self._with_items(nodes)
        return [node for node in subgraph.results_of(inside) if node.op == "call_function"]

    def _with_items(self, nodes: Sequence[fx.Node]) -> list[fx.Node]:
        found = dict.fromkeys(nodes)
        for node in nodes:
            found |= dict.fromkeys(
                user for user in node.users if operators.name_of(user) == "getitem"
            )
        return list(found)

    def _reason(self, start: int, end: int) -> str:
        """What is wrong with the values that leave the segments, which are compiled alone."""
        program = self._call.program
        nodes = self._computed[self._cuts[start] : self._cuts[end]]
        results = sorted(self._crossing(nodes), key=self._order.__getitem__)
        inside = self._with_items(nodes)
        constants: dict[fx.Node, None] = {}
        for node in nodes:
            constants |= dict.fromkeys(_constants_behind(program, node))
        ordered = sorted({*inside, *constants}, key=self._order.__getitem__)
        inputs = subgraph.inputs_of(program, ordered)
        try:
            binary = preprocess.compile_part(part.of(program, ordered, results), self._call.options)
        except QnnError:
            # No word on it: it was never asked for on its own.
            return ""
        return self._call.trial(binary, inputs, results).run(self._values)


def _constants_behind(program: ExportedProgram, node: fx.Node) -> Iterator[fx.Node]:
    for operand in node.all_input_nodes:
        if operand.op == "call_function" and part.is_constant(program, operand):
            yield from _constants_behind(program, operand)
            yield operand


@dataclass(frozen=True)
class _Trial:
    """A context binary, and the nodes whose values it takes and makes."""

    specifications: list[CompileSpec]
    binary: bytes
    inputs: Sequence[fx.Node]
    results: Sequence[fx.Node]
    limits: _Limits

    def run(self, values: Mapping[fx.Node, Any]) -> str:
        """What is wrong with its results; "" for nothing."""
        inputs = [_as_noted(node, values[node]) for node in self.inputs]
        expected = [_as_noted(node, values[node]) for node in self.results]
        content = _program_of(self.specifications, self.binary, inputs, expected)
        try:
            (found,) = emulator.run(content, [inputs])
        except ExecutionError as error:
            return str(error)
        for wanted, had in zip(expected, found, strict=True):
            if reason := _how_it_differs(wanted, had, self.limits):
                return f"QNN computes it otherwise than eager for the example inputs: {reason}"
        return ""


def _as_noted(node: fx.Node, value: torch.Tensor) -> torch.Tensor:
    """In the memory that the program says it is in."""
    noted = node.meta["val"]
    if value.stride() == noted.stride():
        return value
    made = torch.empty_strided(value.shape, noted.stride(), dtype=value.dtype)
    return made.copy_(value)


class _Interface(torch.nn.Module):
    """Makes tensors like these, of nothing."""

    def __init__(self, results: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._results = results

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(
            torch.empty_strided(each.shape, each.stride(), dtype=each.dtype)
            for each in self._results
        )


def _program_of(
    specifications: list[CompileSpec],
    binary: bytes,
    inputs: Sequence[torch.Tensor],
    results: Sequence[torch.Tensor],
) -> bytes:
    """A program that calls the delegate, and nothing else."""
    interface = torch.export.export(_Interface(results), tuple(inputs), strict=False)
    name = preprocess.QnnBackend.__name__
    return bytes(LoweredBackendModule(interface, name, binary, specifications).buffer())


def _how_it_differs(expected: torch.Tensor, found: torch.Tensor, limits: _Limits) -> str:
    if (expected.dtype, expected.shape) != (found.dtype, found.shape):
        return f"{found.dtype} {list(found.shape)} against {expected.dtype} {list(expected.shape)}"
    wanted, had = expected.double(), found.double()
    if not wanted.isfinite().all():
        return "it has NaN or infinity, which the HTP has not"
    error = (had - wanted).abs()
    size, noise = (each.square().mean().sqrt().item() for each in (wanted, error))
    if noise > size * limits.noise:
        return f"the noise is {noise:.3g}, and the values are {size:.3g}"
    wrong = error > limits.error * (wanted.abs() + size)
    if wrong.any():
        place = tuple(wrong.nonzero()[0].tolist())
        values = f"{found[place].item():.6g} against {expected[place].item():.6g}"
        return f"{int(wrong.sum())} of {wrong.numel()} values, first {values} at {list(place)}"
    return ""
