"""Let a kernel stop where one of its checks fails, before it reads or writes out of bounds.

The shim that a failed check calls keeps the text and returns. Our macro then throws, which no
exception may do across an OpenMP loop: it is caught in the iteration, and the run fails at its
end with the text that was kept.
"""

_CHECK = "AOTI_TORCH_CHECK("
_LOOP = "#pragma omp for"


def stop_at_failed_checks(kernels: str) -> str:
    """
    Given:  #pragma omp for                         in a function with a check
            for(...) { body }
    Result: #pragma omp for
            for(...) { try { body } catch (const FailedCheck&) {} }
    """
    lines = kernels.splitlines(keepends=True)
    opening, closing = set(), set()
    for start, line in enumerate(lines):
        if not line.lstrip().startswith(_LOOP):
            continue
        first = _next_brace(lines, start)
        last = _matching(lines, first)
        if any(_CHECK in inner for inner in lines[first:last]):
            opening.add(first)
            closing.add(last)
    return "".join(_guarded(line, i in opening, i in closing) for i, line in enumerate(lines))


def _guarded(line: str, opens: bool, closes: bool) -> str:
    if opens:
        line = line.replace("{", "{ try {", 1)
    if closes:
        before, _, after = line.partition("}")
        line = before + "} catch (const executorch_backends::FailedCheck&) {} }" + after
    return line


def _next_brace(lines: list[str], start: int) -> int:
    return next(index for index in range(start, len(lines)) if "{" in lines[index])


def _matching(lines: list[str], first: int) -> int:
    """The line on which the brace that `first` opens is closed; strings hold no braces there."""
    depth = 0
    for index in range(first, len(lines)):
        depth += lines[index].count("{") - lines[index].count("}")
        if depth == 0:
            return index
    raise ValueError("a loop of the generated kernels does not end")
