"""Buffers and parameters that are one tensor under several names, or views of one another."""

from collections.abc import Mapping

import torch
from torch import fx
from torch.export import ExportedProgram

from backend_common.diagnostics import source_line
from backend_common.errors import LoweringError
from backend_common.graph import users_that_mutate
from backend_common.operators import operator_name
from backend_common.report import Row


def settle_shared_memory(name: str, program: ExportedProgram) -> None:
    """
    Given:  buffers `a` and `b = a[1:]`, one of which is written
    Result: `b` is read and written as a view of `a`; what had been its own input is not read

    Why: torch.export records no connection between the two, and functionalization takes inputs
    for one of which nothing is read, as those of one tensor are, for one input.
    LoweringError where no buffer is the whole memory.
    """
    sharing: dict[int, list[fx.Node]] = {}
    tensors = _tensors(program)
    for node, (_, value) in tensors.items():
        if value.numel():
            sharing.setdefault(value.untyped_storage().data_ptr(), []).append(node)
    for nodes in sharing.values():
        writers = [writer for node in nodes if (writer := users_that_mutate(node)) is not None]
        if len(nodes) == 1 or not writers:
            continue
        used = [node for node in nodes if node.users]
        if len(used) > 1:
            base = _whole(program, {node: tensors[node][1] for node in used})
            if base is None:
                raise _refusal(name, [tensors[node][0] for node in used], writers[0])
            for node in used:
                if node is not base:
                    _read_as_view(node, base, tensors[node][1])
        for node in nodes:
            if not node.users:
                target, value = tensors[node]
                holder = program.state_dict if target in program.state_dict else program.constants
                holder[target] = _copied(value)
    program.graph_module.recompile()


def _copied(value: torch.Tensor) -> torch.Tensor:
    own = value.detach().clone()
    is_parameter = isinstance(value, torch.nn.Parameter)
    return torch.nn.Parameter(own, value.requires_grad) if is_parameter else own


def _whole(program: ExportedProgram, tensors: Mapping[fx.Node, torch.Tensor]) -> fx.Node | None:
    """The buffer that is all of the memory that these share."""
    if len({value.dtype for value in tensors.values()}) > 1:
        return None
    for node, value in tensors.items():
        whole = value.numel() * value.element_size() == value.untyped_storage().nbytes()
        if node.name in program.graph_signature.inputs_to_buffers and whole:
            return node if value.is_contiguous() else None
    return None


def _read_as_view(node: fx.Node, base: fx.Node, value: torch.Tensor) -> None:
    graph = node.graph
    last = [each for each in graph.nodes if each.op == "placeholder"][-1]
    with graph.inserting_after(last):
        view = graph.call_function(
            torch.ops.aten.as_strided.default,
            (base, list(value.shape), list(value.stride()), value.storage_offset()),
        )
    view.meta["val"] = torch.as_strided(
        base.meta["val"], value.shape, value.stride(), value.storage_offset()
    )
    node.replace_all_uses_with(view)


def _tensors(program: ExportedProgram) -> Mapping[fx.Node, tuple[str, torch.Tensor]]:
    """The name and value of each buffer and parameter, by its placeholder."""
    signature = program.graph_signature
    names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    values = {**program.constants, **program.state_dict}
    return {
        node: (names[node.name], value)
        for node in program.graph.nodes
        if node.op == "placeholder"
        and node.name in names
        and isinstance(value := values.get(names[node.name]), torch.Tensor)
        and value.layout == torch.strided
    }


def _refusal(method: str, names: list[str], writer: fx.Node) -> LoweringError:
    row = Row(
        *(method, operator_name(writer), writer.name, source_line(writer), False, ""),
        reason=f"it writes to memory that {' and '.join(names)} share, and a program keeps them "
        "apart",
        remedy="make the whole memory a buffer of its own, and the others views of it",
    )
    return LoweringError(f"'{method}' writes to memory with several names:", [row])
