import torch
from torch import nn

from qualcomm_backend.conftest import Call, assert_equals_eager, delegated, left, lower

LINEAR = ["aten.permute_copy.default", "aten.addmm.default"]


def test_a_network_is_delegated_whole():
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, groups=8),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(288, 10),
    )
    x = torch.randn(1, 3, 8, 8)
    lowered = lower(module, x)
    assert not left(lowered)
    assert_equals_eager(lowered, module, (x,), (torch.randn(1, 3, 8, 8),))


def test_what_qnn_has_no_dtype_for_is_left_with_a_reason():
    module = Call(lambda m, x: (m.linear(x).relu() * 2).float(), linear=nn.Linear(8, 4).bfloat16())
    x = torch.randn(2, 8).bfloat16()
    lowered = lower(module, x)
    assert not delegated(lowered)
    assert "does not take bfloat16" in left(lowered)["aten.relu.default"]
    assert_equals_eager(lowered, module, (x,))


def test_a_program_of_which_nothing_is_supported_runs_all_the_same():
    module = Call(lambda m, x: torch.sin(x))
    x = torch.randn(3)
    lowered = lower(module, x)
    assert not delegated(lowered)
    assert all(left(lowered).values())
    assert_equals_eager(lowered, module, (x,))


def test_a_constant_that_is_returned_is_returned():
    module = Call(lambda m, x: (m.linear(x), m.linear.weight), linear=nn.Linear(8, 4))
    x = torch.randn(2, 8)
    lowered = lower(module, x)
    assert delegated(lowered) == LINEAR
    assert_equals_eager(lowered, module, (x,))


def test_an_operator_in_keep_is_left():
    module = Call(lambda m, x: m.linear(x).relu(), linear=nn.Linear(8, 4))
    x = torch.randn(2, 8)
    lowered = lower(module, x, keep=["aten.relu.default"])
    assert left(lowered) == {"aten.relu.default": "it is in `keep`"}
    assert_equals_eager(lowered, module, (x,))


def test_a_constant_that_is_moved_for_an_operator_outside_is_moved_outside():
    torch.manual_seed(0)
    module = Call(
        lambda m, x: m.second(m.first(x).relu()).tanh(),
        first=nn.Linear(8, 8),
        second=nn.Linear(8, 4),
    )
    x = torch.randn(2, 8)
    lowered = lower(module, x, keep=["aten.addmm.default"])
    assert delegated(lowered) == ["aten.relu.default", "aten.tanh.default"]
    assert_equals_eager(lowered, module, (x,))


def test_what_is_computed_for_a_jump_is_computed_in_32_bits():
    torch.manual_seed(0)
    x = torch.rand(64) * 100
    module = Call(lambda m, x: (torch.floor(x / 3), (x - 50) > 0.01, x * 2))
    lowered = lower(module, x)
    assert delegated(lowered) == ["aten.mul.Tensor"]
    assert "jumps" in left(lowered)["aten.div.Tensor"]
    assert_equals_eager(lowered, module, (x,))


def test_attention_is_not_split_by_clones():
    torch.manual_seed(0)
    module = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    x = torch.randn(2, 5, 16)
    lowered = lower(module, x)
    assert not left(lowered)
    assert_equals_eager(lowered, module, (x,))


def test_a_builder_that_fails_leaves_its_operator_with_a_reason(monkeypatch):
    from qualcomm_backend import stock

    class Broken:
        def define_node(self, node, tensors):
            raise IndexError("tuple index out of range")

    builders = stock.builders
    monkeypatch.setattr(
        stock, "builders", lambda part: builders(part) | {"aten.relu.default": Broken()}
    )
    module = Call(lambda m, x: m.linear(x).relu(), linear=nn.Linear(8, 4))
    x = torch.randn(2, 8)
    lowered = lower(module, x)
    assert delegated(lowered) == LINEAR
    reason = left(lowered)["aten.relu.default"]
    assert reason == "its builder fails: IndexError: tuple index out of range"
    assert_equals_eager(lowered, module, (x,))


def test_a_mutated_buffer_stays_outside_and_keeps_counting():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.ones(3))

        def forward(self, x):
            self.count.add_(1.0)
            return torch.relu(x) + self.count

    x = torch.randn(3)
    lowered = lower(Counter(), x)
    assert "aten.relu.default" in delegated(lowered)
    module = Counter()
    assert_equals_eager(lowered, module, (x,), (x,), (x,))


def test_sizes_that_are_not_fixed_are_left_with_a_reason():
    module = Call(lambda m, x: m.linear(x).relu(), linear=nn.Linear(8, 4))
    rows = torch.export.Dim("rows", min=2, max=16)
    lowered = lower(module, torch.randn(3, 8), dynamic_shapes=(({0: rows},),))
    assert not delegated(lowered)
    assert "QNN's graphs are" in left(lowered)["aten.relu.default"]
    assert_equals_eager(lowered, module, (torch.randn(3, 8),), (torch.randn(7, 8),))
