"""Write attention with products and a softmax."""

import math
from typing import ClassVar

import torch

from qualcomm_backend.passes.form import Forms, Leave, WriteWithOthers, wide

aten = torch.ops.aten


class Attend(WriteWithOthers):
    """
    Given:  y = aten.scaled_dot_product_attention(q, k, v, is_causal=True)
    Result: y = aten._softmax(q * s @ k^T, masked by a constant) @ v

    A row whose mask hides everything is 0, as in eager; halves are multiplied in 32 bits.
    """

    forms: ClassVar[Forms] = {
        aten.scaled_dot_product_attention.default: lambda *args, **named: _attention(*args, **named)
    }


def _attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    if dropout_p:
        raise Leave("its dropout draws random numbers")
    if not q.shape[-1] or not k.shape[-2]:
        raise Leave("there is nothing to attend to")
    dtype = q.dtype
    q, k, v = (each.to(wide(dtype)) for each in (q, k, v))
    if enable_gqa:
        k, v = (_repeated(each, q.shape[-3] // each.shape[-3]) for each in (k, v))
    scores = q * (scale if scale is not None else 1 / math.sqrt(q.shape[-1]))
    scores = torch.matmul(scores, k.transpose(-2, -1))
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is None:
        weights = torch.softmax(scores, -1)
    elif is_causal:  # each row sees one at least
        weights = torch.softmax(torch.where(attn_mask, scores, -math.inf), -1)
    elif attn_mask.dtype is torch.bool:
        weights = _softmax_or_0(torch.where(attn_mask, scores, -math.inf))
    else:
        weights = _softmax_or_0(scores + attn_mask.to(scores.dtype))
    return torch.matmul(weights, v).to(dtype)


def _softmax_or_0(scores: torch.Tensor) -> torch.Tensor:
    """0 in rows in which all is hidden, where a softmax is NaN."""
    hidden = torch.amax(scores, -1, True) == -math.inf
    return torch.where(hidden, 0.0, torch.softmax(torch.where(hidden, 0.0, scores), -1))


def _repeated(x: torch.Tensor, times: int) -> torch.Tensor:
    """Each head `times` times, one after the other."""
    shape = [*x.shape[:-3], x.shape[-3], times, *x.shape[-2:]]
    return x.unsqueeze(-3).expand(shape).reshape(*x.shape[:-3], -1, *x.shape[-2:])
