"""Regions of torch.autocast become casts that everyone can see."""

import copy
from collections.abc import Iterator
from types import TracebackType

import torch
from backend_common.autocast import note_autocast_dtypes
from backend_common.diagnostics import source_line
from backend_common.errors import LoweringError
from backend_common.graph import graph_modules, inline_submodule
from backend_common.operators import operator_name
from backend_common.report import Row
from torch import fx
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

POLICIES = ("exact", "flatten")
DEVICES = ("recorded", "any")

aten = torch.ops.aten
_CALL = (
    torch.ops.higher_order.wrap_with_autocast
)  # (device, dtype, enabled, cache, body, *operands)
_BODY = 4
_ENTER = torch.amp.autocast_mode._enter_autocast  # (device, dtype, enabled, cache)
_CASTS = (aten.to, aten.type_as)


def resolve_autocast(
    exported: ExportedProgram,
    policy: str = "exact",
    device: str = "recorded",
    *,
    method: str = "forward",
) -> tuple[ExportedProgram, list[Row]]:
    """
    Given:  y = wrap_with_autocast("cpu", torch.bfloat16, True, None, body, x, w)[0]
    Result: y = aten.linear(aten._to_copy(x, bfloat16), aten._to_copy(w, bfloat16))

    A new program; one without regions is returned itself. Its operators are functional, and
    composite ones stay whole. The weights are those of `exported`, which is not changed.

    policy: `exact` computes what eager computes. `flatten` leaves the regions out: every operator
        computes in the dtypes of what it reads, and a row for each enabled region says so.
    device: `recorded` leaves values of other devices than the region's alone, as eager does;
        `any` applies each region to whatever values there are.
    method: for the rows, which name what is not as eager has it and cannot be.

    ValueError names the choices. LoweringError names the line that cannot be resolved.
    """
    for name, chosen, known in (("policy", policy, POLICIES), ("device", device, DEVICES)):
        if chosen not in known:
            raise ValueError(f"autocast: {name} is {chosen!r}; it can be {', '.join(known)}")
    if not any(True for _ in _regions(exported.graph_module)):
        return exported, []
    program = exported._update(copy.deepcopy(exported.graph_module), exported.graph_signature)
    _settle_devices(program, device, method)
    casts = _casts_without_effect(program)
    rows = []
    try:
        if policy == "flatten":
            rows = _flatten(program, method)
        else:
            # A strict export takes a region's results for float32, and asserts that they are.
            with torch.no_grad():  # a buffer that took part in gradients could not be written
                note_autocast_dtypes(program)
            rows = [_doubt(cast, method) for cast in casts if _is_ambiguous(cast)]
        # Tracing under the regions writes their casts out, from the outside in.
        return program.run_decompositions({}), rows
    except Exception as error:
        raise LoweringError(
            f"'{method}' has an autocast region that cannot be resolved:",
            [_failure(program, error, method)],
        ) from error


def _regions(graph_module: fx.GraphModule) -> Iterator[tuple[fx.GraphModule, fx.Node]]:
    """The regions in the graph and in its bodies, from the inside out, with their graphs."""
    for module in graph_modules(graph_module):
        for node in list(module.graph.nodes):
            if node.target in (_CALL, _ENTER):
                yield module, node


def _settle_devices(program: ExportedProgram, device: str, method: str) -> None:
    """Leaves only regions of devices on which the program has values."""
    present = {
        leaf.device.type
        for module in graph_modules(program.graph_module)
        for node in module.graph.nodes
        for leaf in pytree.tree_leaves(node.meta.get("val"))
        if isinstance(leaf, torch.Tensor)
    }
    refused = []
    for module, node in _regions(program.graph_module):
        own, dtype, enabled, *rest = node.args
        if own in present:
            continue
        if device == "recorded":
            _dissolve(node)
            module.recompile()
        elif not enabled and dtype is not None:
            refused.append(
                _row(
                    *(node, method),
                    reason=f"it is recorded as disabled, as any {own} region is where a non-strict"
                    f" export finds no {own} device",
                    remedy='write it for "cpu", or export with strict=True',
                )
            )
        else:
            node.args = ("cpu" if "cpu" in present else min(present), dtype, enabled, *rest)
            module.recompile()
    if refused:
        raise LoweringError(
            f"'{method}' has an autocast region that may have been enabled:", refused
        )


def _flatten(program: ExportedProgram, method: str) -> list[Row]:
    rows = []
    for module in graph_modules(program.graph_module):
        for node in list(module.graph.nodes):
            if node.target is aten._assert_tensor_metadata.default:
                module.graph.erase_node(node)  # of a dtype that a region would have given
            elif node.target in (_CALL, _ENTER):
                if node.args[2] and _operators(node):
                    rows.append(
                        _row(
                            *(node, method),
                            reason=f"policy 'flatten' leaves out what it casts to {node.args[1]}",
                            remedy="policy 'exact' computes as eager does",
                        )
                    )
                _dissolve(node)
        module.recompile()
    return rows


def _dissolve(region: fx.Node) -> None:
    """The region's operators stay, by themselves."""
    graph = region.graph
    if region.target is _CALL:
        inline_submodule(region, body=_BODY)
        return
    for leave in list(region.users):
        graph.erase_node(leave)
    graph.erase_node(region)


def _casts_without_effect(program: ExportedProgram) -> list[fx.Node]:
    """Casts whose operand is noted to have the dtype already."""
    return [
        node
        for module in graph_modules(program.graph_module)
        for node in module.graph.nodes
        if getattr(node.target, "overloadpacket", None) in _CASTS and not _changes_dtype(node)
    ]


def _changes_dtype(cast: fx.Node) -> bool:
    operand = cast.args[0]
    return isinstance(operand, fx.Node) and operand.meta["val"].dtype != cast.meta["val"].dtype


def _is_ambiguous(cast: fx.Node) -> bool:
    """Whether a cast has an effect after all, and stands for its operand in places, maybe.

    To a strict export y and y.float() were one value, so that all that read y later reads the
    cast. A single reader is the one that the cast was written for.
    """
    readers = sum(
        operand is cast
        for user in cast.users
        for operand in pytree.tree_leaves((user.args, user.kwargs), is_leaf=_is_node)
        if user.target is not aten._assert_tensor_metadata.default
    )
    return _changes_dtype(cast) and readers > 1


def _is_node(value: object) -> bool:
    return isinstance(value, fx.Node)


def _doubt(cast: fx.Node, method: str) -> Row:
    return _row(
        *(cast, method),
        reason="a strict export takes the cast and what it casts for one value; all that reads"
        " either reads the cast",
        remedy="export with strict=False",
    )


def _failure(program: ExportedProgram, error: Exception, method: str) -> Row:
    """The operator at which it failed; else the first region."""
    failed = _last_node(error.__traceback__)
    if failed is None or not source_line(failed):
        failed = next((node for _, node in _regions(program.graph_module)), failed)
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    if failed is None:
        return Row(method, "", "autocast region", "", False, "", text, "")
    return _row(failed, method, reason=text, remedy="export with strict=False")


def _last_node(traceback: TracebackType | None) -> fx.Node | None:
    """What a graph's interpreter was at, innermost."""
    found = None
    while traceback is not None:
        node = traceback.tb_frame.f_locals.get("node")
        found = node if isinstance(node, fx.Node) else found
        traceback = traceback.tb_next
    return found


def _row(node: fx.Node, method: str, *, reason: str, remedy: str) -> Row:
    operator = "" if node.target in (_CALL, _ENTER) else operator_name(node)
    name = f"autocast region '{node.name}'" if not operator else node.name
    return Row(method, operator, name, _line(node), False, "", reason, remedy)


def _line(node: fx.Node) -> str:
    """The node's source line; a region has none of its own, but its operators do."""
    within = _operators(node) if node.target in (_CALL, _ENTER) else []
    return next((line for each in (node, *within) if (line := source_line(each))), "")


def _operators(region: fx.Node) -> list[fx.Node]:
    if region.target is _CALL:
        body = getattr(region.graph.owning_module, region.args[_BODY].target)
        nodes = [node for module in graph_modules(body) for node in module.graph.nodes]
    else:
        nodes = list(region.graph.nodes)
        nodes = nodes[nodes.index(region) + 1 : nodes.index(next(iter(region.users)))]
    return [node for node in nodes if operator_name(node)]
