import torch
import torch.nn.functional as F

from qualcomm_backend.passes.harness import INF, NAN, check
from qualcomm_backend.passes.pool_volumes import PoolVolumes

X = torch.randn(2, 3, 5, 6, 7)
X[0, 0, 1, 1, 1], X[0, 1, :3, :3, :3], X[1, 2, 4, 4, 4] = NAN, -INF, INF


def test_equals_eager():
    function = lambda x: (
        F.max_pool3d(x, 2),
        F.max_pool3d(x[0], 2),
        F.max_pool3d(x, 2, padding=1),
        F.max_pool3d(x[1], (3, 2, 1), (1, 2, 1), (1, 1, 0)),
        F.max_pool3d(x, 2, 1, dilation=2),
        F.max_pool3d(x, (2, 3, 2), (3, 2, 2), (0, 1, 1), (2, 1, 3)),
        F.max_pool3d(x, 3, 2, 1, ceil_mode=True),
        F.max_pool3d(x, (2, 2, 3), 3, 1, ceil_mode=True),
    )
    found = check(PoolVolumes, function, X)
    assert found.count == 8
    assert "aten.max_pool3d.default" not in found.operators


def test_places_that_are_read_stay():
    function = lambda x: (*F.max_pool3d(x, 2, return_indices=True),)
    assert not check(PoolVolumes, function, X).count
