import pytest
import torch

from qualcomm_backend.passes.count_truths import CountTruths
from qualcomm_backend.passes.harness import EDGES, check

X = torch.tensor([[0, 1, 2], [0, 0, 0], [3, 255, 1]])


@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.bool, torch.int64, torch.float32, torch.float16, torch.int8]
)
@pytest.mark.parametrize("name", ["any", "all"])
def test_equals_eager_in_value_and_dtype(name, dtype):
    ask = lambda x, *args, **named: getattr(x, name)(*args, **named)
    function = lambda x: (
        *(ask(x), ask(x, 1), ask(x, -2, True), ask(x, dim=(0, 1)), ask(x, dim=(0,), keepdim=True)),
    )
    assert check(CountTruths, function, X.to(dtype)).count == 5


def test_nan_is_true():
    check(CountTruths, lambda x: (x.reshape(3, 4).any(1), x.reshape(3, 4).all(1)), EDGES)


def test_a_scalar_is_its_own_answer():
    check(CountTruths, lambda x: (x.any(), x.all(0)), torch.tensor(2, dtype=torch.uint8))


def test_of_nothing_none_is_true():
    found = check(CountTruths, lambda x: (x.any(1), x.all(1)), torch.ones(2, 0))
    assert not found.count
    assert "nothing" in found.reasons
