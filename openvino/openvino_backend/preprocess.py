"""A partition as the bytes that the delegate loads."""

import struct
from typing import Any, final

import torch
from backend_common.errors import LoweringError
from backend_common.payload import Section, build
from backend_common.report import Row
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.export import ExportedProgram

from openvino_backend import blob_code, conversion, operators, options, passes, subgraph
from openvino_backend.conversion import ConversionError, Value
from openvino_backend.options import Options

# ExecuTorch's ScalarType; 255 marks a symbolic integer, which is no tensor.
_SCALAR_TYPES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 11,
    torch.bfloat16: 15,
}
_SYMBOLIC_INTEGER = 255
_IO_VERSION = 1
_DYNAMIC = 1


@final
class OpenvinoBackend(BackendDetails):
    """The class's name is the backend's id in every program."""

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        chosen = options.from_compile_specs(compile_specs)
        # As in the partitioner: under a fake mode the constants would have no values.
        with unset_fake_temporarily():
            module = subgraph.whole(edge_program)
            names = [operators.name_of(node) for node in module.graph.nodes]
            try:
                return PreprocessResult(processed_bytes=payload(module, chosen))
            except ConversionError as error:
                raise _refusal(names, chosen, error) from error


def _refusal(names: list[str], chosen: Options, error: ConversionError) -> LoweringError:
    """The partitioner has converted it, so this is the device's compiler."""
    unique = dict.fromkeys(name for name in names if name)
    summary = f"OpenVINO cannot compile {len(unique)} operators for {chosen.device}: {error}"
    remedy = "leave an operator to the portable kernels with keep=[its name]"
    rows = [Row("", name, "", "", False, "openvino", str(error), remedy) for name in unique]
    return LoweringError(summary, rows)


def to_model(module: fx.GraphModule, chosen: Options) -> Any:
    """The module, rewritten where OpenVINO computes otherwise, as an `openvino.Model`."""
    passes.run(module, chosen)
    return conversion.convert(module)


def payload(module: fx.GraphModule, chosen: Options) -> bytes:
    inputs, outputs = conversion.interface(module)
    compiled = conversion.compile_model(to_model(module, chosen), chosen.device)
    blob = conversion.export(compiled)
    sections = [
        Section("target", target_section(conversion.target(blob, chosen.device))),
        Section("io", io_section(inputs, outputs)),
    ]
    if weights := blob_code.weight_ranges(blob, module):
        sections.append(Section("code", blob_code.code_section(blob, weights)))
    return build([*sections, Section("blob", blob, weights=bool(weights))])


def target_section(target: dict[str, str]) -> bytes:
    return "".join(f"{key}={value}\n" for key, value in sorted(target.items())).encode()


def io_section(inputs: list[Value], outputs: list[Value]) -> bytes:
    parts = [struct.pack("<III", _IO_VERSION, len(inputs), len(outputs))]
    for value in (*inputs, *outputs):
        dtype = _SYMBOLIC_INTEGER if value.dtype is None else _SCALAR_TYPES[value.dtype]
        flags = _DYNAMIC if value.dynamic else 0
        parts.append(struct.pack("<IIII", dtype, len(value.bounds), flags, 0))
        parts += [struct.pack("<qq", low, high) for low, high in value.bounds]
    return b"".join(parts)
