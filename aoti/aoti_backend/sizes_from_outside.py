"""Sizes that a part of a program takes as inputs, or can tell from its inputs' sizes alone.

A part of a program has not all inputs of the program, which tell every size.
"""

import contextlib
import itertools
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx.experimental.symbolic_shapes import DimDynamic
from torch.utils._sympy.functions import Max
from torch.utils._sympy.solve import try_solve
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy


class AssumedSizesError(Exception):
    """Code that is right for some sizes alone."""


@contextlib.contextmanager
def as_symbols_of_their_own(inputs: Sequence[Any]) -> Iterator[list[Any]]:
    """
    Given:  [tensor of n * m elements, k]    n and m told by no input
    Result: [tensor of p elements, k]        p a symbol of its own

    inputs: fake tensors and ints, symbolic or not. Inductor takes a symbol's value from the
    input that has it for a size, or solves an equation in which it is the only one.
    """
    environment, values = _environment(inputs), _values(inputs)
    own: dict[sympy.Expr, Any] = {}
    expressions = [value.node.expr for value in values]
    ints = {each.node.expr for each in inputs if isinstance(each, torch.SymInt)}
    while unknown := _unknown(expressions):
        whole = min(unknown, key=lambda each: (each.count_ops(), str(each)))
        own[whole] = _new_size(environment, whole, f"size_{len(own)}", whole not in ints)
        symbol = own[whole].node.expr
        expressions = [each.xreplace({whole: symbol}) for each in expressions]
    if not own:
        yield list(inputs)
        return
    yield [_with(own, each) for each in inputs]


# What a ShapeEnv learns when something is assumed of a size.
_LEARNT = ("guards", "axioms", "replacements", "var_to_range", "divisible")
_MOST_SIZES = 4  # of which a guard is tried out
# Its methods that remember what they were asked, whatever has been learnt since.
_ANSWERS = ("_inner_evaluate_expr", "_maybe_guard_rel", "guard_or_defer_runtime_assert")


@contextlib.contextmanager
def nothing_assumed(inputs: Sequence[Any]) -> Iterator[None]:
    """AssumedSizesError where what is done inside holds for some of the sizes alone, such as
    those of the example: code has no guards. What is known of sizes is left as it was.
    """
    environment = _environment(inputs)
    if environment is None:
        yield
        return
    names = _names(inputs)
    before = {name: copy(getattr(environment, name)) for name in _LEARNT}
    _forget_answers(environment)  # those that were assumptions before are ones again
    try:
        yield
        learnt = (guard.expr for guard in environment.guards[len(before["guards"]) :])
        guards = [guard for guard in learnt if not _holds_from_two_on(guard)]
        if guards:
            assumed = guards[0].xreplace(names)
            raise AssumedSizesError(f"its code would be for {assumed} alone")
    finally:
        for name, value in before.items():
            setattr(environment, name, value)
        _forget_answers(environment)


def _holds_from_two_on(guard: sympy.Basic) -> bool:
    """Whether it says no more of sizes than that they are neither 0 nor 1, by way of the strides
    that they make: `Max(1, n - 2) > 1`, or that of two strides one is the larger.

    Which dimensions are broadcast stands in the graph; what is asked beyond that is whether strides
    matter, and code for all larger sizes walks over none or one element as well. It is tried out,
    for small sizes, a great one, and those around each number of the guard.
    """
    sizes = {each: sympy.Dummy() for each in guard.atoms(Max) if sympy.Integer(1) in each.args}
    asked = guard.xreplace(sizes)
    if asked.free_symbols - set(sizes.values()) or len(sizes) > _MOST_SIZES:
        return False
    near = {int(number) + by for number in asked.atoms(sympy.Integer) for by in (-1, 0, 1)}
    tried = sorted({2, 3, 7, 64, 2**48, *(size for size in near if size > 1)})
    return all(
        asked.xreplace(dict(zip(sizes.values(), values, strict=True))) == sympy.true
        for values in itertools.product(map(sympy.Integer, tried), repeat=len(sizes))
    )


def _forget_answers(environment: Any) -> None:
    for name in _ANSWERS:
        getattr(environment, name).cache_clear()
    environment._version_counter += 1
    environment._replacements_version_counter += 1


def _names(inputs: Sequence[Any]) -> dict[sympy.Basic, sympy.Basic]:
    return {
        size.node.expr: sympy.Symbol(f"input {index}'s size {dim}")
        for index, each in enumerate(inputs)
        if isinstance(each, torch.Tensor)
        for dim, size in enumerate(each.shape)
        if isinstance(size, torch.SymInt) and isinstance(size.node.expr, sympy.Symbol)
    }


def _values(inputs: Sequence[Any]) -> list[torch.SymInt]:
    sizes = [each.shape if isinstance(each, torch.Tensor) else [each] for each in inputs]
    return [size for shape in sizes for size in shape if isinstance(size, torch.SymInt)]


def _environment(inputs: Sequence[Any]) -> Any:
    return next((value.node.shape_env for value in _values(inputs)), None)


def _unknown(expressions: Collection[sympy.Expr]) -> list[sympy.Expr]:
    """Those with a symbol that no other expression tells."""
    known = {each for each in expressions if isinstance(each, sympy.Symbol)}
    rest = [each for each in expressions if not isinstance(each, sympy.Symbol)]
    while told := [missing for each in rest if (missing := _solvable(each, known))]:
        known.update(*told)
    return [each for each in rest if each.free_symbols - known]


def _solvable(expression: sympy.Expr, known: Collection[sympy.Basic]) -> set[sympy.Basic]:
    missing = expression.free_symbols - set(known)
    if len(missing) != 1:
        return set()
    (symbol,) = missing
    solved = solution(expression, symbol, sympy.Symbol("size"))
    return set() if solved is None else {symbol}


def solution(expression: Any, symbol: Any, value: sympy.Symbol) -> sympy.Expr | None:
    solved = try_solve(sympy.Eq(expression, value), symbol)
    return None if solved is None else cast(sympy.Expr, solved[1])


def _new_size(environment: Any, whole: sympy.Expr, name: str, of_tensor: bool) -> Any:
    from torch._dynamo.source import ConstantSource

    found = bound_sympy(whole, environment.var_to_range)
    if of_tensor:  # bounds are wide where a difference is of sizes that belong together
        found = ValueRanges(max(found.lower, 0), found.upper)
    hint = int(whole.xreplace(environment.backed_var_to_val))
    source = ConstantSource(name)
    symbol = environment.create_symbol(
        *(hint, source, DimDynamic.DYNAMIC),
        positive=bool(found.lower >= 1) or None,
        do_not_specialize_zero_one=True,
    )
    environment.var_to_range[symbol] = found
    return environment.create_symintnode(symbol, hint=hint, source=source)


def _with(own: dict[sympy.Expr, Any], value: Any) -> Any:
    if isinstance(value, torch.SymInt):
        return _size(own, value)
    if not isinstance(value, torch.Tensor):
        return value
    sizes = [_size(own, size) for size in value.shape]
    strides = [_size(own, stride) for stride in value.stride()]
    with cast(Any, value).fake_mode:
        return torch.empty_strided(sizes, strides, dtype=value.dtype, device=value.device)


def _size(own: dict[sympy.Expr, Any], size: Any) -> Any:
    """The same size of symbols of `own`, where it is made of what they stand for."""
    if not isinstance(size, torch.SymInt):
        return size
    if size.node.expr in own:
        return own[size.node.expr]
    replaced = size.node.expr
    for whole, new in own.items():
        replaced = replaced.xreplace({whole: new.node.expr})
    if replaced == size.node.expr:
        return size
    return size.node.shape_env.create_symintnode(replaced, hint=size.node.hint)


@contextlib.contextmanager
def taken_by_the_wrapper() -> Iterator[None]:
    """Inductor's wrapper can take ints, as tensors without dimensions, and does so nearly
    everywhere. Here it does, and they may be any expressions.
    """
    from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu
    from torch._inductor.virtualized import V

    assign = CppWrapperCpu.codegen_input_symbol_assignment

    def assign_expressions(self: Any, name: str, value: Any, bound_vars: Any) -> None:
        if isinstance(value, sympy.Expr) and not isinstance(value, sympy.Symbol):
            _solve(self, name, value, bound_vars)
        else:
            assign(self, name, value, bound_vars)

    def seeing_tensors(method: Any) -> Any:
        def call(self: Any) -> None:
            number = SimpleNamespace(dtype=torch.int64, get_size=list, get_stride=list)
            inputs = {
                name: number if isinstance(value, sympy.Expr) else value
                for name, value in V.graph.graph_inputs.items()
            }
            with mock.patch.object(V.graph, "graph_inputs", inputs):
                method(self)

        return call

    with contextlib.ExitStack() as stack:
        name = "codegen_input_symbol_assignment"
        stack.enter_context(mock.patch.object(CppWrapperCpu, name, assign_expressions))
        for name in ("codegen_model_constructor", "generate_input_output_runtime_checks"):
            method = seeing_tensors(getattr(CppWrapperCpu, name))
            stack.enter_context(mock.patch.object(CppWrapperCpu, name, method))
        yield


def _solve(wrapper: Any, name: str, value: sympy.Expr, bound: set[sympy.Basic]) -> None:
    """Writes the value of the only symbol of an int that is not known yet."""
    from torch._inductor.codegen.cpp_utils import cexpr

    missing = value.free_symbols - bound
    if len(missing) != 1:
        return
    (symbol,) = missing
    solved = solution(value, symbol, sympy.Symbol(name, integer=True))
    assert solved is not None, f"{value} is not solvable"
    wrapper.prefix.writeline(f"int64_t {symbol} = {cexpr(solved)};")
    bound.add(symbol)
