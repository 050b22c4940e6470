"""What users pass to `lower`, as one exported program per method."""

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from backend_common.diagnostics import keep_user_frames
from backend_common.errors import LoweringError
from backend_common.export_causes import every_cause
from backend_common.exported import refuse_one_tensor_for_two
from backend_common.stages import stage


@dataclasses.dataclass(frozen=True)
class Method:
    """One method of a program with several.

    module: in eval mode, or in whatever mode it shall run.
    inputs, kwargs: examples, as the module takes them.
    dynamic_shapes: as torch.export.export takes it, or None.
    """

    module: torch.nn.Module
    inputs: tuple[Any, ...]
    kwargs: Mapping[str, Any] | None = None
    dynamic_shapes: Any = None


Model: TypeAlias = torch.nn.Module | ExportedProgram | Mapping[str, "Method | ExportedProgram"]


def export_methods(
    model: Model,
    example_inputs: Sequence[Any] | None,
    kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any,
    strict: bool,
) -> dict[str, ExportedProgram]:
    """One ExportedProgram per method name; a single module becomes `forward`.

    Raises LoweringError when torch.export refuses a method, TypeError when `model` is none
    of the forms that `lower` takes.
    """
    methods: Mapping[str, Method | ExportedProgram]
    if isinstance(model, torch.nn.Module):
        if example_inputs is None:
            raise TypeError(
                "lower: a module needs example_inputs, the tuple that it is called with"
            )
        if isinstance(example_inputs, torch.Tensor):
            raise TypeError("lower: example_inputs is a tensor; pass the tuple (tensor,)")
        methods = {"forward": Method(model, tuple(example_inputs), kwargs, dynamic_shapes)}
    elif isinstance(model, ExportedProgram):
        methods = {"forward": model}
    elif isinstance(model, Mapping):
        methods = model
    else:
        raise TypeError(
            f"lower: model is a {type(model).__name__}; it can be a torch.nn.Module, "
            "a torch.export.ExportedProgram, or {name: Method}"
        )
    if not methods:
        raise TypeError("lower: the dict of methods is empty")
    return {name: _export(name, method, strict) for name, method in methods.items()}


def _export(name: str, method: Method | ExportedProgram, strict: bool) -> ExportedProgram:
    if isinstance(method, ExportedProgram):
        refuse_one_tensor_for_two(name, method, pytree.tree_leaves(method.example_inputs))
        return _with_own_graph(method)
    if not isinstance(method, Method):
        raise TypeError(
            f"lower: method '{name}' is a {type(method).__name__}; it can be a Method(module, "
            "inputs, kwargs, dynamic_shapes) or an ExportedProgram"
        )
    given: dict[int, torch.Tensor] = {}  # by the ids of what stands for them

    def own(example: torch.Tensor) -> torch.Tensor:
        packed = _packed(example)
        if id(packed) in given:  # torch.export has one value for two inputs that are one tensor
            packed = packed.clone()
        given[id(packed)] = example
        return packed

    inputs, kwargs = pytree.tree_map_only(
        torch.Tensor, own, (method.inputs, dict(method.kwargs or {}))
    )
    program = _exported(name, method, inputs, kwargs, strict)
    examples = [given.get(id(leaf), leaf) for leaf in pytree.tree_leaves(program.example_inputs)]
    refuse_one_tensor_for_two(name, program, examples)
    return program


def _exported(name: str, method: Method, inputs: Any, kwargs: Any, strict: bool) -> ExportedProgram:
    with stage("torch.export", name), torch.no_grad(), keep_user_frames():
        try:
            return torch.export.export(
                method.module,
                inputs,
                kwargs,
                dynamic_shapes=method.dynamic_shapes,
                strict=strict,
            )
        except Exception as error:
            causes = every_cause(error, name, method.module, inputs, kwargs, method.dynamic_shapes)
            if not causes:
                raise
            noun = "place" if len(causes) == 1 else "places"
            raise LoweringError(
                f"torch.export of '{name}' failed in {len(causes)} {noun}:", causes
            ) from error


def _with_own_graph(program: ExportedProgram) -> ExportedProgram:
    """What lowering may rewrite; the tensors are the user's."""
    own = copy.copy(program)
    own._graph_module = copy.deepcopy(program.graph_module)
    own._graph_signature = copy.deepcopy(program.graph_signature)
    return own


def _packed(example: torch.Tensor) -> torch.Tensor:
    """The example with memory of its own, whose strides say no more than ExecuTorch can.

    ExecuTorch knows no stride of 0, and finds another dim order in odd strides of sizes of 1;
    torch.export takes views of one tensor for something that the program knows of.
    """
    strides = [
        stride for size, stride in zip(example.shape, example.stride(), strict=True) if size > 1
    ]
    if 0 in strides:
        return example.contiguous()
    if example.is_contiguous() and example.stride() != _default_strides(example):
        return example.clone(memory_format=torch.contiguous_format)
    return example if example._base is None else example.clone()


def _default_strides(example: torch.Tensor) -> tuple[int, ...]:
    return tuple(torch.empty(example.shape, device="meta").stride())
