"""`lower`: from a module to the bytes of a program, with a report of every operator."""

import dataclasses
import difflib
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy as shallow_copy
from pathlib import Path
from typing import Any

import torch
from executorch.exir import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge_transform_and_lower,
)
from executorch.exir.lowered_backend_module import LoweredBackendModule
from executorch.exir.passes import MemoryPlanningPass, ToOutVarPass
from torch import fx
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from backend_common import backend as registry
from backend_common import decompositions, wrong_kernels
from backend_common.backend import Backend
from backend_common.complex_numbers import write_complex_out
from backend_common.diagnostics import Diagnostics, Rejection, source_line
from backend_common.dim_orders import copies_in_named_orders, settle_dim_orders
from backend_common.emission_causes import causes
from backend_common.emission_gaps import emission_gaps_filled
from backend_common.errors import LoweringError, WithdrawalError
from backend_common.exported import prepare
from backend_common.keep_branches_apart import keep_branches_apart
from backend_common.kernels import registered_kernels
from backend_common.methods import Model, export_methods
from backend_common.mutations import settle_mutations
from backend_common.operators import operator_name
from backend_common.options import EXTERNAL_WEIGHTS as EXTERNAL_WEIGHTS
from backend_common.options import option_error
from backend_common.report import Row
from backend_common.shared_state import share_state
from backend_common.sizes import input_bounds, refuse_narrowed, settle_sizes
from backend_common.stages import stage
from backend_common.strange_dtypes import strange_dtypes
from backend_common.trace_once import trace_once
from backend_common.typed_numbers import typed_numbers

# A page: a delegate's data can then be used, and given back, in place.
SEGMENT_ALIGNMENT = 4096

PORTABLE = "portable"
_LEAVE = re.compile(r"(?:, or )?leave it to the portable kernels with keep=\[[^]]*\]")
_EXTERNAL_FILE = "_default_external_constant"  # ExecuTorch's name of it

Progress = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Lowered:
    """A lowered program.

    buffer: the `.pte`.
    data: the `.ptd`, or None when every weight is in the `.pte`.
    report: a row for each operator of each method.
    """

    buffer: bytes
    report: tuple[Row, ...]
    data: bytes | None = None

    def save(self, path: str | Path) -> None:
        """Write the `.pte`, and beside it, where weights stay outside, the `.ptd`."""
        path = Path(path)
        path.write_bytes(self.buffer)
        if self.data is not None:
            path.with_suffix(".ptd").write_bytes(self.data)


def lower(
    model: Model,
    example_inputs: Sequence[Any] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    backend: str,
    dynamic_shapes: Any = None,
    options: Mapping[str, object] | None = None,
    keep: Collection[str] = (),
    strict: bool = False,
    progress: Progress | None = None,
) -> Lowered:
    """Lower a model to one backend; what the backend leaves runs on the portable kernels.

    model: a torch.nn.Module, an ExportedProgram, or {method name: Method}.
    example_inputs, kwargs, dynamic_shapes: for a module, as torch.export.export takes them.
    backend: the name of an installed backend, such as `openvino` or `portable`.
    options: the backend's own, and `external_weights`: True puts all weights into
        `Lowered.data`, to be loaded beside the program.
    keep: operators, such as `aten.relu.default`, that are not to be delegated.
    strict: torch.export's strict mode.
    progress: called with the name of each stage before it starts.

    Raises LoweringError; its rows name every cause.
    """
    if isinstance(keep, str):
        raise TypeError(f"lower: keep is the text {keep!r}; pass a list of operators, [{keep!r}]")
    if not all(isinstance(name, str) for name in keep):
        raise TypeError(f"lower: keep is {list(keep)}; it can hold names of operators only")
    if not isinstance(options or {}, Mapping):
        raise TypeError(f"lower: options is a {type(options).__name__}; pass a dict, by name")
    say = progress or (lambda text: None)
    chosen = registry.find(backend)
    with warnings.catch_warnings(), torch.no_grad():
        _silence_notes_about_libraries()
        return _lower(
            *(model, example_inputs, kwargs, chosen, dynamic_shapes),
            *(dict(options or {}), frozenset(keep), strict, say),
        )


def _silence_notes_about_libraries() -> None:
    """Deprecations inside torch, and warnings about what this module takes care of."""
    warnings.filterwarnings("ignore", category=FutureWarning, module="copyreg")
    warnings.filterwarnings("ignore", message="Mutation on a buffer in the model is detected")


def _lower(
    model: Model,
    example_inputs: Sequence[Any] | None,
    kwargs: Mapping[str, Any] | None,
    chosen: Backend,
    dynamic_shapes: Any,
    options: dict[str, object],
    keep: frozenset[str],
    strict: bool,
    say: Progress,
) -> Lowered:
    external_weights = options.pop(EXTERNAL_WEIGHTS, False)
    if not isinstance(external_weights, bool):
        raise option_error(
            chosen.name,
            EXTERNAL_WEIGHTS,
            f"option '{EXTERNAL_WEIGHTS}' is {external_weights!r}; it can be True or False",
        )
    checked_options = chosen.parse_options(options)
    say("export")
    exported = export_methods(model, example_inputs, kwargs, dynamic_shapes, strict)
    for name, program in exported.items():
        settle_sizes(program)
        prepare(name, program)
    shares = len(exported) > 1 and share_state(exported)
    exported = {name: write_complex_out(name, program) for name, program in exported.items()}
    sizes = {name: input_bounds(program) for name, program in exported.items()}
    programs: Mapping[str, ExportedProgram] = exported
    decomposed: set[wrong_kernels.Operator] = set()
    withdrawn: dict[str, dict[str, Rejection]] = {name: {} for name in programs}
    seen: set[str] = set()
    while True:
        for transform in chosen.passes(checked_options):
            programs = {
                name: _transform(transform, name, program) for name, program in programs.items()
            }
        say(f"lower to {chosen.name}")
        diagnostics = {name: Diagnostics(withdrawn[name]) for name in programs}
        try:
            edge = _to_edge(chosen, checked_options, keep, programs, diagnostics)
            chosen.try_delegates(
                checked_options,
                {name: edge.exported_program(name) for name in programs},
                {name: exported[name].example_inputs for name in programs},
            )
        except WithdrawalError as withdrawal:
            if not _withdraw(withdrawal, withdrawn):
                raise
            continue
        rows = [row for name in programs for row in _rows(edge, name, chosen, diagnostics[name])]
        seen |= {row.operator for row in rows}
        # What the backend left, and no kernel computes as eager does, is written with other
        # operators. Rare, and not known before: a backend's choice may depend on anything.
        needed = set[wrong_kernels.Operator]().union(
            *(_needed_decompositions(edge.exported_program(name)) for name in programs)
        )
        if needed <= decomposed:
            break
        decomposed |= needed
        withdrawn = {name: {} for name in programs}  # the nodes will be others
        programs = {
            name: _decompose(name, program, decomposed) for name, program in exported.items()
        }
    for name in programs:
        refuse_narrowed(name, sizes[name], edge.exported_program(name))
    _refuse_unknown(keep, seen)
    strange = [
        row for name in programs for row in strange_dtypes(name, edge.exported_program(name))
    ]
    if strange:
        noun = "operator has" if len(strange) == 1 else "operators have"
        raise LoweringError(f"{len(strange)} {noun} no kernel for a dtype:", strange)
    say("emit the program")
    executorch = _to_executorch(edge, external_weights, shares)
    _check_kernels(executorch, rows)
    with stage("serialize the program"):
        buffer = bytes(executorch.buffer)
        return Lowered(buffer, tuple(rows), _only_data_file(executorch))


def _refuse_unknown(keep: Collection[str], there: Collection[str]) -> None:
    """LoweringError where a name in `keep` is no operator that a backend could have taken."""
    rows = []
    for name in keep:
        operator = name.replace("::", ".")
        if any(each == operator or each.startswith(operator + ".") for each in there):
            continue
        known = sorted(there)
        close = difflib.get_close_matches(operator, known, n=3) or known
        remedy = f"there {'is' if len(close) == 1 else 'are'} {', '.join(close)}"
        reason = "`keep` names it, and the program has no such operator"
        rows.append(Row("", name, name, "", False, "", reason, remedy if close else ""))
    if rows:
        noun = "name" if len(rows) == 1 else "names"
        raise LoweringError(f"{len(rows)} {noun} in `keep` that no operator has:", rows)


def _withdraw(withdrawal: WithdrawalError, withdrawn: dict[str, dict[str, Rejection]]) -> bool:
    """Adds the nodes that a backend gave back; False when there is none that is new."""
    new = [row for row in withdrawal.rows if row.node not in withdrawn[row.method]]
    for row in new:
        withdrawn[row.method][row.node] = Rejection(row.reason, row.remedy)
    return bool(new)


def _only_data_file(executorch: ExecutorchProgramManager) -> bytes | None:
    files = dict(executorch._tensor_data or {})
    if len(files) > 1:
        names = ", ".join(sorted(files))
        raise ValueError(f"the program's weights are in {len(files)} files ({names}), not in one")
    return bytes(next(iter(files.values()))) if files else None


def _needed_decompositions(program: ExportedProgram) -> set[wrong_kernels.Operator]:
    return decompositions.needed(program, registered_kernels())


def _decompose(
    name: str, program: ExportedProgram, operators: Collection[wrong_kernels.Operator]
) -> ExportedProgram:
    with stage("decomposition", name), torch.no_grad():
        return decompositions.decompose(program, operators)


def _transform(
    transform: Callable[[ExportedProgram], ExportedProgram], name: str, program: ExportedProgram
) -> ExportedProgram:
    with stage(type(transform).__name__, name):
        return transform(program)


def _to_edge(
    chosen: Backend,
    options: Mapping[str, object],
    keep: frozenset[str],
    programs: Mapping[str, ExportedProgram],
    diagnostics: Mapping[str, Diagnostics],
) -> EdgeProgramManager:
    partitioners = {
        name: chosen.partitioners(options, keep=keep, method=name, diagnostics=diagnostics[name])
        for name in programs
    }
    programs = {name: _with_own_constants(program) for name, program in programs.items()}
    for name, program in programs.items():
        trace_once(program, partitioners[name])
    # Kernels are checked by name after emission, against those that are really there.
    config = chosen.edge_compile_config(options) or EdgeCompileConfig(_check_ir_validity=False)
    with (
        stage(f"lowering to {chosen.name}"),
        torch.no_grad(),
        typed_numbers(),
        copies_in_named_orders(),
    ):
        edge = to_edge_transform_and_lower(
            dict(programs), partitioner=partitioners, compile_config=config
        )
    for name, program in edge._edge_programs.items():
        _flatten_signature(program)
        _keep_initial_values(program)
        settle_dim_orders(program.graph_module)
        for copy in settle_mutations(program):
            diagnostics[name].reject(copy, "it keeps a value that is written over")
    return edge


def _with_own_constants(program: ExportedProgram) -> ExportedProgram:
    """ExecuTorch takes the constants that go into delegates out of the program that it is given."""
    own = shallow_copy(program)
    own._constants = dict(program.constants)
    own._state_dict = dict(program.state_dict)
    return own


def _flatten_signature(program: ExportedProgram) -> None:
    """Given: outputs in any container, such as torch.return_types.topk
    Result: one flat tuple, which every container's emission can name

    Programs take and return flat lists; a container's type would be text that no one reads,
    and many have no serialized name.
    """
    for entry in program.module_call_graph:
        signature = entry.signature
        if signature is None:
            continue
        inputs = [0] * signature.in_spec.num_leaves
        outputs = [0] * signature.out_spec.num_leaves
        signature.in_spec = pytree.tree_structure((tuple(inputs), {}))
        signature.out_spec = pytree.tree_structure(tuple(outputs))


def _keep_initial_values(program: ExportedProgram) -> None:
    """Mutated buffers are memory; ask the emitter to store what they start with."""
    mutated = set(program.graph_signature.buffers_to_mutate.values())
    buffers = program.graph_signature.inputs_to_buffers
    for node in program.graph.nodes:
        if node.op == "placeholder" and buffers.get(node.name) in mutated:
            node.meta["et_init_buffer"] = True


def _to_executorch(
    edge: EdgeProgramManager, external_weights: bool, shares_state: bool
) -> ExecutorchProgramManager:
    config = ExecutorchBackendConfig(
        # Names in a fixed form: an operator without an out variant is reported with the others.
        to_out_var_pass=ToOutVarPass(ignore_to_out_var_failure=True),
        memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=shares_state),
        segment_alignment=SEGMENT_ALIGNMENT,
        extract_delegate_segments=True,
        external_constants=external_weights,
    )
    if external_weights:
        _move_outside(edge)
    for name in edge.methods:
        keep_branches_apart(edge.exported_program(name).graph_module)
    with stage("emitting the program"), emission_gaps_filled():
        try:
            return edge.to_executorch(config)
        except Exception as error:
            rows = [
                row for name in edge.methods for row in causes(name, edge.exported_program(name))
            ]
            if not rows:
                raise
            operators = len({row.operator for row in rows})
            noun = "operator has" if operators == 1 else "operators have"
            raise LoweringError(f"{operators} {noun} no place in a program:", rows) from error


def _move_outside(edge: EdgeProgramManager) -> None:
    """The delegates' named data goes where ExecuTorch puts the constants of its own kernels."""
    store = edge._named_data_store
    outside = store.external_data.setdefault(_EXTERNAL_FILE, {})
    outside.update(store.pte_data)
    store.pte_data.clear()


def _rows(
    edge: EdgeProgramManager, method: str, chosen: Backend, diagnostics: Diagnostics
) -> Iterator[Row]:
    """A row for each operator, in the graph's order; a delegate's operators at its place."""

    def row(node: fx.Node, delegated: bool) -> Row:
        rejection = diagnostics.of(node)
        return Row(
            method=method,
            operator=operator_name(node),
            node=node.name,
            source=source_line(node),
            delegated=delegated,
            backend=chosen.name if delegated else PORTABLE,
            reason="" if delegated else rejection.reason,
            remedy="" if delegated else rejection.remedy,
        )

    def walk(module: fx.GraphModule) -> Iterator[Row]:
        for node in module.graph.nodes:
            if node.op == "get_attr":
                inner = getattr(module, str(node.target), None)
                if isinstance(inner, fx.GraphModule):
                    yield from walk(inner)
                elif isinstance(inner, LoweredBackendModule):
                    for own in inner.original_module.graph.nodes:
                        if own.op == "call_function" and operator_name(own):
                            yield row(own, delegated=True)
            elif node.op == "call_function" and operator_name(node):
                yield row(node, delegated=False)

    yield from walk(edge.exported_program(method).graph_module)


def _remedy_without_kernels(remedy: str, otherwise: str) -> str:
    """A row's remedy, but for leaving the operator to kernels that are not there."""
    rest = _LEAVE.sub("", remedy)
    return f"{rest}, or {otherwise}" if rest and rest != remedy else rest or otherwise


def _check_kernels(executorch: ExecutorchProgramManager, rows: Sequence[Row]) -> None:
    """Every operator that the program calls has a kernel, or LoweringError names those without.

    Checked on the emitted names against the kernels that the runtime's libraries register,
    so that nothing fails at load with OperatorMissing.
    """
    there = registered_kernels()
    missing: list[Row] = []
    for plan in executorch.executorch_program.execution_plan:
        for operator in plan.operators:
            name = operator.name + (f".{operator.overload}" if operator.overload else "")
            if name in there:
                continue
            base = operator.name.replace("::", ".")
            users = [
                row
                for row in rows
                if row.method == plan.name
                and not row.delegated
                and (row.operator == base or row.operator.startswith(base + "."))
            ]
            reason = f"no registered kernel is called {name}"
            remedy = "register a kernel, or write it with operators that have one"
            if not users:
                users = [Row(plan.name, base, "", "", False, PORTABLE, "", "")]
            missing += [
                dataclasses.replace(
                    user,
                    reason=f"{reason}; {user.reason}" if user.reason else reason,
                    remedy=_remedy_without_kernels(user.remedy, remedy),
                )
                for user in users
            ]
    if missing:
        operators = len({row.operator for row in missing})
        noun = "operator has" if operators == 1 else "operators have"
        raise LoweringError(f"{operators} {noun} no kernel:", missing)
