"""Operators without a kernel equal eager: bit for bit, signs of zeros included, or closely."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backend_common import LoweringError, load, lower
from backend_common.harness import difference

NAN, INF = float("nan"), float("inf")
torch.manual_seed(0)
EDGES = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.5, -1.5, 3e38, 1e-40, -1e-40, 20.0, -3.0])
OTHERS = torch.tensor([1.0, 1.0, 2.0, -0.0, 3.0, NAN, 0.5, -3e38, -1.0, 0.0, INF, -INF])
INTS = torch.tensor([-7, -3, -1, 0, 1, 3, 7, 2**40, -(2**62)])
SHIFTS = torch.tensor([0, 1, 62, 63, 64, -1, 200, 3, 1])
MATRIX = torch.randn(3, 4)
IMAGE = torch.randn(1, 2, 7, 5)
REPEATED = torch.tensor([[3.0, 1, 3, 2, 1, 3], [0, 0, NAN, 1, 0, NAN], [NAN] * 6])
DOUBLES = torch.tensor([3e300, 1e-310, NAN, 0, 3, -INF], dtype=torch.float64)


def zeroed_diagonal(x):
    y = x.clone()
    y.diagonal().zero_()
    return y


EXACT = {
    "exp2_of_integers": (torch.exp2, torch.arange(-5, 9)),
    "signbit": (torch.signbit, EDGES[1:]),
    "signbit_of_half": (torch.signbit, EDGES[1:].half()),
    "signbit_of_integers": (torch.signbit, INTS),
    "signbit_of_bytes": (torch.signbit, INTS.to(torch.uint8)),
    "signbit_of_bool": (torch.signbit, INTS > 0),
    "copysign": (torch.copysign, OTHERS, EDGES.nan_to_num(1)),
    "copysign_of_integers": (torch.copysign, INTS, SHIFTS),
    "copysign_of_a_number": (lambda x: torch.copysign(x, -2), EDGES.bfloat16()),
    "shift": (lambda x, y: (x << y, x >> y), INTS, SHIFTS),
    "shift_of_bytes": (
        lambda x, y: (x << y, x >> y),
        INTS.to(torch.int8),
        torch.tensor([8, 7, -1, 9, 0, 1, 2, 100, 3], dtype=torch.int8),
    ),
    "shift_by_a_number": (lambda x: (x << 2, x >> 2, x << 70, x >> 70), INTS),
    "number_is_shifted": (lambda y: (5 << y, torch.bitwise_right_shift(1000, y)), SHIFTS[:4]),
    "bits_with_a_number": (lambda x: (3 & x, 5 | x, 6 ^ x), INTS),
    "rrelu": (lambda x: F.rrelu(x), EDGES),
    "cumprod_of_integers": (lambda x: x.cumprod(0), INTS),
    "cumprod_beyond_the_range": (
        lambda x: x.cumprod(-1),
        torch.tensor([1e38, 1e38, 1e-38, 1e-38, 2.0, -0.0, INF]),
    ),
    "cumprod_of_half": (lambda x: x.cumprod(1), MATRIX.half()),
    "cumprod_without_dimensions": (lambda x: x.cumprod(0), torch.tensor(3)),
    "cummax": (lambda x: (x.cummax(1), x.cummin(1)), REPEATED),
    "cummax_of_integers": (lambda x: (x.cummax(0), x.cummin(0)), INTS),
    "cummax_of_bool": (lambda x: x.cummax(0), INTS > 0),
    "median": (lambda x: (x.median(), x[:, :2].median()), MATRIX),
    "median_of_dim": (lambda x: (x.median(1), x.median(0, True)), MATRIX),
    "median_of_nan": (lambda x: x.median(1).values, REPEATED),
    "median_of_integers": (lambda x: x.median(0), INTS),
    "median_of_half": (lambda x: x.median(), MATRIX.half()),
    "nanmedian": (lambda x: (x.nanmedian(), x.nanmedian(1).values), REPEATED),
    "nanmedian_of_nan": (lambda x: x.nanmedian(), REPEATED[2]),
    "adaptive_max_pool": (
        lambda x: F.adaptive_max_pool2d(x, (3, 2), return_indices=True),
        IMAGE.round(),  # equal values: the first one's index
    ),
    "adaptive_max_pool_of_whole_windows": (
        lambda x: F.adaptive_max_pool2d(x[0, :, :6, :4], (3, 2), return_indices=True),
        IMAGE,
    ),
    "fft_frequencies": (lambda x: x[0] * torch.fft.fftfreq(4, 0.3), MATRIX),
    "fft_frequencies_of_an_odd_number": (lambda x: x[0, :3] * torch.fft.fftfreq(3), MATRIX),
    "real_fft_frequencies": (lambda x: x[0] * torch.fft.rfftfreq(7, 0.3), MATRIX),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x[0], 3), IMAGE),
    "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, (2, 3, 1)), IMAGE),
    "diagonal_scatter": (lambda x, y: torch.diagonal_scatter(x, y), MATRIX, MATRIX[0, :3]),
    "diagonal_scatter_of_three": (
        lambda x, y: torch.diagonal_scatter(x, y, 1, 2, 0),
        torch.arange(24).reshape(3, 2, 4),
        -torch.arange(4).reshape(2, 2),
    ),
    "zeroed_diagonal": (zeroed_diagonal, MATRIX),
    "filled_diagonal": (lambda x: x.clone().fill_diagonal_(3), MATRIX),
    "fake_quantize": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127), EDGES),
    "fake_quantize_of_half": (
        lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255),
        MATRIX.half(),
    ),
    "fake_quantize_of_channels": (
        lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 0, -8, 7),
        MATRIX,
        torch.tensor([0.1, 0.2, 0.3]),
        torch.tensor([0, 1, 2], dtype=torch.int32),
    ),
    "empty_like": (
        lambda x: (torch.empty_like(x).fill_(2), torch.empty_like(x, dtype=torch.int64).zero_()),
        MATRIX,
    ),
    "empty_like_copied_to": (lambda x: torch.empty_like(x * 2).copy_(x) + 1, MATRIX),
    "empty_permuted": (lambda x: x + torch.empty_permuted((3, 4), (1, 0)).zero_(), MATRIX),
    "triangles": (lambda x: (x[0, 0] + torch.tril_indices(3, 3), torch.triu_indices(2, 3)), MATRIX),
    "bucketize": (lambda x: torch.bucketize(x, x.new_tensor([-1.0, 0, 1])), EDGES),
    "ldexp": (torch.ldexp, MATRIX[0], torch.tensor([1, 2, -3, 4])),
    "kthvalue": (lambda x: (x.kthvalue(2, 0).values, x.kthvalue(4, 0, True).values), INTS),
    "kthvalue_of_nan": (lambda x: x.kthvalue(5, 1).values, REPEATED),
    "searchsorted": (
        lambda x, y: (torch.searchsorted(x, y), torch.searchsorted(x, y, right=True)),
        torch.tensor([-INF, -1.5, 0, 0, 1.5, INF]),
        EDGES,
    ),
    "searchsorted_by_rows": (
        lambda x, y, order: torch.searchsorted(x, y, sorter=order, out_int32=True),
        MATRIX,
        MATRIX.flip(1),
        MATRIX.argsort(),
    ),
    "searchsorted_number": (lambda x: torch.searchsorted(x, 3, side="right"), torch.arange(8)),
    **{
        f"scatter_{reduce}{'' if also else '_alone'}": (
            lambda x, i, y, reduce=reduce, also=also: (
                x.scatter_reduce(1, i, y, reduce, include_self=also),
                x.flip(0).scatter_reduce(0, i[:, :2] // 2, y, reduce, include_self=also),
            ),
            torch.tensor([[5, -3, 7, 2], [-128, 127, 0, 9], [1, 1, 1, 1]], dtype=torch.int8),
            torch.tensor([[1, 1, 3], [0, 3, 3]]),
            torch.tensor([[4, -9, 2, 8], [127, 3, -4, 8]], dtype=torch.int8),
        )
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for also in (True, False)
    },
    "scatter_nothing": (
        lambda x, i, y: (
            x.scatter_reduce(1, i, y, "amax"),
            x.scatter_reduce(0, i, y, "mean", include_self=False),
        ),
        torch.arange(6).reshape(2, 3),
        torch.zeros(2, 0, dtype=torch.int64),
        torch.zeros(2, 0, dtype=torch.int64),
    ),
    "scatter_extreme_of_nan": (
        lambda x, i, y: (
            x.scatter_reduce(0, i, y, "amax"),
            x.scatter_reduce(0, i, y, "amin", include_self=False),
        ),
        torch.tensor([NAN, -INF, 1.0, 2.0]),
        torch.tensor([1, 2, 2, 3]),
        torch.tensor([-INF, 3.0, NAN, 2.0]),
    ),
}

CLOSE = {
    "exp2": (torch.exp2, EDGES),
    "exp2_of_half": (torch.exp2, EDGES.half()),
    "exp2_of_doubles": (torch.exp2, EDGES.double()),
    "hypot": (torch.hypot, EDGES, OTHERS),
    "hypot_of_half": (torch.hypot, EDGES.half(), OTHERS.half()),
    "hypot_of_doubles": (torch.hypot, DOUBLES, DOUBLES.roll(1)),
    "hypot_of_large_doubles": (torch.hypot, DOUBLES, DOUBLES.nan_to_num(INF)),
    "cumprod": (lambda x: x.cumprod(1), MATRIX),
    "addmv": (
        lambda x, a, b: torch.addmv(x, a, b, beta=0.5, alpha=2),
        torch.randn(3),
        torch.randn(3, 4),
        torch.randn(4),
    ),
    "addbmm": (
        lambda x, a, b: torch.addbmm(x, a, b, beta=0.5, alpha=2),
        MATRIX,
        torch.randn(2, 3, 5),
        torch.randn(2, 5, 4),
    ),
    "addr": (lambda x, a, b: torch.addr(x, a, b, beta=0.5, alpha=2), MATRIX, INTS[:3], INTS[:4]),
    "bilinear": (F.bilinear, torch.randn(2, 6, 3), torch.randn(2, 6, 4), torch.randn(5, 3, 4)),
    "round_to_decimals_of_half": (
        lambda x: (x.round(decimals=2), x.bfloat16().round(decimals=2)),
        torch.tensor([60000.0, 1.005, -0.333, 2.5], dtype=torch.float16),
    ),
    "round_to_decimals": (lambda x: (x.round(decimals=2), (x * 99).round(decimals=-1)), MATRIX),
    "dist": (lambda x, y: torch.dist(x, y), MATRIX, MATRIX * 2),
    "logcumsumexp": (
        lambda x: (x.logcumsumexp(1), x.logcumsumexp(0)),
        torch.tensor([[1.0, -1000, 2, INF, 3], [-INF, -INF, 0, NAN, 1], [-1e3, 0, -2e3, 5, 100]]),
    ),
    "scatter_mean": (
        lambda x, i, y: (
            x.scatter_reduce(1, i, y, "mean"),
            x.scatter_reduce(1, i, y, "mean", include_self=False),
        ),
        MATRIX,
        torch.tensor([[1, 1, 3], [0, 3, 3]]),
        MATRIX * 2,
    ),
    "vector_norms": (
        lambda x: [torch.linalg.vector_norm(x, order, 1) for order in (0, 1, 2, 3, INF, -INF)],
        MATRIX,
    ),
}


class All(nn.Module):
    """Every case is a group of outputs of one program, lowered once."""

    def __init__(self, cases):
        super().__init__()
        self.cases = cases

    def forward(self, *inputs):
        return [case[0](*own) for case, own in zip(self.cases.values(), inputs, strict=True)]


def run(cases):
    """The flat outputs of each case, and eager's."""
    inputs = tuple([each.clone() for each in inputs] for _, *inputs in cases.values())
    values = iter(load(lower(All(cases), inputs, backend="portable").buffer).forward(*inputs))
    for (name, (function, *_)), own in zip(cases.items(), inputs, strict=True):
        expected = torch.utils._pytree.tree_leaves(function(*own))
        yield name, expected, [next(values) for _ in expected]


@pytest.fixture(scope="module")
def exact():
    return {name: pair for name, *pair in run(EXACT)}


@pytest.fixture(scope="module")
def close():
    return {name: pair for name, *pair in run(CLOSE)}


@pytest.mark.parametrize("name", EXACT)
def test_exact(exact, name):
    expected, actual = exact[name]
    assert difference(expected, actual, 0) == ""
    for left, right in zip(expected, actual, strict=True):
        if left.dtype.is_floating_point:
            number = ~left.isnan()
            assert torch.equal(torch.signbit(left)[number], torch.signbit(right)[number])


@pytest.mark.parametrize("name", CLOSE)
def test_close(close, name):
    expected, actual = close[name]
    assert difference(expected, actual, 1e-6 if expected[0].dtype != torch.half else 1e-3) == ""


def test_adaptive_max_pool_of_dynamic_sizes():
    class Pool(nn.Module):
        def forward(self, x):
            return F.adaptive_max_pool2d(x, (2, 3), return_indices=True)

    sizes = {2: torch.export.Dim("h", min=5, max=20), 3: torch.export.Dim("w", min=5, max=20)}
    program = lower(Pool(), (torch.randn(2, 3, 8, 9),), backend="portable", dynamic_shapes=(sizes,))
    loaded = load(program.buffer)
    for shape in ((2, 3, 8, 9), (2, 3, 5, 13), (2, 3, 20, 5)):
        x = torch.randn(shape)
        assert difference(Pool()(x), loaded.forward(x), 0) == ""


RANDOM = {
    "rand_like": (torch.rand_like, 0, 1, 0.5),
    "rand_like_of_half": (lambda x: torch.rand_like(x, dtype=torch.half), 0, 1, 0.5),
    "randn_like": (torch.randn_like, -9, 9, 0),
    "randint": (lambda x: torch.randint(9, (8, 999)), 0, 8, 4),
    "randint_between": (lambda x: torch.randint(-3, 3, (8, 999)), -3, 2, -0.5),
    "randint_like": (lambda x: torch.randint_like(x, 3, 10), 3, 9, 6),
    "uniform": (lambda x: torch.empty(8, 999).uniform_(1, 2), 1, 2, 1.5),
    "normal_in_place": (lambda x: torch.empty(8, 999).normal_(2, 0.5), -3, 7, 2),
    "normal": (lambda x: torch.normal(2.0, 0.5, (8, 999)), -3, 7, 2),
    "normal_of_tensors": (lambda x: torch.normal(x * 0 + 2, torch.ones(999) * 0.5), -3, 7, 2),
    "randperm": (lambda x: torch.randperm(99), 0, 98, 49),
}


@pytest.fixture(scope="module")
def random_outputs():
    class Random(nn.Module):
        def forward(self, x):
            return [function(x) for function, *_ in RANDOM.values()]

    x = torch.randn(8, 999)
    program = load(lower(Random(), (x,), backend="portable").buffer)
    calls = [program.forward(x) for _ in range(2)]
    return dict(zip(RANDOM, zip(*calls, strict=True), strict=True))


@pytest.mark.parametrize("name", RANDOM)
def test_random(random_outputs, name):
    function, low, high, mean = RANDOM[name]
    first, second = random_outputs[name]
    like = function(torch.zeros(8, 999))
    assert (first.dtype, first.shape) == (like.dtype, like.shape)
    assert low <= first.min() and first.max() <= high
    assert abs(first.double().mean() - mean) < 0.1 * max(1, abs(mean))
    assert not torch.equal(first, second)


def test_randperm_is_one(random_outputs):
    assert torch.equal(random_outputs["randperm"][0].sort().values, torch.arange(99))


def test_batch_norm_in_training_counts():
    module = nn.Sequential(nn.BatchNorm2d(3), nn.BatchNorm2d(3, momentum=0.5, affine=False)).train()
    program = load(
        lower(copy.deepcopy(module), (torch.randn(2, 3, 4, 4),), backend="portable").buffer
    )
    for _ in range(3):
        x = torch.randn(2, 3, 4, 4)
        assert difference([module(x)], program.forward(x), 1e-4) == ""


def test_what_has_no_sound_form_is_refused_by_name():
    class Long(nn.Module):
        def forward(self, x):
            return x.cumprod(0)

    with pytest.raises(LoweringError, match=r"aten\.cumprod\.default"):
        lower(Long(), (torch.ones(300),), backend="portable")
