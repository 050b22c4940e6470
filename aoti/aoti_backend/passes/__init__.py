"""Rewrites of a part of a program, in front of Inductor."""

from collections.abc import Callable

from backend_common.keep_results_apart import keep_results_apart
from torch import fx

from aoti_backend.passes.pass_constants_to_bodies import PassConstantsToBodies
from aoti_backend.passes.replace_view_copies import ReplaceViewCopies
from aoti_backend.passes.restore_plain_operators import restore_plain_operators
from aoti_backend.passes.write_numbers_out import WriteNumbersOut

PASSES: tuple[Callable[[fx.GraphModule], object], ...] = (
    restore_plain_operators,  # first: the others know ATen's names only
    WriteNumbersOut(),  # before bodies' constants become operands of theirs
    ReplaceViewCopies(),  # Inductor has no lowering for most of the copies
    keep_results_apart,  # after views: they are what returns an input's memory
    PassConstantsToBodies(),  # last: bodies inside bodies go before those around them
)


def run(module: fx.GraphModule) -> None:
    """In place, in the bodies of control flow, too."""
    for rewrite in PASSES:
        rewrite(module)
