import pytest
import torch
import torch.nn.functional as F

from qualcomm_backend.passes.harness import check
from qualcomm_backend.passes.unfold_by_slices import UnfoldBySlices

X = torch.arange(2 * 3 * 7 * 8.0).reshape(2, 3, 7, 8)
WINDOWS = [
    {"kernel_size": 2},
    {"kernel_size": 2, "stride": 2},
    {"kernel_size": 3, "stride": 2},
    {"kernel_size": (2, 3), "stride": (3, 1), "padding": (1, 2)},
    {"kernel_size": 2, "dilation": 3, "padding": 1, "stride": 2},
    {"kernel_size": 1, "stride": 3},
]


def test_images_unfold_as_in_eager():
    function = lambda x: (*(F.unfold(x, **each) for each in WINDOWS), F.unfold(x[0], 3, stride=2))
    found = check(UnfoldBySlices, function, X)
    assert "aten.im2col.default" not in found.operators


def test_and_fold_again():
    function = lambda x: tuple(F.fold(F.unfold(x, **each), (7, 8), **each) for each in WINDOWS)
    found = check(UnfoldBySlices, function, X, exact=False)
    assert "aten.col2im.default" not in found.operators
    check(UnfoldBySlices, lambda x: F.fold(x, (4, 5), 2), torch.rand(8, 12), exact=False)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_windows_along_a_dimension(dim):
    x = torch.arange(60).reshape(4, 3, 5)
    windows = [(1, 1), (2, 1), (3, 2), (2, 3), (3, 3)]
    found = check(UnfoldBySlices, lambda x: tuple(x.unfold(dim, *each) for each in windows), x)
    assert found.count == 5


def test_very_large_windows_stay():
    found = check(UnfoldBySlices, lambda x: F.unfold(x, 12), torch.rand(1, 1, 13, 13))
    assert "a window of 144" in found.reasons
