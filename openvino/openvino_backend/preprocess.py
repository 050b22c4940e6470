"""Partitions as the bytes that the delegate loads: a payload each, and the weights of all."""

import hashlib
import struct
import warnings
from dataclasses import dataclass
from typing import Any, final

from backend_common import subgraph
from backend_common.diagnostics import source_line
from backend_common.errors import LoweringError, WithdrawalError
from backend_common.io_table import Interface, io_section
from backend_common.options import option_error
from backend_common.payload import Section, build, named_data_section, target_section
from backend_common.report import Row
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.export import ExportedProgram

from openvino_backend import (
    blob_code,
    compilation,
    conversion,
    ir,
    operators,
    options,
    passes,
)
from openvino_backend.conversion import ConversionError
from openvino_backend.options import Options
from openvino_backend.weights import PAGE, Weights

_BLOB_VERSION = 1


class PrecompileWarning(UserWarning):
    """OpenVINO wrote a compiled model that computes otherwise when it is read back."""


@final
class OpenvinoBackend(BackendDetails):
    """The class's name is the backend's id in every program."""

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        return _preprocess([("", edge_program, compile_specs)])[0]

    @classmethod
    def preprocess_multimethod(
        cls,
        edge_programs: dict[str, list[ExportedProgram]],
        compile_specs: dict[str, list[list[CompileSpec]]],
    ) -> dict[str, list[PreprocessResult]]:
        """All partitions of all methods together, so that each constant is stored once."""
        partitions = [
            (method, program, specs)
            for method, programs in edge_programs.items()
            for program, specs in zip(programs, compile_specs[method], strict=True)
        ]
        results = iter(_preprocess(partitions))
        return {
            method: [next(results) for _ in programs] for method, programs in edge_programs.items()
        }


def _preprocess(
    partitions: list[tuple[str, ExportedProgram, list[CompileSpec]]],
) -> list[PreprocessResult]:
    weights = Weights()
    parts: list[Part] = []
    # As in the partitioner: under a fake mode the constants would have no values.
    with unset_fake_temporarily():
        for method, program, specs in partitions:
            chosen = options.from_compile_specs(specs)
            try:
                parts.append(part(subgraph.whole(program), chosen, weights))
            except ConversionError as error:
                raise _withdrawal(method, program, chosen, error) from error
    data = weights.data()
    digest = hashlib.sha256(data)
    key = f"openvino_weights_{digest.hexdigest()}"
    section = named_data_section(len(data), digest.digest(), key) if data else None
    results = [PreprocessResult(each.payload(section)) for each in parts]
    if data:
        store = NamedDataStore()
        store.add_named_data(key, data, alignment=PAGE)
        # Once is enough: the program keeps one store for all its delegates.
        results[0].data_store_output = store.get_named_data_store_output()
    return results


def _withdrawal(
    method: str, program: ExportedProgram, chosen: Options, error: ConversionError
) -> WithdrawalError:
    """The partitioner has converted it, so this is the device's compiler.

    Names the operators that cannot be compiled alone; all of them, when each can.
    """
    nodes = [node for node in program.graph.nodes if operators.name_of(node)]
    guilty = {
        node: reason
        for node in nodes
        if operators.name_of(node) != "getitem" and (reason := _objection(program, node, chosen))
    }
    blamed = guilty or dict.fromkeys(nodes, str(error))
    rows = [
        Row(
            *(method, operators.name_of(node), node.name, source_line(node), False, "openvino"),
            reason=f"OpenVINO cannot compile it: {reason}",
            remedy=f"leave it to the portable kernels with keep=['{operators.name_of(node)}']",
        )
        for node, reason in blamed.items()
    ]
    noun = "operator" if len(rows) == 1 else "operators"
    return WithdrawalError(f"OpenVINO cannot compile {len(rows)} {noun} for {chosen.device}:", rows)


def _objection(program: ExportedProgram, node: fx.Node, chosen: Options) -> str:
    """Why a node cannot be compiled alone; "" when it can."""
    items = [user for user in node.users if operators.name_of(user) == "getitem"]
    nodes = [node, *items]
    inputs = subgraph.inputs_of(program, nodes)
    try:
        model = to_model(subgraph.extract(program, nodes, inputs, items or [node]), chosen)
        if device := compilation.device_here(chosen.device):
            compilation.compile_model(model, device)
    except ConversionError as error:
        return str(error)
    return ""


def to_model(module: fx.GraphModule, chosen: Options) -> Any:
    """The module, rewritten where OpenVINO computes otherwise, as an `openvino.Model`."""
    passes.run(module, chosen)
    return conversion.convert(module)


@dataclass(frozen=True)
class Blob:
    """A compiled model: its place in the weights, what it runs on, which of it is code."""

    offset: int
    size: int
    device: str
    isa: str
    code: bytes


@dataclass(frozen=True)
class Part:
    """What a partition's payload says, but for the weights, which are known after the last one."""

    device: str
    interface: Interface
    xml: bytes
    blob: Blob | None

    def payload(self, weights: bytes | None) -> bytes:
        target = {
            "backend": "openvino",
            "device": self.device,
            "openvino": compilation.installed_version(),
        }
        sections = [Section("io", io_section(self.interface)), Section("ir", self.xml)]
        if weights is not None:
            sections.append(Section("weights", weights))
        if self.blob is not None:
            target |= {"blob_device": self.blob.device, "isa": self.blob.isa}
            place = struct.pack("<IIQQ", _BLOB_VERSION, 0, self.blob.offset, self.blob.size)
            sections += [Section("blob", place), Section("code", self.blob.code)]
        return build([Section("target", target_section(target)), *sections])


def part(module: fx.GraphModule, chosen: Options, weights: Weights) -> Part:
    inputs, outputs = conversion.values(module)
    model = to_model(module, chosen)
    # Serialized first: it names the nodes, for the compiled model, too.
    written = ir.serialize(model)
    interface = Interface(inputs, outputs, conversion.aliases(model))
    blob = _blob(model, written, chosen, weights)
    return Part(chosen.device, interface, written.placed(weights.add).encode(), blob)


def _blob(model: Any, written: ir.Ir, chosen: Options, weights: Weights) -> Blob | None:
    """Compiles the model where a device for it is here, and keeps the result if it is wanted."""
    device = compilation.device_here(chosen.device)
    if chosen.precompile and device != chosen.device:
        raise _no_device(chosen.device)
    if device is None:
        return None
    compiled = compilation.compile_model(model, device)
    if not chosen.precompile:
        return None
    blob = compilation.export(compiled)
    if reason := compilation.difference_after_import(compiled, blob, device):
        warnings.warn(f"the compiled model is not kept: {reason}", PrecompileWarning, stacklevel=2)
        return None
    offset, held = weights.add_blob(blob, written.constants.values())
    code = blob_code.code_section(blob, held)
    return Blob(offset, len(blob), device, compilation.isa(blob), code)


def _no_device(device: str) -> LoweringError:
    there = ", ".join(compilation.available_devices())
    return option_error(
        "openvino",
        "precompile",
        f"precompile=True needs device {device!r} itself, and this machine has {there}",
        "lower without precompile: the program then carries OpenVINO's IR, which is compiled "
        "where it is loaded",
    )
