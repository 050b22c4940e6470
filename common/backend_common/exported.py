"""What is done to a program that torch.export has made, whatever backend it goes to."""

from collections.abc import Sequence
from operator import getitem
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils import _pytree as pytree

from backend_common import arithmetic_of_sizes
from backend_common.autocast import note_autocast_dtypes
from backend_common.bodies import prepare_bodies
from backend_common.diagnostics import source_line
from backend_common.errors import LoweringError
from backend_common.graph import Pass, graph_modules, inline_submodule, users_that_mutate
from backend_common.keep_results_apart import keep_results_apart
from backend_common.mutations import forget_empty_mutations
from backend_common.operators import operator_name
from backend_common.report import Row
from backend_common.resampling import resample_bytes
from backend_common.roll_by_index import RollByIndex
from backend_common.shared_memory import settle_shared_memory

aten = torch.ops.aten

_LAST = 2**63 - 1


class LetViewsCopy(Pass):
    """
    Given:  aten.view(x, shape)       of an x that was contiguous when it was exported
    Result: aten.reshape(x, shape)    which copies, should a decomposition give x other strides
    """

    def match(self, node: fx.Node) -> Any:
        return True if node.target is aten.view.default else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        value = node.meta["val"]
        node.target = aten.reshape.default
        node.meta["val"] = value


class InlineGradModes(Pass):
    """
    Given:  y = wrap_with_set_grad_enabled(True, body, x)[0]
    Result: the body's operators on x

    A program has no gradients, and torch's decompositions lose the inputs of such a body.
    """

    def match(self, node: fx.Node) -> Any:
        return True if node.target is torch.ops.higher_order.wrap_with_set_grad_enabled else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        inline_submodule(node, body=1)


class DivideByFloats(Pass):
    """
    Given:  aten.div(x, -3)      of uint8, say
    Result: aten.div(x, -3.0)

    A quotient is one of floats, and a program would hold the number as x's dtype has it: 253.
    """

    def match(self, node: fx.Node) -> Any:
        if node.target not in (aten.div.Tensor, aten.div.Scalar):
            return None
        x, divisor = node.args
        whole = isinstance(x, fx.Node) and not x.meta["val"].dtype.is_floating_point
        return divisor if whole and type(divisor) is int else None

    def rewrite(self, node: fx.Node, found: Any) -> None:
        node.args = (node.args[0], float(found))


class TakeByTensor(Pass):
    """
    Given:  y = aten.select(x, 1, i)    with i out of a tensor: x[:, t]
    Result: y = aten.index(x, [None, t])

    Whether i counts from the end would be asked while the program is built. A selection that is
    written to stays, for an index is no view.
    """

    def match(self, node: fx.Node) -> Any:
        if node.target is not aten.select.int or users_that_mutate(node) is not None:
            return None
        index = node.args[2]
        if not isinstance(index, fx.Node) or not _depends_on_values(index.meta.get("val")):
            return None
        return index

    def rewrite(self, node: fx.Node, found: Any) -> None:
        x, dim = node.args[0], node.args[1] % node.args[0].meta["val"].dim()
        taken = found.target in (aten.item.default, aten._local_scalar_dense.default)
        with node.graph.inserting_before(node):
            if taken and found.args[0].meta["val"].dim() == 0:
                index = found.args[0]
            else:
                index = node.graph.call_function(
                    aten.scalar_tensor.default, (found,), {"dtype": torch.int64}
                )
        node.target = aten.index.Tensor
        node.args = (x, [None] * dim + [index])


def _depends_on_values(value: Any) -> bool:
    return isinstance(value, torch.SymInt) and bool(free_unbacked_symbols(value))


class MakeEmptyResults(Pass):
    """
    Given:  y = aten.amax(x, [0])    of an x of shape (3, 0), on which the kernel aborts
    Result: y = aten.full([0], 0); and so for each of several results
    """

    def match(self, node: fx.Node) -> Any:
        value = node.meta.get("val")
        if node.op != "call_function" or not isinstance(value, torch.Tensor):
            return None
        schema = getattr(node.target, "_schema", None)
        changes = schema is None or schema.is_mutable
        static = all(isinstance(size, int) for size in value.shape)
        if (changes and node.target is not getitem) or not static or value.numel():
            return None
        return None if node.target is aten.full.default else value

    def rewrite(self, node: fx.Node, found: Any) -> None:
        several = node.args[0] if node.target is getitem else None
        node.target = aten.full.default
        node.args, node.kwargs = (list(found.shape), 0), {"dtype": found.dtype}
        if isinstance(several, fx.Node) and not several.users:
            node.graph.erase_node(several)


class KeepWritesApart(Pass):
    """
    Given:  b.copy_(a)    of an a that is read elsewhere, or has another dtype
    Result: b.copy_(a.clone()), or of a in b's dtype

    torch.export's functional form has one value for both: it tells two writes of one value not
    apart, and forgets the dtype.
    """

    def match(self, node: fx.Node) -> Any:
        if node.target is not aten.copy_.default:
            return None
        target, source = (operand.meta["val"] for operand in node.args[:2])
        if source.dtype == target.dtype and len(node.args[1].users) == 1:
            return None
        return target.dtype

    def rewrite(self, node: fx.Node, found: Any) -> None:
        source = node.args[1]
        with node.graph.inserting_before(node):
            if source.meta["val"].dtype == found:
                own = node.graph.call_function(aten.clone.default, (source,))
            else:
                own = node.graph.call_function(aten._to_copy.default, (source,), {"dtype": found})
        node.update_arg(1, own)


class PadByCat(Pass):
    """
    Given:  aten.pad(x, [1, 2], "circular")    of a size that is dynamic
    Result: aten.cat([x[..., -1:], x, x[..., :2]], -1)

    What torch writes for it has the size that the example has.
    """

    def match(self, node: fx.Node) -> Any:
        if node.target is not aten.pad.default or node.args[2:3] != ("circular",):
            return None
        sizes, pads = node.args[0].meta["val"].shape, node.args[1]
        static = all(isinstance(size, int) for size in sizes)
        if static or not all(isinstance(pad, int) and pad >= 0 for pad in pads):
            return None
        return list(zip(pads[::2], pads[1::2], strict=True))

    def rewrite(self, node: fx.Node, found: Any) -> None:
        result = node.args[0]
        last = result.meta["val"].dim() - 1
        with node.graph.inserting_before(node):
            for dim, (before, after) in zip(range(last, -1, -1), found, strict=False):
                parts = [result]
                if before:
                    end = (result, dim, -before, _LAST)
                    parts.insert(0, node.graph.call_function(aten.slice.Tensor, end))
                if after:
                    start = (result, dim, 0, after)
                    parts.append(node.graph.call_function(aten.slice.Tensor, start))
                result = node.graph.call_function(aten.cat.default, (parts, dim))
        node.replace_all_uses_with(result)
        node.graph.erase_node(node)


class PackAttention(Pass):
    """
    Given:  y = aten.scaled_dot_product_attention(q, k, v)    whose result is packed as (B, L, H, E)
    Result: y = aten.clone(aten.scaled_dot_product_attention(q, k, v))    packed as it is indexed

    The layout belongs to torch's fused kernel. What is recorded as views of it would be impossible
    after decomposition, which has another.
    """

    def match(self, node: fx.Node) -> Any:
        attention = aten.scaled_dot_product_attention.default
        if node.target is not attention or any(_is_packing(user) for user in node.users):
            return None
        return True

    def rewrite(self, node: fx.Node, found: Any) -> None:
        users = list(node.users)
        with node.graph.inserting_after(node):
            packed = node.graph.call_function(
                aten.clone.default, (node,), {"memory_format": torch.contiguous_format}
            )
        packed.meta["stack_trace"] = node.meta.get("stack_trace", "")
        for user in users:
            user.replace_input_with(node, packed)


def _is_packing(node: fx.Node) -> bool:
    return node.target is aten.clone.default and "memory_format" in node.kwargs


def refuse_written_constants(name: str, program: ExportedProgram) -> None:
    """LoweringError where the graph writes to a tensor that torch.export took for a constant.

    It does so, unless it is strict, with tensors that are reached through plain Python objects;
    and it computes with them while it exports, so that their first values are lost.
    """
    placeholders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    rows = []
    for spec in program.graph_signature.input_specs:
        node = placeholders.get(getattr(spec.arg, "name", ""))
        if spec.kind is not InputKind.CONSTANT_TENSOR or node is None:
            continue
        if (writer := users_that_mutate(node)) is not None:
            value = node.meta["val"]
            reason = (
                f"it writes to a tensor {list(value.shape)} that is no buffer of the module, which "
                "torch.export takes for a constant"
            )
            remedy = "register the tensor with register_buffer, or export with strict=True"
            name_of_writer, source = operator_name(writer), source_line(writer)
            rows.append(Row(name, name_of_writer, writer.name, source, False, "", reason, remedy))
    if rows:
        noun = "constant" if len(rows) == 1 else "constants"
        raise LoweringError(f"'{name}' writes to {len(rows)} {noun}:", rows)


def refuse_strange_results(name: str, program: ExportedProgram) -> None:
    """LoweringError where what it returns is nothing at all, or no tensor, number or None."""
    rows = []
    results = [
        spec.arg
        for spec in program.graph_signature.output_specs
        if spec.kind is OutputKind.USER_OUTPUT
    ]
    for index, result in enumerate(results):
        value = getattr(result, "value", None)
        if isinstance(result, ConstantArgument) and isinstance(value, str):
            reason = f"it is the text {value!r}, and programs return tensors, numbers and None"
            remedy = "leave it out, and keep it beside the program"
            rows.append(Row(name, "", f"output {index}", "", False, "", reason, remedy))
    if all(isinstance(each, ConstantArgument) and each.value is None for each in results):
        reason = "it returns None only, and programs return something"
        rows.append(Row(name, "", "outputs", "", False, "", reason, "return a tensor"))
    if rows:
        raise LoweringError(f"'{name}' returns what a program cannot:", rows)


def refuse_texts(name: str, program: ExportedProgram) -> None:
    """LoweringError where an input is a text: a program would run on, whatever it is."""
    rows = [
        Row(
            *(name, "", f"input '{spec.arg.name}'", "", False, ""),
            reason=f"it is the text {spec.arg.value!r}; programs take tensors, numbers and None",
            remedy="give it a default in forward, or wrap the module in one that passes it",
        )
        for spec in program.graph_signature.input_specs
        if spec.kind is InputKind.USER_INPUT
        and isinstance(spec.arg, ConstantArgument)
        and isinstance(spec.arg.value, str)
    ]
    if rows:
        raise LoweringError(f"'{name}' takes what a program cannot:", rows)


def refuse_layouts(name: str, program: ExportedProgram) -> None:
    """LoweringError where a tensor is not dense: sparse, or nested in a jagged layout."""
    rows = []
    for module in graph_modules(program.graph_module):
        for node in module.graph.nodes:
            leaves = pytree.tree_leaves(node.meta.get("val"))
            layouts = [leaf.layout for leaf in leaves if isinstance(leaf, torch.Tensor)]
            strange = [layout for layout in layouts if layout is not torch.strided]
            if strange and node.op in ("placeholder", "call_function"):
                operator = operator_name(node)
                subject = "" if operator else f"'{node.name}'"
                reason = f"its layout is {strange[0]}, and programs have dense tensors"
                remedy = "call to_dense() before the program, and use dense operators in it"
                source = source_line(node)
                rows.append(
                    Row(name, operator, subject or node.name, source, False, "", reason, remedy)
                )
    if rows:
        noun = "tensor is" if len(rows) == 1 else "tensors are"
        raise LoweringError(f"{len(rows)} {noun} not dense in '{name}':", rows)


def refuse_one_tensor_for_two(
    name: str, program: ExportedProgram, examples: Sequence[object]
) -> None:
    """LoweringError where the example has one tensor for several inputs, and it is written to:
    eager then sees the write in all of them, and a program in one.

    examples: what stood for each of the inputs.
    """
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    inputs: dict[int, list[fx.Node]] = {}
    for given, leaf in zip(program.graph_signature.user_inputs, examples, strict=False):
        if isinstance(leaf, torch.Tensor) and given in nodes:
            inputs.setdefault(id(leaf), []).append(nodes[str(given)])
    rows = []
    for same in inputs.values():
        writers = [users_that_mutate(node) for node in same]
        writer = next((each for each in writers if each is not None), None)
        if len(same) > 1 and writer is not None:
            names = " and ".join(f"'{node.name}'" for node in same)
            reason = f"it writes to an input, and {names} are one tensor in the example"
            remedy = "pass a tensor of its own for each of them: x.clone()"
            name_of_writer, source = operator_name(writer), source_line(writer)
            rows.append(Row(name, name_of_writer, writer.name, source, False, "", reason, remedy))
    if rows:
        raise LoweringError(f"'{name}' writes to one tensor of several inputs:", rows)


def refuse_changing_numbers(name: str, program: ExportedProgram) -> None:
    """LoweringError where an input is a number that changes from call to call."""
    inputs = set(program.graph_signature.user_inputs)
    rows = [
        Row(
            *(name, "", f"input '{node.name}'", source_line(node), False, ""),
            reason="it is a number that changes from call to call, which programs take as tensors",
            remedy="pass a tensor, or leave the number out of dynamic_shapes to have it fixed",
        )
        for node in program.graph.nodes
        if node.op == "placeholder"
        and node.name in inputs
        and isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool))
    ]
    if rows:
        raise LoweringError(f"'{name}' takes what a program cannot:", rows)


def refuse_gradients(name: str, program: ExportedProgram) -> None:
    """LoweringError where it differentiates: torch.export then takes inputs for constants."""
    rows = [
        Row(
            *(name, "torch.func", node.name, source_line(node), False, ""),
            reason="it computes a gradient, and torch.export fixes what that depends on",
            remedy="write the derivative out",
        )
        for module in graph_modules(program.graph_module)
        for node in module.graph.nodes
        if node.target is torch._functorch.predispatch._unwrap_for_grad
    ]
    if rows:
        noun = "gradient" if len(rows) == 1 else "gradients"
        raise LoweringError(f"'{name}' computes {len(rows)} {noun}:", rows)


def prepare(name: str, program: ExportedProgram) -> None:
    """In place; it computes what it did. LoweringError where it cannot be what eager is."""
    note_autocast_dtypes(program)
    refuse_gradients(name, program)
    refuse_written_constants(name, program)
    settle_shared_memory(name, program)
    refuse_changing_numbers(name, program)
    refuse_texts(name, program)
    refuse_strange_results(name, program)
    refuse_layouts(name, program)
    InlineGradModes()(program.graph_module)
    prepare_bodies(name, program)
    forget_empty_mutations(program)
    keep_results_apart(program.graph_module)
    MakeEmptyResults()(program.graph_module)
    for rewrite in arithmetic_of_sizes.PASSES:
        rewrite(program.graph_module)
    DivideByFloats()(program.graph_module)
    TakeByTensor()(program.graph_module)
    RollByIndex()(program.graph_module)
    PadByCat()(program.graph_module)
    resample_bytes(name, program)
    KeepWritesApart()(program.graph_module)
    LetViewsCopy()(program.graph_module)
    PackAttention()(program.graph_module)
