"""What became of each operator of a program."""

import dataclasses
from collections.abc import Iterable, Sequence


@dataclasses.dataclass(frozen=True)
class Row:
    """One operator of one method, or one cause of a refusal.

    method: as in `program.method("forward")`.
    operator: `aten.addmm.default`; empty where the cause is no operator (an option, a device).
    node: the node's name in the exported graph.
    source: the user's line, `policy.py:41  loss.scatter_add_(0, idx, src)`; empty if unknown.
    delegated: whether `backend` runs it.
    backend: the backend's name; `portable` for ExecuTorch's own kernels.
    reason: why it is not delegated, or was refused; empty for a delegated operator.
    remedy: what the user can do; empty where nothing is to be done.
    """

    method: str
    operator: str
    node: str
    source: str
    delegated: bool
    backend: str
    reason: str
    remedy: str

    def sentence(self) -> str:
        """One line, its parts apart by three spaces."""
        parts = (self.operator or self.node, self.source, self.reason, self.remedy)
        return "   ".join(part for part in parts if part)

    def as_dict(self) -> dict[str, str | bool]:
        return dataclasses.asdict(self)


def table(rows: Iterable[Row]) -> str:
    """The rows as plain text, in aligned columns."""
    header = ("method", "operator", "where it runs", "source", "reason")
    lines = [header]
    lines += [
        (row.method, row.operator or row.node, row.backend, row.source, row.reason) for row in rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def undelegated(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if not row.delegated]
