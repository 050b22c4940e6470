import pytest
import torch
import torch.nn.functional as F

from qualcomm_backend.passes.harness import INF, NAN, check
from qualcomm_backend.passes.pool_images import PoolImages

X = torch.randn(2, 3, 7, 8)
X[0, 0, 1, 1], X[0, 1, :3, :3], X[1, 2, 4, 4] = NAN, -INF, INF


def test_equals_eager_with_every_argument():
    function = lambda x: (
        F.max_pool2d(x, 2),
        F.max_pool2d(x, (3, 2), 2, 1),
        F.max_pool2d(x, 3, 2, 1, 1, ceil_mode=True),
        F.max_pool2d(x, 2, 1, dilation=2),
        F.max_pool2d(x[0], 2),
        F.max_pool1d(x[0], 2),
        F.max_pool1d(x[0, 0], 3, 1, 1),
        F.max_pool1d(x[0], 3, 2, 1, 2, ceil_mode=True),
    )
    found = check(PoolImages, function, X)
    assert found.count == 8
    for node in found.program.graph.nodes:
        if node.target is torch.ops.aten.max_pool2d_with_indices.default:
            assert len(node.args[2]) == 2
            assert node.args[0].meta["val"].dim() == 4


def test_places_that_are_read():
    function = lambda x: (*F.max_pool2d(x, 2, return_indices=True),)
    check(PoolImages, function, X)
    check(PoolImages, function, X[0])


def test_the_stride_is_the_kernel():
    found = check(PoolImages, lambda x: F.max_pool2d(x, 2), torch.rand(1, 2, 6, 6))
    node = next(n for n in found.program.graph.nodes if "max_pool" in n.name)
    assert node.args[1:3] == ([2, 2], [2, 2])


@pytest.mark.parametrize("dtype", [torch.int32, torch.float16])
def test_other_dtypes(dtype):
    check(
        PoolImages,
        lambda x: F.max_pool2d(x, 2, 2, 1),
        torch.arange(36).reshape(1, 1, 6, 6).to(dtype),
    )
