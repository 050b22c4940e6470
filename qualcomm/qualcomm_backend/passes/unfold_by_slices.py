"""Unfold and fold images by slices, one for each place in the window."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F

from qualcomm_backend.passes.form import Forms, Leave, WriteWithOthers

aten = torch.ops.aten

# Each is a slice of a program.
_MOST_SLICES = 128


class UnfoldBySlices(WriteWithOthers):
    """
    Given:  y = aten.im2col(x, kernel, dilation, padding, stride)    of an x: [N, C, H, W]
    Result: y = aten.stack([a slice of the padded x by the stride, for each place], 2)
            as [N, C * places, windows]

    col2im adds such slices up; Tensor.unfold has windows along one dimension.
    """

    forms: ClassVar[Forms] = {
        aten.im2col.default: lambda x, kernel, dilation, padding, stride: _unfold(
            x, kernel, dilation, padding, stride
        ),
        aten.col2im.default: lambda x, size, kernel, dilation, padding, stride: _fold(
            x, size, kernel, dilation, padding, stride
        ),
        aten.unfold.default: lambda x, dim, size, step: _windows(x, dim, size, step),
        aten.unfold_copy.default: lambda x, dim, size, step: _windows(x, dim, size, step),
    }


def _places(kernel: Sequence[int], dilation: Sequence[int]) -> Iterator[tuple[int, int]]:
    count = kernel[0] * kernel[1]
    if count > _MOST_SLICES:
        raise Leave(f"a window of {count}; windows are written out for up to {_MOST_SLICES}")
    for row in range(kernel[0]):
        for column in range(kernel[1]):
            yield row * dilation[0], column * dilation[1]


def _counts(
    size: Sequence[int],
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> tuple[int, int]:
    """How many windows there are, down and across."""
    rows, columns = (
        (size[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) // stride[d] + 1
        for d in range(2)
    )
    return rows, columns


def _unfold(
    x: torch.Tensor,
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> torch.Tensor:
    if x.dim() == 3:
        return _unfold(x.unsqueeze(0), kernel, dilation, padding, stride).squeeze(0)
    rows, columns = _counts(x.shape[-2:], kernel, dilation, padding, stride)
    if any(padding):
        x = F.pad(x, [padding[1], padding[1], padding[0], padding[0]])
    slices = [
        x[
            :,
            :,
            row : row + (rows - 1) * stride[0] + 1 : stride[0],
            column : column + (columns - 1) * stride[1] + 1 : stride[1],
        ]
        for row, column in _places(kernel, dilation)
    ]
    return torch.stack(slices, 2).reshape(x.shape[0], x.shape[1] * len(slices), rows * columns)


def _fold(
    x: torch.Tensor,
    size: Sequence[int],
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> torch.Tensor:
    if x.dim() == 2:
        return _fold(x.unsqueeze(0), size, kernel, dilation, padding, stride).squeeze(0)
    rows, columns = _counts(size, kernel, dilation, padding, stride)
    places = list(_places(kernel, dilation))
    slices = x.reshape(x.shape[0], -1, len(places), rows, columns)
    height, width = (size[d] + 2 * padding[d] for d in range(2))
    total = None
    for number, (row, column) in enumerate(places):
        image = _apart(_apart(slices[:, :, number], -2, stride[0]), -1, stride[1])
        down, right = height - row - image.shape[-2], width - column - image.shape[-1]
        image = F.pad(image, [column, right, row, down])
        total = image if total is None else total + image
    if total is None:
        raise Leave("its window is empty")
    return total[
        ..., padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]
    ].contiguous()


def _apart(x: torch.Tensor, dim: int, step: int) -> torch.Tensor:
    """With step - 1 zeros between each two along dim."""
    if step == 1:
        return x
    count = x.shape[dim]
    each = x.unsqueeze(dim)
    pads = [0, step - 1] if dim == -1 else [0, 0, 0, step - 1]
    spread = F.pad(each, pads).flatten(x.dim() + dim, x.dim() + dim + 1)
    return spread.narrow(dim, 0, (count - 1) * step + 1)


def _windows(x: torch.Tensor, dim: int, size: int, step: int) -> torch.Tensor:
    """[..., W, ...] to [..., windows, ..., size]."""
    if not x.dim():
        return x.reshape([1]) if size else x.reshape([1])[:0]
    dim %= x.dim()
    count = (x.shape[dim] - size) // step + 1
    if not size or not count:
        raise Leave("its windows are empty")
    if min(size, count) > _MOST_SLICES:
        raise Leave(f"{size} in {count} windows; up to {_MOST_SLICES} slices are written out")
    if size <= count:
        ends = [start + (count - 1) * step + 1 for start in range(size)]
        places = [(slice(None),) * dim + (slice(s, e, step),) for s, e in enumerate(ends)]
        return torch.stack([x[place] for place in places], -1)
    windows = [x.narrow(dim, each * step, size).movedim(dim, -1) for each in range(count)]
    return torch.stack(windows, dim)
