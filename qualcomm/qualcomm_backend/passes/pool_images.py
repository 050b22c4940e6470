"""Pool images that come in batches, with a stride that is written."""

from typing import Any, ClassVar

import torch

from qualcomm_backend.passes.form import Forms, WriteWithOthers

aten = torch.ops.aten


class PoolImages(WriteWithOthers):
    """
    Given:  y = aten.max_pool2d(x, [2, 2])    of an x: [C, H, W], or a max_pool1d
    Result: y = aten.max_pool2d_with_indices(x', [2, 2], [2, 2])[0]
            of an x': [1, C, H, W], squeezed again

    QNN's builder reads a stride where there need be none, and its images come in batches.
    """

    forms: ClassVar[Forms] = {
        aten.max_pool2d.default: (
            lambda x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False: pool(
                x, several(kernel, 2), stride, padding, dilation, ceil_mode
            )
        ),
        aten.max_pool1d.default: (
            lambda x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False: _pool_rows(
                x, kernel, stride, padding, dilation, ceil_mode
            )
        ),
        aten.max_pool2d_with_indices.default: (
            lambda x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False: _with_indices(
                x, kernel, stride, padding, dilation, ceil_mode
            )
        ),
    }


def several(value: Any, count: int) -> list[int]:
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


def _arguments(kernel: list[int], stride: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
    strides = kernel if stride in ((), []) else several(stride, 2)
    return kernel, strides, several(padding, 2), several(dilation, 2), ceil


def pool(
    x: torch.Tensor, kernel: list[int], stride: Any, padding: Any, dilation: Any, ceil: bool
) -> torch.Tensor:
    """max_pool2d of [N, C, H, W] or [C, H, W]; no stride is the kernel."""
    images = x if x.dim() == 4 else x.unsqueeze(0)
    arguments = _arguments(kernel, stride, padding, dilation, ceil)
    pooled: torch.Tensor = aten.max_pool2d_with_indices(images, *arguments)[0]
    return pooled if x.dim() == 4 else pooled.squeeze(0)


def _pool_rows(
    x: torch.Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> torch.Tensor:
    (size,), (pad,), (step,) = (several(each, 1) for each in (kernel, padding, dilation))
    (along,) = (size,) if stride in ((), []) else several(stride, 1)
    pooled = pool(x.unsqueeze(-2), [1, size], [1, along], [0, pad], [1, step], ceil)
    return pooled.squeeze(-2)


def _with_indices(
    x: torch.Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> Any:
    if x.dim() == 4 and stride not in ((), []):
        return NotImplemented
    arguments = _arguments(several(kernel, 2), stride, padding, dilation, ceil)
    if x.dim() == 4:
        return aten.max_pool2d_with_indices(x, *arguments)
    found = aten.max_pool2d_with_indices(x.unsqueeze(0), *arguments)
    return tuple(each.squeeze(0) for each in found)
