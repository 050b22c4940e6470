"""Partitions as the bytes that the delegate loads: a payload each, code and constants beside it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

import torch
from backend_common import subgraph
from backend_common.diagnostics import source_line
from backend_common.dim_orders import order_of
from backend_common.errors import LoweringError, WithdrawalError
from backend_common.io_table import Interface, Value, io_section
from backend_common.operators import operator_name
from backend_common.payload import Section, build, named_data_section, target_section
from backend_common.report import Row
from backend_common.sizes import bounds, forget_pending_sizes
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.export import ExportedProgram

from aoti_backend import (
    audit,
    codegen,
    compilation,
    options,
    passes,
    runtime,
    support,
)
from aoti_backend.audit import Missing
from aoti_backend.devices import Device, named

_SHIMS_VERSION = "1"
_ALIGNMENT = 64  # a cache line
_PAGE = 4096


@final
class AotiCpuBackend(BackendDetails):
    """The class's name is the backend's id in every program."""

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        return _preprocess(named("cpu"), [("", edge_program, compile_specs)])[0]

    @classmethod
    def preprocess_multimethod(
        cls,
        edge_programs: dict[str, list[ExportedProgram]],
        compile_specs: dict[str, list[list[CompileSpec]]],
    ) -> dict[str, list[PreprocessResult]]:
        """All partitions of all methods together, so that all refusals are told at once."""
        partitions = [
            (method, program, specs)
            for method, programs in edge_programs.items()
            for program, specs in zip(programs, compile_specs[method], strict=True)
        ]
        results = iter(_preprocess(named("cpu"), partitions))
        return {
            method: [next(results) for _ in programs] for method, programs in edge_programs.items()
        }


def _preprocess(
    device: Device, partitions: Sequence[tuple[str, ExportedProgram, list[CompileSpec]]]
) -> list[PreprocessResult]:
    there = audit.kernels(runtime.kernel_list(device))
    # ExecuTorch calls this under a fake mode, in which a constant's values are not there.
    with unset_fake_temporarily():
        parts = [
            Part(device, method, program, options.from_compile_specs(specs))
            for method, program, specs in partitions
        ]
        refused = [row for part in parts for row in part.generate(there)]
        if refused:
            raise _refusal(device, parts, refused)
        results = [part.compile(there) for part in parts]
        if refused := [row for part in parts for row in part.refused]:
            raise _refusal(device, parts, refused)
        return [result for result in results if result is not None]


def _refusal(device: Device, parts: Sequence["Part"], rows: list[Row]) -> LoweringError:
    rows = list(dict.fromkeys(rows))
    leave = all(part.options.missing_kernels == "leave" for part in parts)
    count = len({row.node for row in rows})
    noun = "operator has" if count == 1 else "operators have"
    kind = WithdrawalError if leave else LoweringError
    return kind(f"{count} {noun} no kernel in the {device.name} shim library:", rows)


class Part:
    """One partition on its way to a payload."""

    def __init__(
        self, device: Device, method: str, program: ExportedProgram, chosen: options.Options
    ) -> None:
        self.device = device
        self.method = method
        self.module = subgraph.whole(program)
        self.options = chosen
        self._program = program
        self._isa = device.isas[chosen.isa]()
        self._nodes = {node.name: node for node in program.graph.nodes}
        self._rows = {
            name: (operator, source_line(node))
            for name, node in self._nodes.items()
            if (operator := operator_name(node))
        }
        self._interface = interface_of(self.module)
        self._source: codegen.Source | None = None
        self.refused: list[Row] = []  # what the compiler makes no code of

    def generate(self, there: frozenset[str]) -> list[Row]:
        """Writes the source; returns what has no kernel, or cannot be compiled."""
        try:
            self._source = source = self._generate(self.module)
        except Exception as error:  # Inductor raises whatever it likes
            return self._cannot(error)
        return [
            row for each in audit.missing_in_source(source, there) for row in self._missing(each)
        ]

    def _generate(self, module: fx.GraphModule) -> codegen.Source:
        passes.run(module)
        forget_pending_sizes(module.graph)
        return codegen.generate(module, inputs_of(module), self.device, self._isa.vectors)

    def _cannot(self, error: Exception) -> list[Row]:
        """Rows for the operators for which Inductor writes no code; for all, when each is right."""
        nodes = [node for node in self._nodes.values() if node.name in self._rows]
        reasons = {node.name: reason for node in nodes if (reason := self._objection(node))}
        return [
            self._row(name, f"Inductor cannot compile it: {reason}")
            for name, reason in (reasons or dict.fromkeys(self._rows, _brief(error))).items()
        ]

    def _objection(self, node: fx.Node) -> str:
        """Why Inductor writes no code for a node alone; "" when it does."""
        items = [user for user in node.users if support.is_selection(user)]
        try:
            alone = subgraph.extract(
                self._program,
                [node, *items],
                subgraph.inputs_of(self._program, [node, *items]),
                items or [node],
            )
            self._generate(alone)
        except Exception as error:  # Inductor raises whatever it likes
            return _brief(error)
        return ""

    def _uncompilable(self) -> dict[str, str]:
        """The nodes with which the part stops to compile, taken in their order, and why; without
        them, it does compile.
        """
        groups: list[list[fx.Node]] = []
        for node in self._program.graph.nodes:
            if node.op != "call_function":
                continue
            if support.is_selection(node) and groups:
                next(group for group in reversed(groups) if node.args[0] in group).append(node)
            else:
                groups.append([node])
        found: dict[str, str] = {}
        while reason := self._refusal_of(groups):
            compiles, refused = 0, len(groups)
            while refused - compiles > 1:
                middle = (compiles + refused) // 2
                if why := self._refusal_of(groups[:middle]):
                    refused, reason = middle, why
                else:
                    compiles = middle
            node = groups.pop(refused - 1)[0]
            if node.name not in self._rows:
                return {}
            found[node.name] = reason
        return found

    def _refusal_of(self, groups: Sequence[Sequence[fx.Node]]) -> str:
        """What the compiler says to these nodes alone; "" where that is nothing."""
        order = {node: index for index, node in enumerate(self._nodes.values())}
        nodes = sorted((node for group in groups for node in group), key=order.__getitem__)
        try:
            inputs, results = subgraph.inputs_of(self._program, nodes), subgraph.results_of(nodes)
            source = self._generate(subgraph.extract(self._program, nodes, inputs, results))
            compilation.try_out(source, self._isa)
        except compilation.SourceError as error:
            return _brief(error)
        except Exception:  # Inductor raises whatever it likes; another part is to blame
            return ""
        return ""

    def _row(self, name: str, reason: str, remedy: str = "") -> Row:
        operator, source = self._rows[name]
        leave = f"leave it to the portable kernels with keep=['{operator}']"
        backend = f"aoti-{self.device.name}"
        return Row(
            *(self.method, operator, name, source, False, backend),
            reason=reason,
            remedy=f"{remedy}, or {leave}" if remedy else leave,
        )

    def _missing(self, missing: Missing) -> list[Row]:
        needs = f"needs {missing.symbol}" if missing.symbol else "goes through a proxy executor"
        if missing.operator and missing.symbol:
            needs += f" (Inductor calls {missing.operator})"
        remedy = "" if missing.symbol else "register a C shim for it"
        names = [name for name in missing.nodes if name in self._rows]
        return [self._row(name, f"no kernel: it {needs}", remedy) for name in names or self._rows]

    def compile(self, there: frozenset[str]) -> PreprocessResult | None:
        """None, and rows in `refused`, where the compiler refuses what Inductor wrote."""
        source = self._source
        assert source is not None

        def check(objects: Sequence[Path]) -> None:
            missing = audit.missing_in_objects(objects, source, there)
            if rows := [row for each in missing for row in self._missing(each)]:
                raise _refusal(self.device, [self], rows)

        try:
            code = compilation.build(source, self._isa, runtime.shim_library(self.device), check)
        except compilation.SourceError as error:
            self.refused = [
                self._row(name, f"its C++ does not compile: {reason}")
                for name, reason in (
                    self._uncompilable() or dict.fromkeys(self._rows, _brief(error))
                ).items()
            ]
            return None
        store = NamedDataStore()
        sections = [
            Section("target", target_section(self._target())),
            Section("io", io_section(self._interface)),
            Section("code", _stored(store, "code", code, _ALIGNMENT)),
        ]
        if source.constants:
            sections.append(Section("weights", _stored(store, "weights", source.constants, _PAGE)))
        return PreprocessResult(
            build(sections), data_store_output=store.get_named_data_store_output()
        )

    def _target(self) -> dict[str, str]:
        return {
            "backend": "aoti",
            "device": self.device.name,
            "isa": self._isa.name,
            "torch": torch.__version__.partition("+")[0],
            "shims": _SHIMS_VERSION,
        }


def _brief(error: Exception) -> str:
    """The first line that says something, of texts that go on for pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


def _stored(store: NamedDataStore, kind: str, data: bytes, alignment: int) -> bytes:
    """Adds bytes to the program's named data, once if they are equal, and refers to them."""
    digest = hashlib.sha256(data)
    key = f"aoti_{kind}_{digest.hexdigest()}"
    store.add_named_data(key, data, alignment=alignment)
    return named_data_section(len(data), digest.digest(), key)


def interface_of(module: fx.GraphModule) -> Interface:
    inputs = [_value(node.meta["val"]) for node in module.graph.nodes if node.op == "placeholder"]
    (results,) = module.graph.output_node().args
    outputs = [_value(node.meta["val"]) for node in results]  # type: ignore[union-attr]
    return Interface(inputs, outputs)


def _value(value: Any) -> Value:
    if isinstance(value, torch.Tensor):
        return Value(value.dtype, tuple(bounds(size) for size in value.shape), order_of(value))
    return Value(None, ())


def inputs_of(module: fx.GraphModule) -> list[Any]:
    """What Inductor takes for inputs: packed in the dim order in which ExecuTorch hands them in."""
    return [packed(node.meta["val"]) for node in module.graph.nodes if node.op == "placeholder"]


def packed(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    strides: dict[int, Any] = {}
    step: Any = 1
    for dimension in reversed(order_of(value)):
        strides[dimension] = step
        step = step * value.shape[dimension]
    wanted = [strides[dimension] for dimension in range(value.dim())]
    if list(value.stride()) == wanted:
        return value
    with value.fake_mode:
        return torch.empty_strided(value.shape, wanted, dtype=value.dtype, device=value.device)
