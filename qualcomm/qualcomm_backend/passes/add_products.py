"""Write sums with products of matrices as the sum and the product."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch

from qualcomm_backend.passes.form import Forms, WriteWithOthers, wide

aten = torch.ops.aten


class AddProducts(WriteWithOthers):
    """
    Given:  y = aten.addmm(x, a, b, beta=0, alpha=2)
    Result: y = aten.mul(aten.mm(a, b), 2)    in which a NaN of x has no part
    """

    forms: ClassVar[Forms] = {
        aten.addmm.default: lambda x, a, b, **factors: _sum(torch.mm, x, a, b, **factors),
        aten.baddbmm.default: lambda x, a, b, **factors: _sum(torch.bmm, x, a, b, **factors),
        aten.addmv.default: lambda x, a, b, **factors: _sum(_of_vector, x, a, b, **factors),
        aten.addbmm.default: lambda x, a, b, **factors: _sum(_of_batch, x, a, b, **factors),
    }


def _of_vector(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.mm(a, b.unsqueeze(1)).squeeze(1)


def _of_batch(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The batch is one more dimension that is summed over."""
    left = a.transpose(0, 1).reshape(a.shape[1], -1)
    return torch.mm(left, b.reshape(-1, b.shape[2]))


def _sum(
    product: Callable[..., Any],
    x: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    beta: Any = 1,
    alpha: Any = 1,
) -> torch.Tensor:
    """beta * x + alpha * product(a, b); halves with factors in 32 bits."""
    dtype = x.dtype
    if (alpha, beta) not in ((1, 0), (1, 1)):
        x, a, b = (each.to(wide(dtype)) for each in (x, a, b))
    result = product(a, b)
    # Nothing to add up, or a factor of 0: 0 whatever the product is, as eager skips it.
    if alpha == 0 or not a.shape[-1]:
        result = torch.zeros_like(result)
    elif alpha != 1:
        result = result * alpha
    if beta != 0:
        result = result + (x if beta == 1 else x * beta)
    return result.to(dtype)
