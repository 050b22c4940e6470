"""What a method writes to: its buffers, and inputs of the caller."""

import dataclasses
import warnings

from executorch.exir.dialects._ops import ops as exir_ops
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind

_clone = exir_ops.edge.dim_order_ops._clone_dim_order.default

_WRITES = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)


class InputMutationWarning(UserWarning):
    """A program writes to a copy of its input, not to the caller's tensor."""


def settle_mutations(program: ExportedProgram) -> list[fx.Node]:
    """
    Given:  a program that ends with `a = b; b = a; return a`, all of it at once
    Result: `old_b = clone(b); old_a = clone(a); a = old_b; b = old_a; return old_a`

    ExecuTorch writes one after the other, so what is read must not be what is written. It also
    counts what is written to an input among the results, and nothing that is written to a
    buffer: both are of one kind here. Returns the copies.
    """
    forget_empty_mutations(program)
    signature = program.graph_signature
    output = program.graph.output_node()
    results = list(output.args[0])  # type: ignore[arg-type]
    placeholders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    owners = {
        target: placeholders[name]
        for name, target in {
            **signature.inputs_to_buffers,
            **{str(name): str(name) for name in signature.user_inputs},
        }.items()
        if name in placeholders
    }
    written = {
        owners[str(spec.target)]: results[index]
        for index, spec in enumerate(signature.output_specs)
        if spec.kind in _WRITES and results[index] is not owners[str(spec.target)]
    }
    copies: dict[fx.Node, fx.Node] = {}
    for index, (spec, value) in enumerate(zip(signature.output_specs, results, strict=True)):
        own = spec.kind in _WRITES and owners[str(spec.target)]
        if isinstance(value, fx.Node) and value in written and value is not own:
            if value not in copies:
                copies[value] = _copy_before(output, value)
            results[index] = copies[value]
            spec.arg = dataclasses.replace(spec.arg, name=copies[value].name)  # type: ignore[type-var]
        if spec.kind is OutputKind.USER_INPUT_MUTATION:
            warnings.warn(
                f"the program writes to its input '{spec.target}': it computes with what it wrote, "
                "and leaves the caller's tensor as it was. Return the new value to see it",
                InputMutationWarning,
                stacklevel=2,
            )
            spec.kind = OutputKind.BUFFER_MUTATION
    output.args = (tuple(results),)
    program.graph_module.recompile()
    return list(copies.values())


def forget_empty_mutations(program: ExportedProgram) -> None:
    """
    Given:  what is written to a buffer without elements, which ExecuTorch has no memory for
    Result: nothing is written
    """
    signature = program.graph_signature
    output = program.graph.output_node()
    kept = [
        (spec, value)
        for spec, value in zip(signature.output_specs, output.args[0], strict=True)  # type: ignore[arg-type]
        if not (spec.kind is OutputKind.BUFFER_MUTATION and _has_no_elements(value))
    ]
    if len(kept) < len(signature.output_specs):
        empty = {spec.target for spec in signature.output_specs} - {spec.target for spec, _ in kept}
        for node in program.graph.nodes:
            if signature.inputs_to_buffers.get(node.name) in empty:
                node.meta.pop("et_init_buffer", None)  # memory that is to be stored
        signature.output_specs[:] = [spec for spec, _ in kept]
        output.args = (tuple(value for _, value in kept),)
        program.graph.eliminate_dead_code()
        program.graph_module.recompile()


def _has_no_elements(value: object) -> bool:
    # Sizes that are not known are not looked at: to ask would fix them.
    sizes = value.meta["val"].shape if isinstance(value, fx.Node) else ()
    return any(isinstance(size, int) and size == 0 for size in sizes)


def _copy_before(output: fx.Node, value: fx.Node) -> fx.Node:
    with output.graph.inserting_before(output):
        copy = output.graph.call_function(_clone, (value,))
    copy.meta = {key: value.meta[key] for key in ("val", "tensor_meta") if key in value.meta}
    return copy
