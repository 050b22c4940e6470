import torch
from executorch.exir import to_edge_transform_and_lower

from openvino_backend.ranges import Ranges


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def ranges_of_result(function, *inputs):
    program = torch.export.export(Function(function), inputs)
    edge = to_edge_transform_and_lower(program, partitioner=[]).exported_program()
    (result,) = edge.graph.output_node().args[0]
    ranges = Ranges(edge)
    return ranges.of_float(result), ranges.of(result)


def nearly(found, low, high):
    return low - 0.01 < found[0] <= low and high <= found[1] < high + 0.01


X = torch.tensor([1.0, 2.0])


def test_an_input_is_unknown():
    assert ranges_of_result(lambda x: x.flip(0), X) == (None, None)


def test_places_to_interpolate_at_are_known():
    found, _ = ranges_of_result(lambda x: (torch.arange(4) + 0.5) * 0.5 - 0.5, X)
    assert nearly(found, -0.25, 1.25)


def test_a_cast_of_what_is_known_is_known():
    _, found = ranges_of_result(lambda x: ((torch.arange(4) + 0.5) * 0.5).floor().long(), X)
    assert found == (0, 1)


def test_clamping_does_not_bound_what_may_be_nan():
    assert ranges_of_result(lambda x: x.clamp(0, 1), X) == (None, None)


def test_what_may_be_infinite_is_unknown():
    large = torch.finfo(torch.float32).max
    assert ranges_of_result(lambda x: torch.arange(4.0) * large, X) == (None, None)
    assert ranges_of_result(lambda x: 1 / torch.arange(-2.0, 2.0), X) == (None, None)


def test_a_constant_is_what_it_holds_unless_it_holds_nan():
    found, _ = ranges_of_result(lambda x: torch.tensor([-3.0, 2.5]).neg(), X)
    assert nearly(found, -2.5, 3.0)
    assert ranges_of_result(lambda x: torch.tensor([-3.0, torch.nan]).neg(), X) == (None, None)


def test_an_integer_is_a_number_too():
    found, _ = ranges_of_result(lambda x: (x > 1).long() * 0.25, X)
    assert nearly(found, 0.0, 0.25)
