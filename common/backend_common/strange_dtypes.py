"""Dtypes that ExecuTorch stores and hardly any of its kernels computes."""

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from backend_common.diagnostics import source_line
from backend_common.graph import graph_modules
from backend_common.operators import operator_name
from backend_common.report import Row

# What the runtime's libraries compute with.
_USUAL = frozenset(
    {
        *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool),
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    }
)
_STORED = frozenset({torch.uint16, torch.uint32})

# Measured: these copy bytes, whatever they are.
_BYTES = frozenset(
    {
        "aten.alias_copy.default",
        "aten.expand_copy.default",
        "aten.index.Tensor",
        "aten.select_copy.int",
        "aten.slice_copy.Tensor",
        "aten.squeeze_copy.dims",
        "aten.unsqueeze_copy.default",
        "aten.view_copy.default",
        "dim_order_ops._clone_dim_order.default",
    }
)


def strange_dtypes(method: str, program: ExportedProgram) -> Iterator[Row]:
    """Rows for the operators outside of delegates that no kernel computes in their dtype."""
    for module in graph_modules(program.graph_module):
        for node in module.graph.nodes:
            name = operator_name(node)
            if not name:
                continue
            values = [each.meta.get("val") for each in (*node.all_input_nodes, node)]
            leaves = [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]
            strange = {leaf.dtype for leaf in leaves} - _USUAL
            if name in _BYTES:
                strange -= _STORED
            real = sorted(str(dtype) for dtype in strange if not dtype.is_complex)
            if real:
                reason = f"ExecuTorch's kernel takes no {', '.join(real)}"
                remedy = "convert outside of the program to a dtype that it computes with"
                yield Row(method, name, node.name, source_line(node), False, "", reason, remedy)
