"""Numbers among operands become tensors of the dtype that eager gives them."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from executorch.exir.pass_base import ExportPass, map_args
from executorch.exir.passes import ScalarToTensorPass
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes
from torch.utils._python_dispatch import _disable_current_modes

_LOCK = threading.RLock()


@contextlib.contextmanager
def typed_numbers() -> Iterator[None]:
    """While lowering to the Edge dialect:

    Given:  y = aten.mul.Tensor(x, 0.1)    of an x: float16[], or float64
    Result: y = aten.mul.Tensor(x, 0.1 as a tensor of x's dtype)

    ExecuTorch's pass makes it float32, which a tensor without dimensions is promoted to, and
    in which a float64 loses its digits. One thread at a time, for it is a class that changes.
    """
    with _LOCK:
        original = ScalarToTensorPass.call_operator
        ScalarToTensorPass.call_operator = _with_typed_numbers(original)
        try:
            yield
        finally:
            ScalarToTensorPass.call_operator = original


def _with_typed_numbers(original: Callable[..., Any]) -> Callable[..., Any]:

    def call_operator(self: Any, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
        tensors: list[torch.Tensor] = []

        def collect(value: Any, argument: Any) -> Any:
            if isinstance(argument.type, torch.TensorType) and getattr(value, "is_tensor", bool)():
                tensors.append(value.to_tensor())
            return value

        def typed(value: Any, argument: Any) -> Any:
            if not isinstance(value, (bool, int, float)):
                return value
            if not isinstance(argument.type, torch.TensorType):
                return value
            default = ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
            dtype = elementwise_dtypes(*tensors, value, type_promotion_kind=default)[1]
            self._modified = True
            with _disable_current_modes():
                return torch.tensor(_wrapped(value, dtype), dtype=dtype)

        if torch.Tag.pointwise in getattr(op, "tags", ()):
            map_args(op, collect, args, kwargs)
            if tensors:
                args, kwargs = map_args(op, typed, args, kwargs)
                return ExportPass.call_operator(self, op, args, kwargs, meta)
        return original(self, op, args, kwargs, meta)

    return call_operator


def _wrapped(value: Any, dtype: torch.dtype) -> Any:
    """The lowest bits of an integer that the dtype cannot hold, with which eager computes and
    compares, too: of uint8, x == 300 is x == 44."""
    if dtype.is_floating_point or dtype.is_complex or dtype == torch.bool:
        return value
    info = torch.iinfo(dtype)
    return (int(value) - info.min) % 2**info.bits + info.min
