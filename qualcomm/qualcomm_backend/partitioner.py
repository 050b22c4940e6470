"""Which parts of a program QNN computes."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import final

from backend_common.diagnostics import Rejection
from backend_common.partitioning import (
    NONE_WITHDRAWN,
    AllBut,
    Kept,
    Reject,
    ignore,
    leave_constants_that_are_returned,
    refuse_a_second_backend,
)
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.export import ExportedProgram
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner

from qualcomm_backend import operators, part, preprocess, support
from qualcomm_backend.options import Options

_MOVING = operators.MOVES | operators.QUANTIZES | operators.DEQUANTIZES


def _read_by_jumps(program: ExportedProgram, left: Container[fx.Node]) -> list[fx.Node]:
    """
    Given:  y = floor(div(x, z))      with inputs x and z, and a floor that stays
    Result: div, since in 16 bits it would put another number under the floor

    Not where the numbers are of 16 bits already: behind a convolution nothing is won.
    """
    if part.is_quantized(program):
        return []
    cheap = operators.CHEAP | operators.MOVES
    exact: set[fx.Node] = set()
    found: dict[fx.Node, None] = {}

    def note(node: fx.Node) -> None:
        if node in exact and node not in left and operators.name_of(node) and node not in found:
            found[node] = None
            for operand in node.all_input_nodes:
                note(operand)

    for node in program.graph.nodes:
        computed = operators.name_of(node)
        keeps = not computed or node in left or computed in cheap
        if keeps and all(operand in exact for operand in node.all_input_nodes):
            exact.add(node)
        if node in left and operators.jumps(node):
            for operand in node.all_input_nodes:
                note(operand)
    return list(found)


def _keep_integers_inside(program: ExportedProgram, partitions: Sequence[list[fx.Node]]) -> None:
    """
    Given:  q = quantize(x); y = dequantize(q)      with q in one partition and y in another
    Result: both in the first; the second reads y, and finds noted how it was quantized

    PyTorch's integers are not QNN's: of 16 bits they are int32.
    """
    home = {node: nodes for nodes in partitions for node in nodes}
    for node in program.graph.nodes:
        if operators.name_of(node) not in operators.DEQUANTIZES:
            continue
        source = node.args[0]
        if operators.name_of(source) not in operators.QUANTIZES:
            continue
        part.note_quantization(node)
        if home.get(node) is home.get(source):
            continue
        if node in home:
            home[node].remove(node)
        if source in home:
            home[source].append(node)


def _moves_what_is_computed(node: fx.Node) -> bool:
    return operators.name_of(node) in operators.MOVES and any(
        operators.name_of(operand) not in ("", *operators.DEQUANTIZES)
        for operand in node.all_input_nodes
    )


@final
class QualcommPartitioner(Partitioner):
    """Tags what QNN computes as PyTorch does; the rest stays for other kernels.

    keep: operators that are not to be taken. withdrawn: nodes that could not be compiled.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        keep: frozenset[str] = frozenset(),
        withdrawn: Mapping[str, Rejection] = NONE_WITHDRAWN,
        reject: Reject = ignore,
    ) -> None:
        super().__init__()
        self._options = options or Options()
        self._keep = Kept(keep)
        self._withdrawn = withdrawn
        self._reject = reject
        specs = self._options.compile_specs()
        self._compile_spec = bytes(specs[0].value)
        self._specification = DelegationSpec(preprocess.QnnBackend.__name__, specs)

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        refuse_a_second_backend(preprocess.QnnBackend.__name__, preprocess.__name__)
        tags: dict[str, DelegationSpec] = {}
        # ExecuTorch calls this under a fake mode, in which a constant's values are not there.
        with unset_fake_temporarily():
            partitions = self._partitions(exported_program)
        for nodes in partitions:
            tag = f"qualcomm_{len(tags)}"
            tags[tag] = self._specification
            for node in nodes:
                node.meta["delegation_tag"] = tag
        tag_constant_data(exported_program)
        leave_constants_that_are_returned(exported_program)
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)

    def _partitions(self, program: ExportedProgram) -> list[list[fx.Node]]:
        objections = self._objections(program)
        for node in _read_by_jumps(program, objections):
            objections[node] = "what reads it jumps where 16 bits round"
            self._reject(node, objections[node], "")
        order = {node: index for index, node in enumerate(program.graph.nodes)}
        while True:
            proposed = CapabilityBasedPartitioner(
                program.graph_module, AllBut(objections), allows_single_node_partition=True
            ).propose_partitions()
            partitions = [sorted(each.nodes, key=order.__getitem__) for each in proposed]
            shared = dict(self._constants_for_others(program, partitions))
            if not shared:
                break
            objections |= shared
        _keep_integers_inside(program, partitions)
        for nodes in partitions:
            nodes.sort(key=order.__getitem__)
        return sorted(
            (nodes for nodes in partitions if nodes and self._worth_it(nodes)),
            key=lambda nodes: order[nodes[0]],
        )

    def _constants_for_others(
        self, program: ExportedProgram, partitions: Sequence[Sequence[fx.Node]]
    ) -> Iterator[tuple[fx.Node, str]]:
        """Constants whose elements are moved in a partition for someone outside of it.

        QNN hands out what it computes. Who reads them inside would get no constant, and stays too.
        """
        reason = "a constant that it moves is read by others"
        for nodes in partitions:
            inside = set(nodes)
            for node in nodes:
                others = any(user not in inside for user in node.users)
                if others and operators.name_of(node) and part.is_constant(program, node):
                    for each in (node, *inside.intersection(node.users)):
                        self._reject(each, reason, "")
                        yield each, reason

    def _worth_it(self, nodes: Sequence[fx.Node]) -> bool:
        if all(operators.name_of(node) in _MOVING for node in nodes):
            for node in nodes:
                self._reject(node, "it only moves data, which QNN does no faster", "")
            return False
        return True

    def _report_bodies(self, program: ExportedProgram) -> None:
        for module in program.graph_module.modules():
            if isinstance(module, fx.GraphModule) and module is not program.graph_module:
                for node in module.graph.nodes:
                    if operators.name_of(node):
                        reason = "it is in the body of a control-flow operator"
                        self._reject(node, reason, "")

    def _objections(self, program: ExportedProgram) -> dict[fx.Node, str]:
        """The nodes that stay, each with its reason, which is reported."""
        self._report_bodies(program)
        found: dict[fx.Node, str] = {}
        for node in program.graph.nodes:
            name = operators.name_of(node)
            if not name or node.meta.get("delegation_tag") is not None:
                continue
            source = node.args[0] if name == "getitem" else None
            if isinstance(source, fx.Node):
                if source in found:
                    found[node] = found[source]
            elif refusal := self._refusal(program, node) or self._trial(program, node):
                found[node] = refusal.reason
                self._reject(node, refusal.reason, refusal.remedy)
        return found

    def _refusal(self, program: ExportedProgram, node: fx.Node) -> Rejection | None:
        """Why a node stays, by what is known of it."""
        if operators.name_of(node) in self._keep:
            return Rejection("it is in `keep`", "take it out of `keep`")
        if (given_back := self._withdrawn.get(node.name)) is not None:
            return given_back
        reason = support.objection(program, node)
        return None if reason is None else Rejection(reason, "")

    def _trial(self, program: ExportedProgram, node: fx.Node) -> Rejection | None:
        """Why a builder, or QNN, does not take the node alone."""
        if operators.name_of(node) in _MOVING - operators.MOVES or part.is_constant(program, node):
            return None
        if part.is_quantized(program) and _moves_what_is_computed(node):
            return None  # alone it would move floats; in a partition it takes its maker's encoding
        reason = preprocess.objection(part.alone(program, node), self._compile_spec)
        return None if reason is None else Rejection(reason, "")
