"""Write sums whose second operand has a factor with products."""

from typing import Any, ClassVar

import torch
from backend_common.missing_kernels import of_result_dtype

from qualcomm_backend.passes.form import Forms, WriteWithOthers, wide

aten = torch.ops.aten


class ScaleSecondOperand(WriteWithOthers):
    """
    Given:  y = aten.add(x, z, alpha=2), of an x that may be z
    Result: y = aten.add(x, aten.mul(z, 2)), both of the result's dtype

    QNN's sums have no factor. Halves are added up in 32 bits, as in eager.
    """

    forms: ClassVar[Forms] = {
        aten.add.Tensor: lambda x, y, *, alpha=1: _sum(torch.add, x, y, alpha),
        aten.add.Scalar: lambda x, y, alpha=1: _sum(torch.add, x, y, alpha),
        aten.sub.Tensor: lambda x, y, *, alpha=1: _sum(torch.sub, x, y, alpha),
        aten.sub.Scalar: lambda x, y, alpha=1: _sum(torch.sub, x, y, alpha),
        aten.rsub.Tensor: lambda x, y, *, alpha=1: _reversed(x, y, alpha),
        aten.rsub.Scalar: lambda x, y, alpha=1: _reversed(x, y, alpha),
    }


def _sum(operator: Any, x: Any, y: Any, alpha: Any) -> Any:
    return NotImplemented if alpha == 1 else _combined(operator, x, y, alpha)


def _reversed(x: Any, y: Any, alpha: Any) -> Any:
    return _combined(torch.sub, y, x, alpha)


def _combined(operator: Any, x: Any, y: Any, alpha: Any) -> Any:
    dtype = torch.result_type(x, y)
    x, y = (each.to(wide(dtype)) for each in of_result_dtype(x, y))
    return operator(x, torch.mul(y, alpha) if alpha != 1 else y).to(dtype)
