"""Write powers with products and roots, where PyTorch computes them so."""

from typing import Any, ClassVar

import torch

from qualcomm_backend.passes.form import Forms, WriteWithOthers

aten = torch.ops.aten


class WritePowers(WriteWithOthers):
    """
    Given:  y = aten.pow(x, 2); z = aten.pow(x, 0.5); w = aten.square(x)
    Result: y = aten.mul(x, x); z = aten.sqrt(x); w = aten.mul(x, x)

    Powers of integers are products too. Other exponents stay.
    """

    forms: ClassVar[Forms] = {
        aten.pow.Tensor_Scalar: lambda x, exponent: _power(x, exponent),
        aten.square.default: lambda x: _power(x, 2),
    }


_ROOTS = {0.5: torch.sqrt, -0.5: torch.rsqrt, -1: torch.reciprocal}


def _power(x: torch.Tensor, exponent: Any) -> Any:
    if x.dtype.is_complex or x.dtype is torch.bool:
        return NotImplemented
    if not x.dtype.is_floating_point:
        if type(exponent) is not int or not 1 <= exponent <= 3:
            return NotImplemented
        return x * x * x if exponent == 3 else x * x if exponent == 2 else x
    if exponent == 1:
        return x
    if exponent == 2:
        return x * x
    if x.dtype in (torch.float16, torch.bfloat16):  # eager's go through pow itself
        return NotImplemented
    if exponent == 3:
        return x * x * x
    root = _ROOTS.get(exponent)
    return NotImplemented if root is None else root(x)
