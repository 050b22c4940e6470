"""Buffers that several methods of a program use, and one of them writes to."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec

from backend_common.graph import users_that_mutate

aten = torch.ops.aten


@dataclasses.dataclass
class _Use:
    """A method's use of a buffer."""

    method: str
    program: ExportedProgram
    spec: InputSpec
    node: fx.Node
    value: torch.Tensor

    @property
    def written(self) -> bool:
        return users_that_mutate(self.node) is not None


def share_state(programs: Mapping[str, ExportedProgram]) -> bool:
    """
    Given:  methods that use one buffer, which one of them at least writes to
    Result: it bears one name in all of them, no other buffer does, and all of them write to it,
            if only what is there: that is how ExecuTorch knows what to share

    In place. Returns whether anything is shared. The programs are as torch.export made them.
    """
    uses: dict[tuple[Any, ...], list[_Use]] = {}
    for use in _uses(programs):
        value = use.value
        key = (value.data_ptr(), tuple(value.shape), value.stride(), value.dtype)
        uses.setdefault(key, []).append(use)
    shared = [
        group
        for group in uses.values()
        if len({use.method for use in group}) > 1 and any(use.written for use in group)
    ]
    if not shared:
        return False
    taken: set[str] = set()
    folder = _free_folder(programs)
    for group in shared:
        taken.add(name := _free_name(f"{folder}.shared.{group[0].spec.target}", taken))
        for use in group:
            _rename(use, name)
            if not use.written:
                _write_what_is_there(use)
    # Equal names would be taken for shared ones.
    for group in uses.values():
        if not any(group is other for other in shared):
            for use in group:
                if use.written:
                    name = _free_name(f"{folder}.of_{use.method}.{use.spec.target}", taken)
                    taken.add(name)
                    _rename(use, name)
    return True


def _uses(programs: Mapping[str, ExportedProgram]) -> Iterator[_Use]:
    for method, program in programs.items():
        nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
        for spec in program.graph_signature.input_specs:
            if spec.kind is InputKind.BUFFER:
                name = str(spec.target)
                value = program.state_dict.get(name, program.constants.get(name))
                if isinstance(value, torch.Tensor) and value.numel():
                    yield _Use(method, program, spec, nodes[spec.arg.name], value)


def _free_folder(programs: Mapping[str, ExportedProgram]) -> str:
    """A name that no module has an attribute of: a method may be called as one is, `forward`."""
    there = {
        name.partition(".")[0]
        for program in programs.values()
        for name in (*program.state_dict, *program.constants)
    }
    folder = "buffers_of_methods"
    while folder in there or hasattr(fx.GraphModule, folder):
        folder += "_"
    return folder


def _free_name(name: str, taken: set[str]) -> str:
    return name if name not in taken else _free_name(name + "_", taken)


def _rename(use: _Use, name: str) -> None:
    program, old = use.program, str(use.spec.target)
    if name == old:
        return
    home = program.state_dict if old in program.state_dict else program.constants
    home[name] = home[old]  # the old one stays: another input may read it
    use.spec.target = name


def _write_what_is_there(use: _Use) -> None:
    graph = use.program.graph
    with graph.inserting_before(graph.output_node()):
        value = graph.call_function(aten.clone.default, (use.node,))
        graph.call_function(aten.copy_.default, (use.node, value))
    use.program.graph_module.recompile()
