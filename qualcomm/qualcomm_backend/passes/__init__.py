"""Rewrites of programs in front of QNN; each keeps every value, or leaves the node.

Ordered lists: over programs as torch.export has them, over Edge graphs, over delegated parts.
"""

from collections.abc import Callable, Mapping
from typing import Any

from backend_common.report import Row
from torch import fx
from torch.export import ExportedProgram

from qualcomm_backend.passes.add_products import AddProducts
from qualcomm_backend.passes.application import EdgePass, Rows, apply, own
from qualcomm_backend.passes.attend import Attend
from qualcomm_backend.passes.compare_whole_numbers import CompareWholeNumbers
from qualcomm_backend.passes.contract_by_products import ContractByProducts
from qualcomm_backend.passes.count_truths import CountTruths
from qualcomm_backend.passes.cut_at_zero import CutAtZero
from qualcomm_backend.passes.divide_whole_numbers import DivideWholeNumbers
from qualcomm_backend.passes.fill_with_numbers import FillWithNumbers
from qualcomm_backend.passes.fold_constants import FoldConstants
from qualcomm_backend.passes.fuse_casts import FuseCasts
from qualcomm_backend.passes.multiply_vectors import MultiplyVectors
from qualcomm_backend.passes.narrow_integers import NarrowIntegers
from qualcomm_backend.passes.pool_images import PoolImages
from qualcomm_backend.passes.pool_volumes import PoolVolumes
from qualcomm_backend.passes.promote_operands import PromoteOperands
from qualcomm_backend.passes.recompose_hadamard import RecomposeHadamard
from qualcomm_backend.passes.recompose_padded_pool import RecomposePaddedPool
from qualcomm_backend.passes.recompose_pixel_shuffle import RecomposePixelShuffle
from qualcomm_backend.passes.recompose_rms_norm import RecomposeRmsNorm
from qualcomm_backend.passes.reduce_all_dimensions import ReduceAllDimensions
from qualcomm_backend.passes.roll_by_slices import RollBySlices
from qualcomm_backend.passes.scale_second_operand import ScaleSecondOperand
from qualcomm_backend.passes.take_diagonals import TakeDiagonals
from qualcomm_backend.passes.unfold_by_slices import UnfoldBySlices
from qualcomm_backend.passes.write_epsilon import WriteEpsilon
from qualcomm_backend.passes.write_norms import WriteNorms
from qualcomm_backend.passes.write_powers import WritePowers
from qualcomm_backend.passes.write_variance import WriteVariance

ATEN_PASSES: tuple[type[Any], ...] = (
    RecomposeRmsNorm,  # first: what they recognise is what users write
    RecomposePixelShuffle,
    WriteEpsilon,  # norms that were there and those that were recognised
    CompareWholeNumbers,  # before operands are promoted, which would compare as floats
    DivideWholeNumbers,  # before promotion: its quotients are integers
    CutAtZero,
    FillWithNumbers,
    CountTruths,
    ContractByProducts,  # writes products of matrices, sums and permutations
    Attend,
    MultiplyVectors,
    AddProducts,
    WriteNorms,
    WriteVariance,
    ReduceAllDimensions,  # after those that write extremes
    RollBySlices,
    TakeDiagonals,
    UnfoldBySlices,
    PoolVolumes,
    PoolImages,
    RecomposePaddedPool,  # after pools have all one form
    WritePowers,  # after the norms of RecomposeRmsNorm, which it would hide
    ScaleSecondOperand,
    PromoteOperands,  # after all that writes arithmetic
    FoldConstants,  # what forms made of numbers, and users too
    NarrowIntegers,  # when constants are known
    FuseCasts,  # last: promotion and narrowing leave casts in a row
)

EDGE_PASSES: tuple[type[Any], ...] = (
    FuseCasts,  # those that ExecuTorch's own passes put behind ours
)

# Made for what tells constants; each writes what QNN alone has kernels for.
PART_PASSES: tuple[type[Any], ...] = (
    RecomposeHadamard,  # after a part's linears and products are written as such
)

BY_NAME: Mapping[str, type[Any]] = {each.__name__: each for each in (*ATEN_PASSES, *EDGE_PASSES)}

OnRow = Callable[[Row], None]


def run_aten_passes(exported: ExportedProgram, on_row: OnRow | None = None) -> ExportedProgram:
    """A rewritten copy; `on_row` is told of nodes that a pass left, and why.

    A program that still writes in place, or has regions, is made functional first.
    """
    program, rows = _functional(exported), Rows(on_row)
    for kind in ATEN_PASSES:
        apply(kind, program, rows)
    return program


def run_pass(
    name: str, exported: ExportedProgram, on_row: OnRow | None = None
) -> tuple[ExportedProgram, int]:
    """A copy that one of the passes rewrote, and how many nodes it did."""
    program = _functional(exported)
    return program, apply(BY_NAME[name], program, Rows(on_row))


def edge_passes(on_row: OnRow | None = None) -> list[Callable[[fx.GraphModule], Any]]:
    """In the form in which ExecuTorch runs passes over Edge graphs."""
    return [EdgePass(kind(), Rows(on_row)) for kind in EDGE_PASSES]


def _functional(exported: ExportedProgram) -> ExportedProgram:
    for node in exported.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        region = str(node.target).startswith("wrap_with_")
        if region or (schema is not None and schema.is_mutable):
            return exported.run_decompositions({})
    return own(exported)
