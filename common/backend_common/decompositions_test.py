"""What the portable kernels lack or get wrong equals eager after all."""

import pytest
import torch
import torch.nn.functional as F

from backend_common import decompositions, load, lower
from backend_common.harness import difference
from backend_common.kernels import registered_kernels

NAN = float("nan")
INTS = torch.tensor([-7, -3, -1, 0, 1, 3, 7, 2**62 + 1, -(2**62) - 1])
DIVISORS = torch.tensor([3, -2, 2, 5, -1, 7, -3, 3, 7])
FLOATS = torch.tensor([NAN, float("inf"), -float("inf"), 0.0, -0.0, 1.5, -1.5])
OTHERS = torch.tensor([1.0, NAN, 2.0, -1.0, 3.0, NAN, 0.5])
REPEATED = torch.tensor([[3, 1, 3, 2, 1, 3], [0, 0, NAN, 1, 0, NAN]])
VOLUME = torch.randn(2, 3, 5, 6, 7, generator=torch.Generator().manual_seed(0))
BYTES = torch.tensor([0, 1, 3, 200, 255], dtype=torch.uint8)


POWERS = torch.tensor([0, 1, 7, 31, 63, 64, 65, 2**40, -1])
KERNELS = torch.randn(4, 3, 2, 3, 3, generator=torch.Generator().manual_seed(1))
IMAGE = torch.arange(120).reshape(2, 3, 4, 5).to(memory_format=torch.channels_last)


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


CASES = {
    "comparison_of_float64_with_float32": (
        lambda x, y: (x == y, x < y, x >= y),
        torch.tensor([1.1, -2.3, 2.0], dtype=torch.float64),
        torch.tensor([1.1, -2.3, 2.0]),
    ),
    "choice_of_a_float64_without_dimensions": (
        lambda x: torch.where(x > 1, torch.tensor(0.1, dtype=torch.float64), x),
        OTHERS,
    ),
    "choice_of_a_long_without_dimensions": (
        lambda x: torch.where(x > 1, x, torch.tensor(2**40 + 5)),
        BYTES,
    ),
    "remainder_by_number": (lambda x: x % 3, INTS),
    "remainder_by_negative_number": (lambda x: x % -3, INTS),
    "remainder_by_tensor": (torch.remainder, INTS, DIVISORS),
    "remainder_of_number": (lambda y: torch.remainder(7, y), DIVISORS),
    "remainder_of_number_by_floats": (lambda y: torch.remainder(7, y), OTHERS),
    "remainder_of_int32": (lambda x: x % 3, INTS[:7].int()),
    "remainder_of_bytes": (lambda x: x % 3, BYTES),
    "remainder_of_floats": (torch.remainder, FLOATS, OTHERS),
    "remainder_of_integers_by_fraction": (lambda x: x % 2.5, INTS[:7]),
    "truncating_division": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), INTS, DIVISORS),
    "truncating_division_by_number": (lambda x: torch.div(x, -3, rounding_mode="trunc"), INTS),
    "truncating_division_of_floats": (
        lambda x, y: torch.div(x, y, rounding_mode="trunc"),
        FLOATS,
        OTHERS,
    ),
    "floor_division_of_floats": (
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        FLOATS.repeat_interleave(7),
        OTHERS.repeat(7) - 1,
    ),
    "floor_divide_of_halves": (torch.floor_divide, FLOATS.half(), OTHERS.half()),
    "power_by_integers": (torch.pow, INTS, torch.tensor([3, 5, -1, 0, 9, 40, 1, 2, 3])),
    "power_of_bytes_by_bytes": (torch.pow, BYTES, BYTES.flip(0)),
    "large_powers_wrap": (
        torch.pow,
        torch.tensor([3, -7, 2, -1], dtype=torch.int16).repeat_interleave(3),
        torch.tensor([2**15 - 1, 65, 64], dtype=torch.int16).repeat(4),
    ),
    "powers_of_a_number": (lambda x: (torch.pow(3, x), torch.pow(-1, x)), INTS.int()),
    "convolution_of_volumes_in_half_precision": (
        torch.conv3d,
        VOLUME.bfloat16(),
        KERNELS.bfloat16(),
    ),
    "powers_of_an_even_number": (lambda x: (torch.pow(2, x), torch.pow(-6, x)), POWERS),
    "roots_of_halves": (
        lambda x: (x**0.5, x**-0.5),
        torch.tensor([0.0, -0.0, 2.0, -2.0, float("inf"), -float("inf")]).half(),
    ),
    "roots_of_doubles": (lambda x: (x**0.5, x**-0.5), FLOATS.double()),
    "fmod_by_tensor": (torch.fmod, INTS, DIVISORS),
    "fmod_by_number": (lambda x: torch.fmod(x, -3), INTS),
    "trunc_of_integers": (torch.trunc, INTS),
    "floor_of_integers": (torch.floor, INTS),
    "erfc": (torch.special.erfc, FLOATS),
    "log_softmax_of_doubles": (lambda x: x.reshape(3, 3).double().log_softmax(1), INTS),
    "sum_of_large_integers": (lambda x: (x.sum(0), x.reshape(3, 3).sum((0, 1), True)), INTS),
    "norm_of_doubles": (lambda x: torch.linalg.vector_norm(x.double() / 3, 1, 0), INTS),
    "variance_of_too_few": (
        lambda x: (x.var(1, correction=2), x.std(correction=4), x[:, :1].var(1)),
        torch.tensor([[1.0, 2.0], [2.0, 2.0]]),
    ),
    "variance_and_mean": (
        lambda x: (torch.var_mean(x, 1), torch.std_mean(x[:, :1].half(), 1)),
        torch.tensor([[1.0, 8.0], [2.0, 5.0]]),
    ),
    "sum_of_doubles": (lambda x: (x.double() / 3).sum(), INTS),
    "cumsum_without_dimensions": (lambda x: x[0].cumsum(0), INTS),
    "square_of_integers": (torch.square, torch.tensor([2**30 + 1, -(2**31) - 1])),
    "power_of_integers": (lambda x: x**3, torch.tensor([2**20 + 1, -3, 0])),
    "power_zero_of_integers": (lambda x: x**0, INTS),
    "power_of_bytes_wraps": (lambda x: x**5, BYTES),
    "power_of_floats": (lambda x: x**3, OTHERS),
    "sign_of_nan": (torch.sign, FLOATS),
    "sign_of_integers": (torch.sign, INTS),
    "fmax": (torch.fmax, FLOATS, OTHERS),
    "fmin": (torch.fmin, FLOATS, OTHERS),
    "fmax_of_integers": (torch.fmax, INTS, DIVISORS),
    "fmax_of_mixed_types": (torch.fmax, FLOATS, DIVISORS[:7]),
    "channels_last_with_a_row": (lambda x, y: x + y, IMAGE, INTS[:5]),
    "channels_last_reduced": (lambda x: x.amax(1), IMAGE),
    "channels_last_padded": (lambda x: F.pad(x, [1, 1]), IMAGE),
    "cropped": (lambda x: (F.pad(x, [-1, 1]), F.pad(x, [2, -2, -1, -1], value=7)), IMAGE),
    "channels_last_of_a_composite": (lambda x: F.pixel_unshuffle(x[..., :4], 2), IMAGE),
    "channels_last_resampled": (
        lambda x: F.interpolate(x, size=5, mode="bilinear"),
        IMAGE.double(),
    ),
    "channels_last_concatenated": (lambda x: torch.cat([x, x], 1), IMAGE),
    "sort": (torch.sort, REPEATED),
    "sort_along_first_dim_descending": (lambda x: torch.sort(x, 0, True), REPEATED),
    "sort_stable": (lambda x: torch.sort(x, stable=True, descending=True), REPEATED),
    "sort_of_bool": (torch.sort, torch.tensor([True, False, True, False])),
    "sort_of_nothing": (lambda x: torch.sort(x, 0), torch.zeros(0, 3)),
    "sort_of_scalar": (torch.sort, torch.tensor(2.0)),
    "argsort": (lambda x: torch.argsort(x, stable=True), REPEATED),
    "msort": (torch.msort, REPEATED),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), VOLUME),
    "max_pool3d_padded_strided_dilated": (
        lambda x: F.max_pool3d(x, (2, 3, 2), (1, 2, 2), (1, 1, 0), (2, 1, 2)),
        VOLUME,
    ),
    "max_pool3d_with_indices": (
        lambda x: F.max_pool3d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
        VOLUME.round(),  # equal values: the first one's index
    ),
    "max_pool3d_without_batch": (lambda x: F.max_pool3d(x, 2, return_indices=True), VOLUME[0]),
}


class All(torch.nn.Module):
    """Every case is a group of outputs of one program, lowered once."""

    def forward(self, *inputs):
        return [case[0](*own) for case, own in zip(CASES.values(), inputs, strict=True)]


@pytest.fixture(scope="module")
def outputs():
    """The flat outputs of each case."""
    inputs = tuple(inputs for _, *inputs in CASES.values())
    lowered = lower(All().eval(), inputs, backend="portable")
    values = iter(load(lowered.buffer).forward(*inputs))
    counts = {name: len(leaves(function(*inputs))) for name, (function, *inputs) in CASES.items()}
    return {name: [next(values) for _ in range(count)] for name, count in counts.items()}


def leaves(tree):
    return torch.utils._pytree.tree_leaves(tree)


@pytest.mark.parametrize("name", CASES)
def test_result_equals_eager(name, outputs):
    function, *inputs = CASES[name]
    assert difference(leaves(function(*inputs)), outputs[name], 1e-6) == ""


def test_sort_of_a_dynamic_size():
    size = torch.export.Dim("size", min=2, max=16)
    lowered = lower(
        Call(torch.sort).eval(),
        (torch.randn(5),),
        backend="portable",
        dynamic_shapes=(({0: size},),),
    )
    program = load(lowered.buffer)
    for values in (torch.tensor([2.0, 1.0, 2.0]), torch.arange(16.0).flip(0)):
        assert difference(list(torch.sort(values)), program.forward(values), 0) == ""


def test_a_right_kernel_is_kept():
    exported = torch.export.export(Call(torch.remainder), (FLOATS, OTHERS))
    assert decompositions.needed(exported, registered_kernels()) == set()
    exported = torch.export.export(Call(torch.remainder), (INTS, DIVISORS))
    assert decompositions.needed(exported, registered_kernels()) == {
        torch.ops.aten.remainder.Tensor
    }


def test_a_missing_kernel_is_needed_and_a_new_one_is_not():
    exported = torch.export.export(Call(torch.fmax), (FLOATS, OTHERS))
    assert decompositions.needed(exported, set()) == {torch.ops.aten.fmax.default}
    assert decompositions.needed(exported, {"aten::fmax.out"}) == set()


def test_normalisation_of_doubles_has_their_digits():
    def normalised(x):
        layer = F.layer_norm(x, (6, 7), VOLUME[0, 0, 0].double(), None)
        group = F.group_norm(x, 3, torch.arange(3.0).double(), torch.ones(3).double())
        return layer, F.layer_norm(x, (7,)), group

    x = VOLUME.double() + 100
    outputs = load(lower(Call(normalised), (x,), backend="portable").buffer).forward(x)
    for output, wanted in zip(outputs, normalised(x), strict=True):
        torch.testing.assert_close(output, wanted, rtol=1e-11, atol=1e-11)
