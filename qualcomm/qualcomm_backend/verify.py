"""Which pass changed the numbers: each one's program runs, and is compared with eager."""

import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from backend_common.graph import Pass, graph_modules
from backend_common.harness import difference
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

Kind = Literal["numbers", "metadata", "graph", "error"]
# A function works in place, or returns what it made.
Transform = Pass | Callable[[ExportedProgram], ExportedProgram | None]


@dataclasses.dataclass(frozen=True)
class Fault:
    """What the first wrong pass did.

    name: of the pass.
    kind: `numbers` outputs, written inputs or buffers differ, in value, dtype, shape or dim order;
        `metadata` a node's noted dtype, shape or strides are not those of its value, which is
        asked of the top graph's nodes; `graph` it, or a body, is not well formed; `error` the pass,
        or its program, raised.
    node: where; empty when the program as a whole is meant.
    text: the two values, or the error.
    """

    name: str
    kind: Kind
    node: str
    text: str

    def sentence(self) -> str:
        return f"{self.name}   {self.kind}   {self.node + ': ' if self.node else ''}{self.text}"


@dataclasses.dataclass(frozen=True)
class Verification:
    """right: the passes that changed nothing, in order. program: what they made of it."""

    right: tuple[str, ...]
    program: ExportedProgram
    fault: Fault | None

    def __bool__(self) -> bool:
        return self.fault is None


def verify_passes(
    program: ExportedProgram,
    passes: Sequence[tuple[str, Transform]],
    inputs: Sequence[tuple[Any, ...]],
    *,
    tolerance: float = 0.0,
) -> Verification:
    """Runs one pass after the other on a copy, until one is wrong.

    inputs: positional inputs of calls, made in order on one state. What the given program
        computes of them is right.
    tolerance: x max(1, |expected|), for floats; 0.0 asks for the same values. NaN equals NaN.

    What is noted wrong, or malformed, before a pass is not the pass's fault.
    """
    expected = _run(program, inputs)
    known = expected.wrong
    right: list[str] = []
    for name, transform in passes:
        after = _copy(program)
        try:
            after = _apply(transform, after)
        except Exception as error:
            return Verification(tuple(right), program, Fault(name, "error", "", _text(error)))
        fault = _malformed(name, after)
        if fault is None:
            try:
                run = _run(after, inputs)
            except Exception as error:
                return Verification(tuple(right), program, Fault(name, "error", "", _text(error)))
            fault = _compare(name, expected, run, known, tolerance)
            known = run.wrong
        if fault is not None:
            return Verification(tuple(right), program, fault)
        right.append(name)
        program = after
    return Verification(tuple(right), program, None)


def _copy(program: ExportedProgram) -> ExportedProgram:
    """With a graph and a signature of its own; the state is shared."""
    signature = copy.deepcopy(program.graph_signature)
    return program._update(copy.deepcopy(program.graph_module), signature)


def _apply(transform: Transform, program: ExportedProgram) -> ExportedProgram:
    if isinstance(transform, Pass):
        transform(program.graph_module)
        return program
    return transform(program) or program


def _malformed(name: str, program: ExportedProgram) -> Fault | None:
    try:
        for module in graph_modules(program.graph_module):
            module.graph.lint()
        program.validate()
    except Exception as error:
        return Fault(name, "graph", "", _text(error))
    return None


def _text(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


# ---------------------------------------------------------------- running


@dataclasses.dataclass
class _Run:
    """seen: of each call the outputs, and the inputs as it left them; then the buffers.
    labels: what each of them is. wrong: node -> what is noted wrong of it.
    """

    labels: list[str] = dataclasses.field(default_factory=list)
    seen: list[Any] = dataclasses.field(default_factory=list)
    buffers: dict[str, Any] = dataclasses.field(default_factory=dict)
    written: set[str] = dataclasses.field(default_factory=set)
    wrong: dict[str, str] = dataclasses.field(default_factory=dict)

    def see(self, label: str, value: Any) -> None:
        self.labels.append(label)
        self.seen.append(value.clone() if isinstance(value, torch.Tensor) else value)


class _Observer(fx.Interpreter):
    """Compares each value with what is noted of its node."""

    def __init__(self, module: fx.GraphModule, wrong: dict[str, str]) -> None:
        super().__init__(module)
        self.wrong = wrong

    def run_node(self, n: fx.Node) -> Any:
        value = super().run_node(n)
        if n.op in ("placeholder", "call_function") and "val" in n.meta:
            noted, found = pytree.tree_leaves(n.meta["val"]), pytree.tree_leaves(value)
            texts = [_mismatch(*pair) for pair in zip(noted, found)]
            if len(noted) != len(found):
                texts = [f"{len(noted)} values are noted, and there are {len(found)}"]
            if text := next(filter(None, texts), ""):
                self.wrong.setdefault(n.name, text)
        return value


def _mismatch(noted: Any, value: Any) -> str:
    if not isinstance(noted, torch.Tensor) or not isinstance(value, torch.Tensor):
        return ""
    if noted.dtype != value.dtype:
        return f"{noted.dtype} is noted, and it is {value.dtype}"
    shape = tuple(noted.shape)
    if len(shape) != value.dim() or _differ(shape, tuple(value.shape)):
        return f"shape {list(shape)} is noted, and it is {list(value.shape)}"
    if value.layout is not torch.strided or value.numel() == 0:
        return ""
    # The stride of a dimension of one element is nobody's.
    kept = [d for d, size in enumerate(value.shape) if size > 1]
    strides = [noted.stride()[d] for d in kept], [value.stride()[d] for d in kept]
    if _differ(*strides):
        return f"strides {list(noted.stride())} are noted, and they are {list(value.stride())}"
    return ""


def _differ(noted: Sequence[Any], found: Sequence[int]) -> bool:
    """Symbolic sizes are whatever they are."""
    return any(isinstance(n, int) and n != f for n, f in zip(noted, found, strict=True))


@torch.no_grad()
def _run(program: ExportedProgram, inputs: Sequence[tuple[Any, ...]]) -> _Run:
    run = _Run()
    signature = program.graph_signature
    original = {**program.state_dict, **program.constants}
    state = copy.deepcopy(original)
    observer = _Observer(program.graph_module, run.wrong)
    for call, given in enumerate(copy.deepcopy(list(inputs))):
        torch.manual_seed(call)
        users = list(program._get_flat_args_with_check(given, {})[0])
        names = [spec.arg.name for spec in signature.input_specs if _is_user_input(spec)]
        rest = iter(users)
        operands = [
            next(rest) if _is_user_input(spec) else state[spec.target]
            for spec in signature.input_specs
        ]
        outputs = observer.run(*operands, enable_io_processing=False)
        for spec, value in zip(signature.output_specs, outputs, strict=True):
            if spec.kind is OutputKind.USER_OUTPUT:
                run.see(f"call {call}, output", value)
            elif spec.kind is OutputKind.BUFFER_MUTATION:
                state[spec.target] = value.clone()
            elif spec.kind is OutputKind.USER_INPUT_MUTATION:
                users[names.index(spec.target)] = value
        for name, value in zip(names, users, strict=True):
            run.see(f"call {call}, input '{name}' afterwards", value)
    for name in signature.buffers:
        run.buffers[name] = state[name]
        if not torch.equal(state[name], original[name]):
            run.written.add(name)
    return run


def _is_user_input(spec: Any) -> bool:
    return spec.kind is InputKind.USER_INPUT


# ---------------------------------------------------------------- comparing


def _compare(
    name: str, expected: _Run, run: _Run, known: dict[str, str], tolerance: float
) -> Fault | None:
    outputs = [label for label in expected.labels if label.endswith("output")]
    if outputs != [label for label in run.labels if label.endswith("output")]:
        text = f"{len(run.seen)} values come of the calls, and of eager's {len(expected.seen)}"
        return Fault(name, "numbers", "", text)
    for label, right, found in zip(expected.labels, expected.seen, run.seen, strict=True):
        if text := difference([right], [found], tolerance, layouts=True):
            return Fault(name, "numbers", label, text.removeprefix("output 0: "))
    for buffer in sorted(expected.written | run.written):
        where = f"buffer '{buffer}'"
        if buffer not in run.buffers or buffer not in expected.buffers:
            return Fault(name, "numbers", where, "it is written in one of the programs only")
        pair = expected.buffers[buffer], run.buffers[buffer]
        if text := difference([pair[0]], [pair[1]], tolerance):
            return Fault(name, "numbers", where, text.removeprefix("output 0: "))
    for node, text in run.wrong.items():
        if known.get(node) != text:
            return Fault(name, "metadata", node, text)
    return None
