"""Save a trace of each program on its way to Edge."""

from collections.abc import Sequence
from typing import Any

from executorch.exir.backend.partitioner import Partitioner
from executorch.exir.graph_module import contains_any_call_fn_target_op
from executorch.exir.tracer import _default_decomposition_table
from torch.export import ExportedProgram


def trace_once(program: ExportedProgram, partitioners: Sequence[Partitioner]) -> None:
    """
    Given:  a program that ExecuTorch will make functional, and then decompose
    Result: the first of the two traces is left out, since the second does both

    ExecuTorch needs the functional form where a partitioner says which operators to keep, and
    where there is nothing to decompose it does not trace again: those stay as they are.
    """
    if any(
        type(each).ops_to_not_decompose is not Partitioner.ops_to_not_decompose
        for each in partitioners
    ):
        return
    if not contains_any_call_fn_target_op(program.graph_module, _default_decomposition_table()):
        return

    def run_decompositions(table: dict[Any, Any] | None = None, **options: Any) -> ExportedProgram:
        del program.run_decompositions  # type: ignore[method-assign]
        if table == {} and not options:
            return program
        return program.run_decompositions(table, **options)

    program.run_decompositions = run_decompositions  # type: ignore[method-assign]
