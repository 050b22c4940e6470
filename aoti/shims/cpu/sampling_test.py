"""Sampling on a grid against ATen's."""

import pytest
import torch
from shim_calls import ShimError, Shims, check, values

SHIMS = Shims()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("interpolation", [0, 1])
@pytest.mark.parametrize("outside", [0, 1, 2])
def test_grid_sampler_3d(dtype, interpolation, outside):
    grid = values([2, 4, 3, 5, 3], dtype, 1)  # a third of it lies outside
    grid[0, 0, 0, 0] = torch.tensor([-1.0, 1.0, 0.0])
    for x in [
        values([2, 3, 5, 6, 7], dtype),
        values([2, 3, 5, 6, 7], dtype).contiguous(memory_format=torch.channels_last_3d),
        values([2, 3, 1, 1, 2], dtype),
    ]:
        for align in (True, False):
            arguments = [x, grid, interpolation, outside, align]
            check(SHIMS, "grid_sampler_3d", torch.ops.aten.grid_sampler_3d, arguments, 1e-4)


def test_a_grid_of_another_batch_is_refused():
    with pytest.raises(ShimError, match="a grid of"):
        arguments = [torch.ones(2, 1, 2, 2, 2), torch.ones(1, 2, 2, 2, 3), 0, 0, False]
        SHIMS.call("aoti_torch_cpu_grid_sampler_3d", *arguments)
