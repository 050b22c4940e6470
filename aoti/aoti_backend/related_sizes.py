"""Sizes of inputs that belong together are compared at each call."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import sympy  # type: ignore[import-untyped]


@contextlib.contextmanager
def checked_by_the_wrapper(names: Sequence[str]) -> Iterator[None]:
    """
    Given:  x of n rows and y of 2 * n, of which Inductor's wrapper reads n from x alone
    Result: a wrapper that fails where y has not 2 * n rows, and says how many it has

    names: what errors call the inputs. Without it, code would read and write as many of y's rows
    as x lets it expect. The delegate has compared each size with its own bounds.
    """
    from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu
    from torch._inductor.virtualized import V

    read = CppWrapperCpu.codegen_inputs

    def read_and_check(self: Any) -> None:
        read(self)
        if V.graph.is_const_graph:
            return
        inputs = self.get_graph_inputs()
        assert len(inputs) == len(names), "Inductor takes other inputs than it was given"
        values = dict(zip(names, inputs.items(), strict=True))
        for called, name, dim, expected in _told_otherwise(values):
            self.prefix.splice(_check(called, name, dim, expected))

    with mock.patch.object(CppWrapperCpu, "codegen_inputs", read_and_check):
        yield


def _told_otherwise(
    values: dict[str, tuple[str, Any]],
) -> Iterator[tuple[str, str, int | None, sympy.Expr]]:
    """What the inputs are called and named, the dimension or None of an int, and the size that
    others tell: all but the first that has a symbol for its own, which the symbol is read from.
    """
    ints = [value for _, value in values.values() if isinstance(value, sympy.Symbol)]
    told = set(ints)
    for called, (name, value) in values.items():
        if isinstance(value, sympy.Expr):
            if value.free_symbols and not isinstance(value, sympy.Symbol):
                yield called, name, None, value
            continue
        for dim, size in enumerate(value.get_size()):
            if isinstance(size, sympy.Symbol) and size not in told:
                told.add(size)
            elif isinstance(size, sympy.Expr) and size.free_symbols:
                told |= size.free_symbols  # of which one may be solved for, where no input has it
                yield called, name, dim, size


def _check(called: str, name: str, dim: int | None, expected: sympy.Expr) -> str:
    from torch._inductor.codegen.cpp_utils import cexpr

    is_ = name if dim is None else f"{name}.sizes()[{dim}]"
    what = f"the size '{called}'" if dim is None else f"dimension {dim} of '{called}'"
    return f"""
        if (const int64_t is_ = {is_}, wanted = {cexpr(expected)}; is_ != wanted) {{
            const std::string text = "{what} is " + std::to_string(is_) +
                ", where the other inputs' sizes make it " + std::to_string(wanted);
            ::executorch_backends::fail("inputs", 0, text.c_str());
        }}
    """
