"""What is written out equals eager, on OpenVINO, and is delegated."""

import backend_common
import pytest
import torch

from openvino_backend.conftest import lower

NAN, INF = float("nan"), float("inf")
FLOATS = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.5, -1.5, 2.5, -2.5, 3.0, 1e30, -1e30])
# Every value of 16 bits: OpenVINO divides integers in float32.
SHORTS = torch.arange(-(2**15), 2**15, dtype=torch.int16)
GRID = torch.arange(60.0).reshape(3, 4, 5)
ROWS, COLUMNS = torch.tensor([[-3], [2]]), torch.tensor([-1, 0, -4])
BYTES = torch.tensor([[255, 255, 3], [0, 1, 2]], dtype=torch.uint8)


def _put_behind(x, i, y):
    x = x.clone()
    x[:, i] = y
    return x


def _put_apart(x, i, j, y):
    x = x.clone()
    x[i, :, j] = y
    return x


def _add_behind(x, i, y):
    return x.index_put((torch.arange(3)[:, None], i), y, accumulate=True)


def _instance_norm(x, weight, bias):
    return torch.nn.functional.instance_norm(x, weight=weight, bias=bias)


CASES = {
    "trunc": (torch.trunc, FLOATS),
    "truncating_division": (lambda x: torch.div(x, 0.7, rounding_mode="trunc"), FLOATS),
    "logical_not": (torch.logical_not, FLOATS),
    "logical_and": (lambda x: torch.logical_and(x, x.flip(0)), FLOATS),
    "cast_to_bool": (lambda x: x.bool(), FLOATS),
    "any": (lambda x: x.reshape(3, 4).any(1), FLOATS),
    "all": (lambda x: x.reshape(3, 4).all(1), FLOATS),
    "variance_with_a_correction": (lambda x: x.var((0, 2), correction=2), GRID),
    "variance_of_all": (lambda x: x.var(), GRID),
    "mean_of_a_number": (lambda x: x.sum().mean(None, keepdim=True) + x, GRID),
    "mean_of_all": (lambda x: x.mean(None, keepdim=True), GRID),
    "several_indices": (lambda x, i, j: x[i, j], GRID, ROWS, COLUMNS),
    "indices_apart": (lambda x, i, j: x[i, :, j], GRID, ROWS, COLUMNS),
    "gather_with_a_smaller_index": (
        lambda x, i: torch.gather(x, 2, i),
        GRID,
        torch.tensor([[[4, 0, 1]]]),
    ),
    "index_put_behind_a_dimension": (_put_behind, GRID, COLUMNS, GRID[:, :3] * 2),
    "index_put_of_a_row_behind_a_dimension": (_put_behind, GRID, COLUMNS, GRID[0, 0] * 2),
    "index_put_of_a_number_behind_a_dimension": (_put_behind, GRID, COLUMNS, GRID[0, 0, 0]),
    "index_put_apart": (_put_apart, GRID, ROWS, COLUMNS, GRID.reshape(5, 3, 4)[:2] * 2),
    "sum_behind_a_dimension": (_add_behind, GRID, torch.tensor([1, 0, 1]), GRID[:, :3]),
    "unfold_of_the_last_dimension": (lambda x: x.unfold(-1, 3, 2), GRID),
    "instance_norm": (_instance_norm, GRID.sin(), GRID[0, 0, :4], GRID[1, 1, :4]),
    "power_of_a_number": (lambda x: 2.5**x, FLOATS[:-2]),
    "upsampling_of_rows": (
        lambda x: torch.nn.functional.interpolate(x, scale_factor=0.6, mode="linear"),
        GRID,
    ),
    "clamp_between_tensors": (lambda x: torch.clamp(x, x.flip(0) - 1, x.flip(0) + 1), FLOATS),
    "largest_norm": (lambda x: torch.linalg.vector_norm(x.reshape(3, 4), INF, 1), FLOATS),
    "sum_of_bytes": (lambda x: x.sum(1), BYTES),
    "running_sum_of_bytes": (lambda x: x.cumsum(1), BYTES),
    "absolute_value_of_a_range": (lambda x: torch.arange(-2, 2).abs() + x, BYTES[0, :1]),
    "floor_division": (lambda x: x.long() // 7, SHORTS),
    "floor_division_of_bytes": (
        lambda x: torch.div(x, 3, rounding_mode="floor"),
        torch.arange(-128, 128, dtype=torch.int8),
    ),
    "floor_division_by_a_negative": (lambda x: x.long() // -49, SHORTS),
    "truncating_integer_division": (lambda x: torch.div(x, 3, rounding_mode="trunc"), SHORTS),
    "remainder": (lambda x: x.long() % 255, SHORTS),
    "fmod": (lambda x: torch.fmod(x.long(), -7), SHORTS),
}


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        # Beside the sine, even a lone cast is worth delegating.
        return torch.sin(torch.ones(2) + inputs[0].flatten()[0]), self.function(*inputs)


@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name):
    function, *inputs = CASES[name]
    module = Call(function)
    lowered = lower(module, *inputs)
    # But for what checks the indices of a write.
    left = [row for row in lowered.report if not row.delegated and "in range" not in row.reason]
    assert not left, left
    _, actual = backend_common.load(lowered.buffer).forward(*inputs)
    torch.testing.assert_close(actual, module(*inputs)[1], equal_nan=True)
