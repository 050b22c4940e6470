import pytest
import torch

from qualcomm_backend.passes.harness import check
from qualcomm_backend.passes.multiply_vectors import MultiplyVectors

SHAPES = [
    ((4, 5), (5,)),
    ((5,), (5, 3)),
    ((5,), (5,)),
    ((2, 4, 5), (5,)),
    ((5,), (2, 5, 3)),
    ((0,), (0,)),
]


@pytest.mark.parametrize("shapes", SHAPES)
def test_equals_eager(shapes):
    x, y = (torch.randn(shape) for shape in shapes)
    found = check(MultiplyVectors, torch.matmul, x, y, exact=False)
    assert found.count == 1
    assert all(len(node.meta["val"].shape) >= 2 for node in products(found))


def products(found):
    names = ("mm", "bmm", "matmul")
    return [node for node in found.program.graph.nodes if node.name in names]


def test_dot_and_mv():
    x, y = torch.randn(4, 5), torch.randn(5)
    found = check(
        MultiplyVectors, lambda x, y: (torch.mv(x, y), torch.dot(y, y)), x, y, exact=False
    )
    assert found.count == 2


def test_matrices_stay():
    assert not check(MultiplyVectors, lambda x: x @ x, torch.rand(3, 3)).count
