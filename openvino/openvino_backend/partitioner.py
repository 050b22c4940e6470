"""Which parts of a program OpenVINO computes."""

from collections.abc import Mapping, Sequence
from typing import final

from backend_common import subgraph
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

from openvino_backend import operators, preprocess, support
from openvino_backend.conversion import ConversionError
from openvino_backend.options import Options
from openvino_backend.ranges import Ranges


@final
class OpenvinoPartitioner(Partitioner):
    """Tags what OpenVINO computes as PyTorch does; the rest stays for other kernels.

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
        self._specification = DelegationSpec(
            preprocess.OpenvinoBackend.__name__, self._options.compile_specs()
        )

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        refuse_a_second_backend(preprocess.OpenvinoBackend.__name__, preprocess.__name__)
        tags: dict[str, DelegationSpec] = {}
        # ExecuTorch calls this under a fake mode, in which a constant's values are not there.
        with unset_fake_temporarily():
            partitions = self._partitions(exported_program)
        for nodes in partitions:
            tag = f"openvino_{len(tags)}"
            tags[tag] = self._specification
            for node in nodes:
                node.meta["delegation_tag"] = tag
        tag_constant_data(exported_program)
        leave_constants_that_are_returned(exported_program)
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)

    def _partitions(self, program: ExportedProgram) -> list[list[fx.Node]]:
        supported = AllBut(self._objections(program))
        proposed = CapabilityBasedPartitioner(
            program.graph_module, supported, allows_single_node_partition=True
        ).propose_partitions()
        order = {node: index for index, node in enumerate(program.graph.nodes)}
        partitions: list[list[fx.Node]] = []
        for partition in proposed:
            nodes = sorted(partition.nodes, key=order.__getitem__)
            partitions += self._convertible(program, nodes)
        return sorted(partitions, key=lambda nodes: order[nodes[0]])

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
        ranges = Ranges(program)
        found: dict[fx.Node, str] = {}
        for node in program.graph.nodes:
            name = operators.name_of(node)
            if not name or node.meta.get("delegation_tag") is not None:
                continue
            if name in self._keep:
                found[node] = "it is in `keep`"
                self._reject(node, found[node], "take it out of `keep`")
                continue
            if (given_back := self._withdrawn.get(node.name)) is not None:
                found[node] = given_back.reason
                self._reject(node, given_back.reason, given_back.remedy)
                continue
            source = node.args[0] if name == "getitem" else None
            if isinstance(source, fx.Node):
                reason = found.get(source)
            else:
                reason = support.objection(node, ranges)
            if reason is not None:
                found[node] = reason
                if source is None:
                    self._reject(node, reason, "")
        return found

    def _convertible(
        self, program: ExportedProgram, nodes: Sequence[fx.Node]
    ) -> list[list[fx.Node]]:
        """The nodes as one partition, or in parts where OpenVINO cannot convert the whole."""
        if all(operators.name_of(node) in _MOVING for node in nodes):
            for node in nodes:
                self._reject(node, "it only moves data, which OpenVINO does no faster", "")
            return []
        try:
            self._try(program, nodes)
            return [list(nodes)]
        except ConversionError as error:
            parts = _halves(nodes)
            if len(parts) == 1:
                self._reject(nodes[0], f"OpenVINO cannot convert it: {error}", "")
                return []
            return [part for half in parts for part in self._convertible(program, half)]

    def _try(self, program: ExportedProgram, nodes: Sequence[fx.Node]) -> None:
        module = subgraph.extract(
            program, nodes, subgraph.inputs_of(program, nodes), subgraph.results_of(nodes)
        )
        preprocess.to_model(module, self._options)


_MOVING = operators.MOVES | operators.CASTS


def _halves(nodes: Sequence[fx.Node]) -> list[Sequence[fx.Node]]:
    """Two parts in topological order; a node and the items taken from it stay together."""
    groups: list[list[fx.Node]] = []
    home: dict[fx.Node, list[fx.Node]] = {}
    for node in nodes:
        source = node.args[0] if operators.name_of(node) == "getitem" else None
        if isinstance(source, fx.Node) and source in home:
            home[source].append(node)
        else:
            home[node] = [node]
            groups.append(home[node])
    if len(groups) == 1:
        return [nodes]
    middle = len(groups) // 2
    return [[n for g in half for n in g] for half in (groups[:middle], groups[middle:])]
