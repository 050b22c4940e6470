"""The two errors of the API: a refusal at lowering, a failure at run time."""

from collections.abc import Sequence

from backend_common.report import Row


class LoweringError(Exception):
    """A program that cannot be lowered; `rows` name every cause.

    The message starts with `summary` and has a line for each row: the operator, the
    user's source line, the reason, and what to do.
    """

    def __init__(self, summary: str, rows: Sequence[Row] = ()) -> None:
        self.summary = summary
        self.rows: tuple[Row, ...] = tuple(rows)
        super().__init__("\n".join([summary, *(f"  {row.sentence()}" for row in self.rows)]))


class WithdrawalError(LoweringError):
    """A backend gives nodes back that its partitioner had taken; `rows` name them and say why.

    `lower` tries again without them.
    """


class ExecutionError(RuntimeError):
    """A program that could not be loaded or run; the text is the delegate's own."""
