"""What ExecuTorch's emission lacks, supplied while it runs."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from executorch.exir import tensor as executorch_tensor
from executorch.exir.memory_planning import Verifier, get_graph_output_tensors
from executorch.exir.passes import spec_prop_pass
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from backend_common.dim_orders import order_of

_LOCK = threading.RLock()


@contextlib.contextmanager
def emission_gaps_filled() -> Iterator[None]:
    """Tensors whose sizes depend on values have an order of dimensions, and a program may return
    numbers alone. One thread at a time, for it is ExecuTorch's own that changes."""
    with _LOCK:
        make_spec, check = spec_prop_pass.make_spec, Verifier.verify_graph_input_output
        order = executorch_tensor.dim_order_from_stride
        spec_prop_pass.make_spec = _of_known_strides(make_spec)
        executorch_tensor.dim_order_from_stride = _of_numbers(order)
        Verifier.verify_graph_input_output = _of_tensors(check)
        try:
            yield
        finally:
            spec_prop_pass.make_spec = make_spec
            executorch_tensor.dim_order_from_stride = order
            Verifier.verify_graph_input_output = check


def _of_numbers(order: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The default order for strides that depend on values: ExecuTorch's TensorSpec first computes
    them from the shape, and asks how they compare."""
    return lambda stride: tuple(range(len(stride))) if _unknown(stride) else order(stride)


def _of_known_strides(make_spec: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """
    Given:  a tensor of shape (u0, u1), and whatever strides
    Result: what make_spec says of one whose strides are numbers

    ExecuTorch sorts strides to know the order, and how u1 compares to 1 cannot be asked; its
    kernels lay out their results in the order that is written down.
    """

    def make(value: Any) -> Any:
        return make_spec(_with_known_strides(value) if _depends_on_values(value) else value)

    return make


def _depends_on_values(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return False
    return _unknown((*value.shape, *value.stride()))


def _unknown(numbers: Iterable[Any]) -> bool:
    return any(free_unbacked_symbols(each) for each in numbers if isinstance(each, torch.SymInt))


def _with_known_strides(value: torch.Tensor) -> torch.Tensor:
    """A fake tensor of the same sizes and order, with strides as if what is unknown were 2."""
    strides, step = [0] * value.dim(), 1
    for dim in reversed(order_of(value)):
        strides[dim] = step
        step *= max(2, size) if isinstance(size := value.shape[dim], int) else 2
    with value.fake_mode:  # type: ignore[attr-defined]
        return torch.empty_strided(value.shape, strides, dtype=value.dtype)


def _of_tensors(check: Callable[[Any], None]) -> Callable[[Any], None]:
    """Its check of the memory of inputs and outputs takes for granted that a tensor is returned."""

    def checked(verifier: Any) -> None:
        if get_graph_output_tensors(verifier.graph_module.graph.nodes):
            check(verifier)

    return checked
