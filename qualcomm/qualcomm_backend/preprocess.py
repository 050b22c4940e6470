"""Partitions as the bytes that the delegate loads: a QNN context binary each."""

from collections import defaultdict
from itertools import pairwise
from typing import Any, final

from backend_common.diagnostics import source_line
from backend_common.errors import WithdrawalError
from backend_common.report import Row
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.export import ExportedProgram

from qualcomm_backend import layout, operators, part, stock
from qualcomm_backend.interface import lay_out_interface
from qualcomm_backend.part import Part
from qualcomm_backend.shorten_moves import shorten_moves
from qualcomm_backend.spell_out import recompose_linear, spell_out
from qualcomm_backend.stock import QnnError
from qualcomm_backend.tensor_encodings import note_encodings

GRAPH = "forward"

# No operators of the user's.
_CODING = operators.QUANTIZES | operators.DEQUANTIZES | {""}


@final
class QnnBackend(BackendDetails):
    """The class's name is the backend's id in every program."""

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        return _preprocess("", edge_program, compile_specs)

    @classmethod
    def preprocess_multimethod(
        cls,
        edge_programs: dict[str, list[ExportedProgram]],
        compile_specs: dict[str, list[list[CompileSpec]]],
    ) -> dict[str, list[PreprocessResult]]:
        return {
            method: [
                _preprocess(method, program, specs)
                for program, specs in zip(programs, compile_specs[method], strict=True)
            ]
            for method, programs in edge_programs.items()
        }


def _preprocess(
    method: str, program: ExportedProgram, compile_specs: list[CompileSpec]
) -> PreprocessResult:
    options = bytes(compile_specs[0].value)
    # As in the partitioner: under a fake mode the constants would have no values.
    with unset_fake_temporarily():
        try:
            return PreprocessResult(compile_part(part.whole(program), options))
        except QnnError as error:
            raise _withdrawal(method, program, options, error) from error


def compile_part(whole: Part, options: bytes) -> bytes:
    """The context binary. QnnError when QNN, or a builder, cannot."""
    described = describe(whole)
    with stock.context(options, [GRAPH]) as manager:
        binary = bytes(manager.Compile([GRAPH], [[each.GetOpWrapper() for each in described]]))
        if not binary:
            raise QnnError("QNN does not compile it")
    return binary


def objection(whole: Part, options: bytes) -> str | None:
    """Why QNN does not take an operator of the part, or None."""
    try:
        described = describe(whole)
        with stock.context(options, [GRAPH]) as manager:
            for each in described:
                if not manager.IsNodeSupportedByBackend([each.GetOpWrapper()]):
                    return "QNN does not take it for this chip"
    except QnnError as error:
        return str(error)
    return None


def describe(whole: Part) -> list[Any]:
    """The part's operators as QNN's, in order; the part is rewritten for that. QnnError."""
    part.quantize_inputs(whole)
    lay_out_interface(whole)
    recompose_linear(whole)
    note_encodings(whole)
    part.fold_constants(whole)
    spell_out(whole)
    shorten_moves(whole)
    layout.put_channels_last(whole)
    known = stock.builders(whole)
    tensors: dict[str, dict[int, Any]] = defaultdict(dict)
    described: list[Any] = []
    for node in whole.graph.nodes:
        if node.op != "call_function":
            continue
        name = operators.name_of(node)
        if name not in known:
            raise QnnError(f"there is no builder for {name}")
        try:
            made = known[name].define_node(node, tensors)
        except Exception as error:  # builders assert, index and look up; all of it is a refusal
            raise QnnError(f"its builder fails: {type(error).__name__}: {error}") from error
        described += made if isinstance(made, list) else [made] if made is not None else []
    _check_interface(whole, tensors)
    return described


def _check_interface(whole: Part, tensors: dict[str, dict[int, Any]]) -> None:
    """The delegate binds inputs by their number and outputs by their order in the graph.

    Nothing compares either with the program's; an input that no operator reads has no tensor.
    """
    signature = whole.graph_signature
    unread = [name for name in signature.user_inputs if name not in tensors]
    if unread:
        raise QnnError(f"no operator reads the input {unread[0]}")
    order = {node: index for index, node in enumerate(whole.graph.nodes)}
    places = [order[node] for node in whole.results]
    if any(place >= after for place, after in pairwise(places)):
        raise QnnError("its results are not in the order in which they are computed")


def _withdrawal(
    method: str, program: ExportedProgram, options: bytes, error: QnnError
) -> WithdrawalError:
    """The operators that cannot be compiled alone; all of them, when each can."""
    nodes = [
        node
        for node in program.graph.nodes
        if operators.name_of(node) not in _CODING and not part.is_constant(program, node)
    ]
    guilty = {
        node: reason
        for node in nodes
        if operators.name_of(node) != "getitem" and (reason := _alone(program, node, options))
    }
    blamed = guilty or dict.fromkeys(nodes, str(error))
    rows = [
        Row(
            *(method, operators.name_of(node), node.name, source_line(node), False, "qualcomm"),
            reason=reason,
            remedy="",
        )
        for node, reason in blamed.items()
    ]
    noun = "operator" if len(rows) == 1 else "operators"
    return WithdrawalError(f"QNN cannot compile {len(rows)} {noun}:", rows)


def _alone(program: ExportedProgram, node: fx.Node, options: bytes) -> str:
    """Why a node cannot be compiled alone; "" when it can."""
    try:
        compile_part(part.alone(program, node), options)
    except QnnError as error:
        return str(error)
    return ""
