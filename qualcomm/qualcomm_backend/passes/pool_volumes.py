"""Pool volumes as images: height and width, then depth."""

from typing import Any, ClassVar

import torch

from qualcomm_backend.passes.form import Forms, WriteWithOthers
from qualcomm_backend.passes.pool_images import pool, several

aten = torch.ops.aten


class PoolVolumes(WriteWithOthers):
    """
    Given:  y = aten.max_pool3d(x, [2, 2, 2], dilation=2)    of an x: [N, C, D, H, W]
    Result: p = max_pool2d of x as [N, C * D, H, W] along H and W
            y = max_pool2d of p as [N, C, D, H' * W'] along D, as [N, C, D', H', W']

    The largest of a block is the largest of its slices' largest; NaN and what lies outside, -inf,
    are no exceptions.
    """

    forms: ClassVar[Forms] = {
        aten.max_pool3d.default: (
            lambda x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False: _pool(
                x, kernel, stride, padding, dilation, ceil_mode
            )
        )
    }


def _pool(
    x: torch.Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> torch.Tensor:
    if x.dim() == 4:
        return _pool(x.unsqueeze(0), kernel, stride, padding, dilation, ceil).squeeze(0)
    window = several(kernel, 3)
    strides = window if stride in ((), []) else several(stride, 3)
    pads, steps = several(padding, 3), several(dilation, 3)
    batch, channels, depth, height, width = x.shape
    slices = x.reshape(batch, channels * depth, height, width)
    slices = pool(slices, window[1:], strides[1:], pads[1:], steps[1:], ceil)
    size = slices.shape[-2:]
    columns = slices.reshape(batch, channels, depth, size[0] * size[1])
    columns = pool(columns, [window[0], 1], [strides[0], 1], [pads[0], 0], [steps[0], 1], ceil)
    return columns.reshape(batch, channels, -1, *size)
