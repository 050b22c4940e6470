"""Cast operands to the dtype in which PyTorch computes."""

from typing import Any, ClassVar

import torch

from qualcomm_backend.passes.form import Forms, Leave, Operator, WriteWithOthers

aten = torch.ops.aten

_OF_TWO = (
    *(getattr(aten, name).Tensor for name in ("add", "sub", "mul", "div")),
    *(getattr(aten, name).Tensor for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
    *(aten.maximum.default, aten.minimum.default, aten.pow.Tensor_Tensor, aten.atan2.default),
)
_COMPARISONS = tuple(getattr(aten, name).Tensor for name in ("eq", "ne", "lt", "le", "gt", "ge"))

_FUNCTIONS = tuple(
    getattr(aten, name).default
    for name in (
        *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "expm1"),
        *("log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sigmoid", "sin", "sinh"),
        *("sqrt", "tan", "tanh"),
    )
)


class PromoteOperands(WriteWithOthers):
    """
    Given:  y = aten.mul(x: float32, n: int64); z = aten.sinh(n)
    Result: y = aten.mul(x, aten._to_copy(n, dtype=torch.float32)); z = aten.sinh(of the same)

    QNN's operands have one dtype, and its functions are those of floats.
    """

    forms: ClassVar[Forms] = {
        **{
            each: (lambda x, y, operator=each, **named: _of_two(operator, x, y, named))
            for each in (*_OF_TWO, *_COMPARISONS)
        },
        aten.where.self: lambda condition, x, y: _selection(condition, x, y),
        **{each: (lambda x, operator=each: _function(operator, x)) for each in _FUNCTIONS},
    }


def _of_two(operator: Operator, x: Any, y: Any, named: dict[str, Any]) -> Any:
    tensors = [each for each in (x, y) if isinstance(each, torch.Tensor)]
    dtype = torch.result_type(x, y)
    if operator is aten.div.Tensor and not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    if any(each.dtype.is_complex for each in tensors):
        return NotImplemented
    if all(each.dtype == dtype for each in tensors):
        return NotImplemented
    if dtype in (torch.float16, torch.bfloat16) and any(not each.dim() for each in tensors):
        raise Leave("a number beside halves keeps its own precision")
    x, y = (each.to(dtype) if isinstance(each, torch.Tensor) else each for each in (x, y))
    return operator(x, y, **named)


def _selection(condition: torch.Tensor, x: Any, y: Any) -> Any:
    dtype = torch.result_type(x, y)
    if x.dtype == dtype == y.dtype:
        return NotImplemented
    return torch.where(condition, x.to(dtype), y.to(dtype))


def _function(operator: Operator, x: torch.Tensor) -> Any:
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return NotImplemented
    return operator(x.to(torch.get_default_dtype()))
