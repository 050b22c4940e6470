import torch
from executorch.exir import to_edge_transform_and_lower

from openvino_backend.ranges import Ranges, inside, limits


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def range_of_result(function, *inputs):
    program = torch.export.export(Function(function), inputs)
    edge = to_edge_transform_and_lower(program, partitioner=[]).exported_program()
    return Ranges(edge).of(edge.graph.output_node().args[0][0])


X = torch.tensor([1, 2])


def test_an_int64_input_is_unknown():
    assert range_of_result(lambda x: x.flip(0), X) is None


def test_an_int32_input_is_what_its_dtype_holds():
    assert range_of_result(lambda x: x.flip(0), X.int()) == (-(2**31), 2**31 - 1)


def test_a_bool_is_zero_or_one():
    assert range_of_result(lambda x: (x > 1).to(torch.int64), X) == (0, 1)


def test_a_range_is_between_its_ends():
    assert range_of_result(lambda x: x * 0 + 1 if False else torch.arange(3, 9, 2), X) == (3, 8)


def test_arithmetic_is_that_of_intervals():
    found = range_of_result(lambda x: (x > 1).to(torch.int64) * -5 + torch.arange(2), X)
    assert found == (-5, 1)


def test_arithmetic_with_an_unknown_value_is_unknown():
    assert range_of_result(lambda x: x + torch.arange(2), X) is None


def test_narrow_arithmetic_that_overflows_is_all_of_its_dtype():
    assert range_of_result(lambda x: x * x, X.to(torch.uint8)) == (0, 255)


def test_a_padding_counts():
    padded = range_of_result(
        lambda x: torch.nn.functional.pad((x > 1).to(torch.int64), (0, 1), value=7), X
    )
    assert padded == (0, 7)


def test_int64_holds_what_int32_holds():
    assert limits(torch.int64) == limits(torch.int32)
    assert inside((0, 1), limits(torch.int64))
    assert not inside((0, 2**31), limits(torch.int64))
    assert not inside(None, limits(torch.int64))


def test_a_sum_is_as_large_as_its_terms_together():
    assert range_of_result(lambda x: x.sum(0), torch.zeros(4, 3, dtype=torch.int8)) == (-512, 508)


def test_a_place_is_within_what_is_searched():
    assert range_of_result(lambda x: x.argmax(0), torch.zeros(4, dtype=torch.int8)) == (0, 3)


def test_a_remainder_is_below_its_divisor():
    assert range_of_result(lambda x: x % 5, X) == (0, 4)


def test_a_quotient_is_between_the_quotients_of_the_ends():
    small = torch.zeros(4, dtype=torch.int8)
    assert range_of_result(lambda x: x // 3, small) == (-43, 42)


def test_clamping_bounds_what_is_unknown():
    assert range_of_result(lambda x: x.clamp(-3, 9), X) == (-3, 9)
    assert range_of_result(lambda x: x.clamp(min=0), X) is None


def test_bits_stay_within_the_operands_bits():
    assert range_of_result(lambda x: (x & 3) | 4, torch.zeros(4, dtype=torch.uint8)) == (0, 255)
