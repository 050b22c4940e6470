"""The sizes that a dynamic dimension can have."""

import warnings
import weakref
from collections.abc import Mapping
from typing import Any

import torch
from torch import fx
from torch._guards import detect_fake_mode
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from backend_common.errors import LoweringError
from backend_common.report import Row

UNBOUNDED = -1

# What an unbounded size is limited to: memory is planned for the greatest.
_LEAST_LIMIT = 256
_LIMIT_PER_EXAMPLE = 4

# What users allowed, by the environment of a program's symbols. torch.export traces every size
# as 2 or more, and what ExecuTorch makes of the program forgets that 1 was allowed.
_allowed: weakref.WeakKeyDictionary[Any, dict[Any, ValueRanges[Any]]] = weakref.WeakKeyDictionary()


class UnboundedSizeWarning(UserWarning):
    """A size without a maximum was given one."""


def settle_sizes(program: ExportedProgram) -> None:
    """Remembers what sizes the user allowed, and limits those that have no maximum.

    The limit is four times the size in the example, and 256 at least; a warning names it.
    """
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node.op != "placeholder" or not isinstance(value, torch.Tensor):
            continue
        for dimension, size in enumerate(value.shape):
            if isinstance(size, torch.SymInt):
                _settle(program, node.name, dimension, size)


def _settle(program: ExportedProgram, name: str, dimension: int, size: torch.SymInt) -> None:
    environment = size.node.shape_env
    allowed = _allowed.setdefault(environment, {})
    for symbol in size.node.expr.free_symbols:
        if symbol in allowed:
            continue
        traced = environment.var_to_range[symbol]
        asked = program.range_constraints.get(symbol, traced)
        if not _finite(traced.upper):
            example = int(environment.backed_var_to_val.get(symbol, 0))
            limit = max(_LEAST_LIMIT, _LIMIT_PER_EXAMPLE * example)
            warnings.warn(
                f"dimension {dimension} of input '{name}' has no maximum; the program takes up "
                f"to {limit}. Say otherwise with torch.export.Dim(..., max=...)",
                UnboundedSizeWarning,
                stacklevel=2,
            )
            traced = ValueRanges(traced.lower, limit)
            # Dim.AUTO says 2 for what it did not look into.
            asked = ValueRanges(1 if asked.lower == 2 else asked.lower, limit)
            environment.var_to_range[symbol] = traced
            program.range_constraints[symbol] = asked
        allowed[symbol] = asked


def _finite(bound: Any) -> bool:
    # torch.export writes "no upper bound" also as a number near sys.maxsize.
    return bool(getattr(bound, "is_Integer", False)) and int(bound) < 2**31


def bounds(size: int | torch.SymInt) -> tuple[int, int]:
    """The least and the greatest size; UNBOUNDED where there is no greatest."""
    if not isinstance(size, torch.SymInt):
        return size, size
    expression = size.node.expr
    environment = size.node.shape_env
    known = {symbol: _known(environment, symbol) for symbol in expression.free_symbols}
    found = bound_sympy(expression, known)
    low = max(0, int(found.lower)) if _finite(found.lower) else 0
    high = int(found.upper) if _finite(found.upper) else UNBOUNDED
    return low, (high if high >= 0 else UNBOUNDED)


def _known(environment: Any, symbol: Any) -> ValueRanges[Any]:
    """What the user allowed, but for what torch has found out since: a maximum or the very size."""
    found = environment.var_to_range.get(symbol, ValueRanges.unknown_int())
    asked = _allowed.get(environment, {}).get(symbol)
    if asked is None or found.is_singleton():
        return found
    return ValueRanges(asked.lower, min(asked.upper, found.upper))


def forget_pending_sizes(graph: fx.Graph) -> None:
    """ExecuTorch's passes ask for sizes of results whose size depends on values, and use none."""
    mode = detect_fake_mode([n.meta["val"] for n in graph.nodes if "val" in n.meta])
    if mode is not None and mode.shape_env is not None:
        mode.shape_env.pending_fresh_unbacked_symbols.clear()


def input_bounds(program: ExportedProgram) -> dict[str, list[tuple[int, int]]]:
    """The bounds of each dimension of the tensors that a user gives, by the inputs' names."""
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    specs = program.graph_signature.input_specs  # by place: a program from a file has other names
    return {
        node.name: [bounds(size) for size in node.meta["val"].shape]
        for node, spec in zip(placeholders, specs, strict=True)
        if spec.kind is InputKind.USER_INPUT and isinstance(node.meta.get("val"), torch.Tensor)
    }


def refuse_narrowed(
    name: str, before: Mapping[str, list[tuple[int, int]]], program: ExportedProgram
) -> None:
    """LoweringError where a size that the user left open is open no more.

    Writing an operator with others may fix one; the program would then refuse, when it runs,
    what it was exported for.
    """
    # In their order: ExecuTorch gives some inputs, such as `input`, another name.
    after = input_bounds(program).values()
    rows = [
        Row(
            *(name, "", node, "", False, ""),
            reason=f"dimension {dim} of this input may be {_range(was)} and became {_range(now)}",
            remedy="export with example inputs whose dynamic sizes are larger than 2, or fix the "
            "size in dynamic_shapes",
        )
        for (node, sizes), new in zip(before.items(), after, strict=True)
        for dim, (was, now) in enumerate(zip(sizes, new, strict=True))
        if _is_narrower(now, was)
    ]
    if rows:
        noun = "size" if len(rows) == 1 else "sizes"
        raise LoweringError(f"lowering fixed {len(rows)} dynamic {noun}:", rows)


def _is_narrower(now: tuple[int, int], was: tuple[int, int]) -> bool:
    """A least size alone does not count: ExecuTorch enforces none, and traces from 2 on."""
    fixed = now[0] == now[1] and was[0] != was[1]
    return fixed or (now[1] != UNBOUNDED and (was[1] == UNBOUNDED or now[1] < was[1]))


def _range(size: tuple[int, int]) -> str:
    low, high = size
    if low == high:
        return str(low)
    return f"{low} to {high}" if high != UNBOUNDED else f"{low} and more"
