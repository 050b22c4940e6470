"""Operators that the portable kernels lack or compute differently from eager, in others' terms.

They replace what a backend leaves; what it takes, it gets whole.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

import torch
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from torch import fx
from torch.export import ExportedProgram

from backend_common.graph import graph_modules

aten = torch.ops.aten

Operator: TypeAlias = torch._ops.OpOverload


def _of_integers(node: fx.Node) -> bool:
    value = node.meta["val"]
    return not value.dtype.is_floating_point and value.dtype is not torch.bool


def _truncates_integers(node: fx.Node) -> bool:
    return _of_integers(node) and node.kwargs.get("rounding_mode") == "trunc"


def _tensors(x: Any, y: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Both as tensors of the result's dtype; numbers become 0-d tensors."""
    dtype = torch.result_type(x, y)

    def tensor(value: Any) -> torch.Tensor:
        if isinstance(value, torch.Tensor):
            return value.to(dtype)
        return torch.full((), value, dtype=dtype)

    return tensor(x), tensor(y)


def remainder(x: Any, y: Any) -> Any:
    """Given:  remainder(x, y) of integers, whose kernel has C's sign
    Result: x - floor(x / y) * y, exact in the dtype
    """
    if torch.result_type(x, y).is_floating_point:
        # The kernel is right, and takes a tensor on the left only.
        return NotImplemented if isinstance(x, torch.Tensor) else remainder_of_number(x, y)
    x, y = _tensors(x, y)
    return x - torch.div(x, y, rounding_mode="floor") * y


def remainder_of_number(x: Any, y: torch.Tensor) -> torch.Tensor:
    return torch.remainder(*_tensors(x, y))


def truncating_division(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """Given:  div(x, y, rounding_mode="trunc") of integers, whose kernel goes through floats
    Result: the floor, and one more where it lies below a negative quotient
    """
    if rounding_mode != "trunc" or torch.result_type(x, y).is_floating_point:
        return NotImplemented
    x, y = _tensors(x, y)
    floor = torch.div(x, y, rounding_mode="floor")
    below = torch.logical_and(floor * y != x, (x < 0) != (y < 0))
    return floor + below.to(floor.dtype)


def max_pool3d_with_indices(
    x: torch.Tensor,
    kernel_size: list[int],
    stride: list[int] = (),  # type: ignore[assignment]
    padding: list[int] = (0,),  # type: ignore[assignment]
    dilation: list[int] = (1,),  # type: ignore[assignment]
    ceil_mode: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Given:  max_pool3d(x) over depth, height and width
    Result: max_pool2d over height and width, then over depth; the first of equals wins in both
    """
    kernel = _three(kernel_size)
    step = _three(stride) if stride else kernel
    pad, dilate = _three(padding), _three(dilation)
    batch = x.shape[:-3]
    depth, height, width = x.shape[-3:]

    planes = x.reshape(-1, depth, height, width)
    planes, within = aten.max_pool2d_with_indices(
        planes, kernel[1:], step[1:], pad[1:], dilate[1:], ceil_mode
    )
    out_height, out_width = planes.shape[-2:]
    columns = planes.reshape(-1, 1, depth, out_height * out_width)
    within = within.reshape(columns.shape)
    values, indices = aten.max_pool2d_with_indices(
        columns, [kernel[0], 1], [step[0], 1], [pad[0], 0], [dilate[0], 1], ceil_mode
    )
    # `indices` counts in (depth, out_height * out_width), and its column is its own.
    at_depth = torch.div(indices, out_height * out_width, rounding_mode="floor")
    flat = at_depth * (height * width) + torch.gather(within, 2, at_depth)
    shape = (*batch, values.shape[2], out_height, out_width)
    return values.reshape(shape), flat.reshape(shape)


def _max_pool3d(x: torch.Tensor, *arguments: Any, **kwargs: Any) -> torch.Tensor:
    return max_pool3d_with_indices(x, *arguments, **kwargs)[0]


def _three(value: Any) -> list[int]:
    values = [value] if isinstance(value, int) else list(value)
    return values * 3 if len(values) == 1 else values


@dataclasses.dataclass(frozen=True)
class Decomposition:
    """function: takes the operator's arguments; NotImplemented leaves them to the operator.
    wrong: on which nodes the kernel, if there is one, does not compute what eager does.
    kernel: its name as programs spell it; without it every node needs the decomposition.
    """

    function: Callable[..., Any]
    kernel: str
    wrong: Callable[[fx.Node], bool] = lambda node: False


DECOMPOSITIONS: Mapping[Operator, Decomposition] = {
    aten.remainder.Scalar: Decomposition(remainder, "aten::remainder.Scalar_out", _of_integers),
    aten.remainder.Tensor: Decomposition(remainder, "aten::remainder.Tensor_out", _of_integers),
    aten.remainder.Scalar_Tensor: Decomposition(
        remainder, "aten::remainder.Scalar_Tensor_out", _of_integers
    ),
    aten.div.Tensor_mode: Decomposition(
        truncating_division, "aten::div.out_mode", _truncates_integers
    ),
    aten.div.Scalar_mode: Decomposition(
        truncating_division, "aten::div.Scalar_mode_out", _truncates_integers
    ),
    aten.max_pool3d_with_indices.default: Decomposition(
        max_pool3d_with_indices, "aten::max_pool3d_with_indices.out"
    ),
}


def needed(program: ExportedProgram, kernels: Collection[str]) -> set[Operator]:
    """The operators among what the graph and its bodies call that need their decomposition."""
    found = set()
    for module in graph_modules(program.graph_module):
        for node in module.graph.nodes:
            target = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
            decomposition = DECOMPOSITIONS.get(target)
            if decomposition is not None and (
                decomposition.kernel not in kernels or decomposition.wrong(node)
            ):
                found.add(target)
    return found


def decompose(program: ExportedProgram, operators: Collection[Operator]) -> ExportedProgram:
    """A program in which these operators are written with others; `program` stays as it is."""
    table: dict[Any, Callable[..., Any]] = {
        operator: DECOMPOSITIONS[operator].function for operator in operators
    }
    if aten.max_pool3d_with_indices.default in table:
        table[aten.max_pool3d.default] = _max_pool3d  # its form before decomposition
    return program.run_decompositions(table)
