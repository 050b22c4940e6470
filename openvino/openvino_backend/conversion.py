"""A module of ATen operators as an OpenVINO model, and the model compiled for a device."""

from collections.abc import Sequence
from typing import Any

import torch
from backend_common.dim_orders import order_of
from backend_common.io_table import Alias, Value
from backend_common.sizes import UNBOUNDED, bounds
from torch import fx
from torch.utils import _pytree as pytree

from openvino_backend.narrowing import narrow_constants

# OpenVINO's own names, so that importing this module does not import OpenVINO.
ELEMENT_TYPES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "boolean",
}


class ConversionError(Exception):
    """OpenVINO could not convert or compile a partition."""


def describe(value: object) -> Value:
    """What a node's fake value says about shape and dtype."""
    if isinstance(value, torch.Tensor):
        return Value(value.dtype, tuple(bounds(size) for size in value.shape), order_of(value))
    if isinstance(value, (int, torch.SymInt)):
        return Value(None, ())
    raise ConversionError(f"a value of type {type(value).__name__} cannot enter or leave OpenVINO")


def values(module: fx.GraphModule) -> tuple[list[Value], list[Value]]:
    """The inputs and outputs of a module."""
    inputs = [describe(n.meta["val"]) for n in module.graph.nodes if n.op == "placeholder"]
    results: Sequence[fx.Node] = module.graph.output_node().args[0]  # type: ignore[assignment]
    return inputs, [describe(node.meta["val"]) for node in results]


def convert(module: fx.GraphModule) -> Any:
    """The module as an `openvino.Model` whose inputs and results have the module's dtypes."""
    from openvino.frontend import FrontEndManager
    from openvino.frontend.pytorch.fx_decoder import TorchFXPythonDecoder

    import openvino
    from openvino import opset13

    _refuse_sizes_as_numbers(module)
    inputs, outputs = values(module)
    types = [_element_type(value) for value in inputs]
    shapes = [
        openvino.PartialShape([openvino.Dimension(low, high) for low, high in value.bounds])
        for value in inputs
    ]
    try:
        decoder = TorchFXPythonDecoder(
            module,
            input_shapes=shapes,
            input_types=[value.dtype or torch.int64 for value in inputs],
        )
        frontend = FrontEndManager().load_by_framework("pytorch")
        model = frontend.convert(frontend.load(decoder))
        for port, element_type, shape in zip(model.inputs, types, shapes, strict=True):
            port.get_node().set_element_type(element_type)
            port.get_node().set_partial_shape(shape)
        narrow_constants(model)
        model.validate_nodes_and_infer_types()
        for result, value in zip(model.get_results(), outputs, strict=True):
            promised = _element_type(value)
            source = result.input_value(0)
            if source.get_element_type() != promised:
                result.input(0).replace_source_output(
                    opset13.convert(source, promised.get_type_name()).output(0)
                )
        model.validate_nodes_and_infer_types()
        for result, value in zip(model.get_results(), outputs, strict=True):
            _check(result.get_output_partial_shape(0), value)
    except ConversionError:
        raise
    except Exception as error:  # the frontend raises RuntimeError, KeyError, IndexError, ...
        raise ConversionError(brief(error)) from error
    return model


def _refuse_sizes_as_numbers(module: fx.GraphModule) -> None:
    """The frontend would ask a size that stands in an argument for its number, and so fix it."""
    for node in module.graph.nodes:
        for leaf in pytree.tree_leaves((node.args, node.kwargs)):
            if isinstance(leaf, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                raise ConversionError(f"an argument of {node.name} is a dynamic size, {leaf}")


def aliases(model: Any) -> dict[int, Alias]:
    """The outputs of an `openvino.Model` that are no values of their own, by index."""
    inputs = {node.get_friendly_name(): i for i, node in enumerate(model.get_parameters())}
    seen: dict[tuple[str, int], int] = {}
    found: dict[int, Alias] = {}
    for index, result in enumerate(model.get_results()):
        source = result.input_value(0)
        node = source.get_node()
        key = (node.get_friendly_name(), source.get_index())
        if node.get_type_name() == "Parameter":
            found[index] = Alias(True, inputs[node.get_friendly_name()])
        elif key in seen:
            found[index] = Alias(False, seen[key])
        seen.setdefault(key, index)
    return found


def _element_type(value: Value) -> Any:
    import openvino

    return getattr(openvino.Type, ELEMENT_TYPES[value.dtype or torch.int64])


def _check(shape: Any, value: Value) -> None:
    """The frontend takes the shape of some results otherwise than PyTorch: better no result."""
    if shape.rank.is_dynamic:
        return
    if len(shape) != len(value.bounds):
        raise ConversionError(f"OpenVINO gives rank {len(shape)}, PyTorch {len(value.bounds)}")
    for index, (found, (low, high)) in enumerate(zip(shape, value.bounds, strict=True)):
        if found.is_static and not (
            low <= found.get_length() and (high == UNBOUNDED or found.get_length() <= high)
        ):
            raise ConversionError(
                f"OpenVINO gives dimension {index} the size {found.get_length()}, "
                f"PyTorch {low if low == high else (low, high)}"
            )


# What the frontend's long texts consist of beside the cause.
_NOISE = (
    "Check '",
    "Exception from",
    "Exception happened",
    "FrontEnd API failed",
    "Model wasn't fully",
    "Summary",
    "While ",
    "At:",
    "/",
)


def brief(error: Exception) -> str:
    """The line of an OpenVINO error that tells the cause."""
    lines = [line.strip() for line in str(error).splitlines()]
    telling = [line for line in lines if line and not line.startswith(_NOISE)]
    if not telling:
        return f"{type(error).__name__}: {error}"[:200]
    # "-- aten.x.default with a message:" announces the cause, which is the next line.
    return " ".join(telling[:2] if telling[0].startswith("--") else telling[:1])[:200]
