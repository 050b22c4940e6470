"""Rewrites of a partition, in front of OpenVINO's own frontend."""

from collections.abc import Callable

from torch import fx

from openvino_backend.options import Options
from openvino_backend.passes.keep_nan import keep_nan
from openvino_backend.passes.let_half_overflow import let_half_overflow
from openvino_backend.passes.make_promotion_explicit import make_promotion_explicit
from openvino_backend.passes.restore_plain_operators import restore_plain_operators
from openvino_backend.passes.spell_out import spell_out
from openvino_backend.passes.write_quantization_out import write_quantization_out

Pass = Callable[[fx.Graph], None]


def passes(options: Options) -> tuple[Pass, ...]:
    return (
        restore_plain_operators,  # first: the others know ATen's names only
        spell_out,  # before the next two, which see what it writes
        write_quantization_out,  # into operators that the passes below know
        make_promotion_explicit,  # before operands are duplicated by what follows
        # The first of the two before what it adds is rewritten by the second.
        *((let_half_overflow, keep_nan) if options.nan == "exact" else ()),
    )


def run(module: fx.GraphModule, options: Options) -> None:
    for rewrite in passes(options):
        rewrite(module.graph)
    module.graph.lint()
    module.recompile()
