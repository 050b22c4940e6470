"""The sizes that a dynamic dimension can have."""

import warnings
import weakref
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

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
    ranges = {**environment.var_to_range, **_allowed.get(environment, {})}
    known = {
        symbol: ranges.get(symbol, ValueRanges.unknown_int()) for symbol in expression.free_symbols
    }
    found = bound_sympy(expression, known)
    low = max(0, int(found.lower)) if _finite(found.lower) else 0
    high = int(found.upper) if _finite(found.upper) else UNBOUNDED
    return low, (high if high >= 0 else UNBOUNDED)
