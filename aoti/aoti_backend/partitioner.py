"""Which parts of a program Inductor compiles."""

import re
from collections.abc import Iterator, Mapping
from typing import final

import torch
from backend_common import subgraph
from backend_common.diagnostics import Rejection
from backend_common.operators import operator_name
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
from torch.export import ExportedProgram
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner

from aoti_backend import preprocess, support
from aoti_backend.devices import Device, named
from aoti_backend.options import Options

_NUMBER = re.compile(r"_\d+$")


def _plain(name: str) -> str:
    """A node's or an operator's name, but for a number at the end, cases and underscores: the Edge
    dialect calls a node of aten.__and__.Tensor aten_and_tensor.
    """
    return _NUMBER.sub("", name).translate({ord("_"): None, ord("."): None}).lower()


def _fractions_that_cross(nodes: set[fx.Node]) -> Iterator[fx.Node]:
    """The nodes that make numbers for others outside, or take them from there: delegates take
    and give ints and tensors.
    """
    for node in nodes:
        if (support.is_fraction(node) and not nodes.issuperset(node.users)) or any(
            support.is_fraction(each) for each in node.all_input_nodes if each not in nodes
        ):
            yield node


@final
class AotiPartitioner(Partitioner):
    """Tags all that Inductor can compile; the rest stays for other kernels.

    device: the CPU where none is given.
    keep: operators that are not to be taken. withdrawn: nodes without a kernel.
    """

    def __init__(
        self,
        device: Device | None = None,
        options: Options | None = None,
        *,
        keep: frozenset[str] = frozenset(),
        withdrawn: Mapping[str, Rejection] = NONE_WITHDRAWN,
        reject: Reject = ignore,
    ) -> None:
        super().__init__()
        self._keep = Kept(keep)
        self._withdrawn = withdrawn
        self._reject = reject
        device = device or named("cpu")
        refuse_a_second_backend(device.backend_id, preprocess.__name__)
        specs = (options or Options()).compile_specs()
        self._specification = DelegationSpec(device.backend_id, specs)

    def ops_to_not_decompose(
        self, program: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], None]:
        """All that are to be delegated: Inductor knows more of an operator than of its parts.

        Not meshgrid and its like, which are made of views: their parts are copies.
        """
        if self._keep:
            return [], None  # it may name a part
        left = {node.target for node in self._objections(program, quiet=True)}
        withdrawn = {_plain(name) for name in self._withdrawn}
        targets = {
            node.target
            for node in program.graph.nodes
            if isinstance(node.target, torch._ops.OpOverload)
            and not support.is_size(node)
            and not support.is_spread_out(node)
            and node.target not in left
            and _plain(str(node.target)) not in withdrawn
        }
        return sorted(targets, key=str), None

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags: dict[str, DelegationSpec] = {}
        for nodes in self._partitions(exported_program):
            tag = f"aoti_{len(tags)}"
            tags[tag] = self._specification
            for node in nodes:
                node.meta["delegation_tag"] = tag
                for operand in node.all_input_nodes:
                    if subgraph.body_of(operand) is not None:
                        operand.meta["delegation_tag"] = tag
        tag_constant_data(exported_program)
        leave_constants_that_are_returned(exported_program)
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)

    def _partitions(self, program: ExportedProgram) -> list[list[fx.Node]]:
        left: dict[fx.Node, str] = self._objections(program)
        while True:
            proposed = [
                partition.nodes
                for partition in CapabilityBasedPartitioner(
                    program.graph_module, AllBut(left), allows_single_node_partition=True
                ).propose_partitions()
            ]
            crossing = [node for nodes in proposed for node in _fractions_that_cross(set(nodes))]
            if not crossing:
                break
            reason = "a number that is no integer goes into a delegate, or comes out of one"
            for node in crossing:
                left[node] = reason
                self._reject(node, reason, "")
        order = {node: index for index, node in enumerate(program.graph.nodes)}
        partitions = []
        for members in proposed:
            nodes = sorted(members, key=order.__getitem__)
            if all(support.only_moves(node) for node in nodes):
                for node in nodes:
                    self._reject(node, "it only moves data, which takes no code of its own", "")
            else:
                partitions.append(nodes)
        return sorted(partitions, key=lambda nodes: order[nodes[0]])

    def _objections(self, program: ExportedProgram, quiet: bool = False) -> dict[fx.Node, str]:
        """The nodes that stay, each with its reason, which is reported."""
        found: dict[fx.Node, str] = {}

        def object_to(node: fx.Node, reason: str, remedy: str) -> None:
            found[node] = reason
            if not quiet:
                self._reject(node, reason, remedy)

        for node in program.graph.nodes:
            name = operator_name(node)
            if node.op != "call_function" or node.meta.get("delegation_tag") is not None:
                continue
            source = node.args[0] if support.is_selection(node) else None
            if isinstance(source, fx.Node):
                if source in found:
                    found[node] = found[source]
            elif name in self._keep:
                object_to(node, "it is in `keep`", "take it out of `keep`")
            elif (given_back := self._withdrawn.get(node.name)) is not None:
                object_to(node, given_back.reason, given_back.remedy)
            elif reason := support.objection(node):
                object_to(node, reason, "")
        return found
