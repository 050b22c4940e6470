"""Images of bytes, resampled bit by bit as eager does."""

import pytest
import torch
import torch.nn.functional as F

from backend_common import LoweringError, load, lower


class Resample(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, x):
        return F.interpolate(x, **self.options)


def image(*shape):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)


def lowered(module, x, **rest):
    return load(lower(module, (x,), backend="portable", **rest).buffer)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(
    "options",
    [
        {"size": (7, 9)},
        {"size": (3, 5)},
        {"size": (3, 5), "antialias": True},
        {"size": (11, 4), "antialias": True},
        {"size": (6, 13), "align_corners": True},
        {"scale_factor": (1.3, 2.6)},
        {"size": (1, 8)},
    ],
    ids=str,
)
def test_bytes_equal_eager(mode, options):
    module = Resample(mode=mode, **options)
    for channels in (3, 6):  # eager has two kernels
        x = image(2, channels, 6, 8)
        assert torch.equal(lowered(module, x).forward(x)[0], module(x))


def test_channels_stay_last():
    module = Resample(size=(7, 9), mode="bilinear")
    x = image(2, 3, 4, 5).to(memory_format=torch.channels_last)
    (output,) = lowered(module, x).forward(x)
    assert torch.equal(output, module(x)) and output.stride() == module(x).stride()


def test_the_batch_may_change_and_the_height_may_not():
    module, x = Resample(size=(7, 9), mode="bilinear"), image(2, 3, 4, 5)
    size = torch.export.Dim("size", max=8)
    program = lowered(module, x, dynamic_shapes=({0: size},))
    more = image(5, 3, 4, 5)
    assert torch.equal(program.forward(more)[0], module(more))
    with pytest.raises(LoweringError, match="sizes that are known") as caught:
        lowered(module, x, dynamic_shapes=({2: size},))
    (row,) = caught.value.rows
    assert row.operator == "aten.upsample_bilinear2d.vec"
    assert row.source.startswith("resampling_test.py:") and "dynamic_shapes" in row.remedy


def test_floating_point_stays_one_operator():
    module, x = Resample(size=(7, 9), mode="bilinear"), image(2, 3, 4, 5).float()
    rows = lower(module, (x,), backend="portable").report
    assert [row.operator for row in rows] == ["aten.upsample_bilinear2d.vec"]
