"""Inductor's C++ for a module, and the constants that go with it; nothing is compiled here.

Written against torch 2.13: Inductor has no official way to stop at the source. What is replaced
in it stands in `_stopped_at_the_source`, and is put back.
"""

import contextlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch import fx

from aoti_backend import related_sizes, sizes_from_outside
from aoti_backend.devices import Device

# Of torch's runtime for compiled programs, which reads the blob of constants.
_ALIGNMENT = 64

_OPTIONS: Mapping[str, object] = {
    "cpp_wrapper": True,
    # Functions of a C interface, never C++ symbols of torch.
    "aot_inductor.link_libtorch": False,
    "aot_inductor.package": True,
    "aot_inductor.package_constants_in_so": False,
    "aot_inductor.package_constants_on_disk_format": "binary_blob",
    # Names the generated classes; the default is drawn from paths.
    "aot_inductor.model_name_for_generated_files": "program",
    # Equal programs give equal bytes, on any machine.
    "max_autotune": False,
    "benchmark_kernel": False,
    "triton.autotune_pointwise": False,
    "fx_graph_cache": False,
    "fx_graph_remote_cache": False,
    "autotune_local_cache": False,
    "autotune_remote_cache": False,
    "force_disable_caches": True,
    # Results have the layouts that their meta kernels promise.
    "layout_optimization": False,
    "comprehensive_padding": False,
    "keep_output_stride": True,
    "freezing": False,
    # Each operator rounds to its dtype, as in eager.
    "emulate_precision_casts": True,
}


@dataclass(frozen=True)
class External:
    """What Inductor leaves to a kernel of the library.

    operator: as Inductor calls it, `aten.scatter_reduce_.two`.
    nodes: names of the nodes of the module that it comes from.
    """

    operator: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """wrapper, kernels: C++ translation units, the second may be empty.
    constants: the blob that AOTInductorModelUpdateConstantsFromBlob reads.
    externals: every operator that is not code of these units.
    proxied: those that the wrapper hands to a proxy executor, `mylib::fancy`.
    """

    wrapper: str
    kernels: str
    constants: bytes
    externals: tuple[External, ...]
    proxied: tuple[str, ...]


def generate(module: fx.GraphModule, inputs: Sequence[Any], device: Device, vectors: int) -> Source:
    """The source of a module of ATen operators with a flat list of inputs and outputs.

    inputs: fake tensors and symbolic integers. vectors: bits of a vector register.
    """
    from torch._inductor.compile_fx import compile_fx_aot

    for node in module.graph.nodes:
        node.meta.pop("from_node", None)  # Inductor's nodes then name ours as their first origin
    names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    found: list[Source] = []
    with (
        _stopped_at_the_source(found, vectors),
        related_sizes.checked_by_the_wrapper(names),
        device.numerics(),
        torch.no_grad(),
        sizes_from_outside.nothing_assumed(inputs),
        sizes_from_outside.as_symbols_of_their_own(inputs) as told,
    ):
        compile_fx_aot(module, told, config_patches={**_OPTIONS, **device.inductor})
    (source,) = found
    return source


@contextlib.contextmanager
def _stopped_at_the_source(found: list[Source], vectors: int) -> Iterator[None]:
    """Inductor hands its source to `found`, asks this machine for nothing, and says nothing."""
    from torch._inductor import codecache, compile_fx, config, cpu_vec_isa, decomposition
    from torch._inductor.codegen.cpp import CppOverrides
    from torch._inductor.fx_passes import fuse_attention

    from aoti_backend import decompositions

    def decomposition_table() -> dict[Any, Any]:
        return decompositions.table(decomposition.select_decomp_table())

    def take(
        graph: Any,
        wrapper_code: str,
        kernel_code: str,
        serialized_extern_kernel_nodes: str | None,
        **unused: object,
    ) -> list[str]:
        proxied = _proxied(serialized_extern_kernel_nodes)
        externals = tuple(_externals(graph))
        found.append(Source(wrapper_code, kernel_code, _constants(graph), externals, proxied))
        return []

    isa = {256: cpu_vec_isa.VecAVX2, 512: cpu_vec_isa.VecAVX512}[vectors]()
    with (
        _instead_of_torchs(decompositions.COMPOSITES),
        mock.patch.object(codecache.AotCodeCompiler, "compile", staticmethod(take)),
        mock.patch.object(compile_fx, "select_decomp_table", decomposition_table),
        mock.patch.object(fuse_attention, "_scaled_dot_product_attention", _scaled_by_a_tensor),
        mock.patch.object(cpu_vec_isa, "valid_vec_isa_list", lambda: [isa]),
        # C++ makes ints of narrower integers: other operands than the next function takes.
        mock.patch.object(CppOverrides, "abs", staticmethod(_absolute)),
        mock.patch.object(CppOverrides, "truncdiv", staticmethod(_truncated_quotient)),
        # The inputs that we give, not the values of the module's placeholders.
        mock.patch.object(compile_fx, "_extract_inputs_from_exported_gm", lambda _, given: given),
        sizes_from_outside.taken_by_the_wrapper(),
        config.patch({"cpp.simdlen": vectors, "cpp.vec_isa_ok": True}),
        _quiet("torch._inductor"),
    ):
        yield


def _absolute(x: str) -> str:
    return f"decltype({x})(std::abs({x}))"


def _truncated_quotient(x: str, y: str) -> str:
    return f"decltype({x})({x} / {y})"


def _scaled_by_a_tensor(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    *,
    scale: float | torch.Tensor | None = None,
    **options: Any,
) -> torch.Tensor:
    """What Inductor makes of an attention written out, whose scale may be no number; none of its
    patterns is causal.
    """
    attend: Any = torch.ops.aten.scaled_dot_product_attention
    if isinstance(scale, torch.Tensor) and scale.dim():
        scores = query @ key.transpose(-2, -1) * scale
        weights = torch.softmax(scores if attn_mask is None else scores + attn_mask, -1)
        return torch.dropout(weights, dropout_p, True) @ value if dropout_p else weights @ value
    if isinstance(scale, torch.Tensor):
        query, scale = query * scale, 1.0
    result: torch.Tensor = attend(query, key, value, attn_mask, dropout_p, scale=scale, **options)
    return result


@contextlib.contextmanager
def _instead_of_torchs(composites: Mapping[Any, Callable[..., torch.Tensor]]) -> Iterator[None]:
    """Composite operators as these functions, not as torch's own."""
    with contextlib.ExitStack() as stack:
        for operator, function in composites.items():
            stack.callback(operator._dispatch_cache.clear)
            functions = dict.fromkeys(operator.py_kernels, function)
            stack.enter_context(mock.patch.dict(operator.py_kernels, functions))
            operator._dispatch_cache.clear()
        yield


@contextlib.contextmanager
def _quiet(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


_BODIES = ("true_subgraph", "false_subgraph", "cond_subgraph", "body_subgraph", "subgraph")


def _externals(graph: Any) -> Iterator[External]:
    from torch._inductor import ir

    for operation in graph.operations:
        for name in _BODIES:
            body: Any = getattr(operation, name, None)
            if body is not None and body.graph is not None:
                yield from _externals(body.graph)
        if isinstance(operation, ir.ExternKernel) and not isinstance(operation, ir.MultiOutput):
            operator = str(operation.op_overload or operation.python_kernel_name or "")
            yield External(operator, tuple(_origins(operation)))


def _origins(operation: Any) -> list[str]:
    """Of what it was fused from, the node that it was made for; all of them where that is not
    known.
    """
    if operation.origin_node is not None and (names := list(_names(operation.origin_node))):
        return names
    return sorted({name for node in operation.origins for name in _names(node)})


def _names(node: fx.Node) -> Iterator[str]:
    """Of the nodes, in the module that was passed in, which one of Inductor's comes from."""
    for origin in node.meta.get("from_node", ()):
        while origin.from_node:
            origin = origin.from_node[-1]
        yield origin.name


def _proxied(serialized: str | None) -> tuple[str, ...]:
    if not serialized:
        return ()
    return tuple(node["node"]["target"] for node in json.loads(serialized)["nodes"])


def _constants(graph: Any) -> bytes:
    """Every constant's storage, each at a multiple of 64 bytes, in the wrapper's order."""
    pieces: list[bytes] = []
    for name in graph.constants:
        if name in graph.folded_constants:
            continue
        storage = graph.get_original_value_of_constant(name).untyped_storage()
        # A tensor of bytes: a storage itself is read one number at a time.
        data = torch.empty(0, dtype=torch.uint8).set_(storage).numpy().tobytes()
        pieces += [data, bytes(-len(data) % _ALIGNMENT)]
    return b"".join(pieces)
