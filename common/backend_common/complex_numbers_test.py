"""Programs that compute with complex numbers, written with real ones, equal eager."""

import math

import pytest
import torch
from torch.utils import _pytree as pytree

from backend_common import LoweringError, load, lower
from backend_common.complex_numbers import write_complex_out
from backend_common.graph import graph_modules
from backend_common.harness import difference

aten = torch.ops.aten


def random(*shape, dtype=torch.complex64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(len(shape)))


def on_the_grid(*parts, dtype=torch.complex64):
    """Every part as the real and as the imaginary one."""
    grid = torch.cartesian_prod(torch.tensor(parts), torch.tensor(parts))
    return torch.view_as_complex(grid.contiguous()).to(dtype)


SMALL = on_the_grid(0.0, -0.0, 1.0, -1.5, 0.25, -3.0)
NOT_ZERO = SMALL[SMALL != 0]
GREAT = on_the_grid(0.0, -2.0, 1e30, -1e30, 1e-30)
WITH_NAN = on_the_grid(0.0, 1.0, math.nan, math.inf)
A, B = random(2, 3, 4), random(2, 4, 5)
WIDE = random(3, 4, dtype=torch.complex128)
REAL = A.real.contiguous()
INTEGERS = torch.arange(-2, 22).reshape(2, 3, 4)
PLACES = torch.tensor([[[1, 0, 1, 0]]])
MASK = REAL > 0

# What is computed, of what; complex inputs and results go in and out as pairs.
CASES = {
    "real": (lambda z: z.real, SMALL),
    "imag": (lambda z: z.imag, SMALL),
    "real_of_real_stays": (
        lambda x: torch.real(x) + torch.view_as_complex(x.reshape(2, 3, 2, 2)).real.sum(),
        REAL,
    ),
    "conj": (lambda z: z.conj(), A),
    "conj_imag": (lambda z: z.conj().imag, A),
    "conj_physical": (lambda z: z.conj().resolve_conj() + torch.conj_physical(z) * 2, A),
    "adjoint": (lambda z: z.mH @ z, A),
    "complex": (lambda x, y: torch.complex(x, y), REAL, REAL + 1),
    "polar": (lambda x, y: torch.polar(x, y), REAL.abs(), REAL * 10),
    "imaginary_number_times_real": (lambda x: torch.exp(1j * x), REAL),
    "complex_number_plus_real": (lambda x: x + (2 - 1j), REAL),
    "complex_number_plus_integers": (lambda x: (x - 1j) / 2, INTEGERS),
    "add": (lambda z, w: z + w, A, A.flip(0)),
    "add_alpha": (lambda z, w: torch.add(z, w, alpha=-2), A, A.flip(0)),
    "add_complex_alpha": (lambda z, w: torch.add(z, w, alpha=2j), A, A.flip(0)),
    "add_real_that_is_wider": (lambda z, x: z[0, 0] + x, A, REAL),
    "add_number": (lambda z: z + 3, A),
    "add_double": (lambda z, x: z + x, A, REAL.double()),
    "subtract": (lambda z, w: z - w, A, A.flip(0)),
    "subtract_from_number": (lambda z: 2j - (1 - z), A),
    "subtract_from_real": (lambda z, x: x - z, A, REAL),
    "multiply": (lambda z: z * z.flip(0), SMALL),
    "multiply_great": (lambda z: z * 1e-20 * z, GREAT),
    "multiply_by_real": (lambda z, x: z * x, A, REAL),
    "multiply_by_integers": (lambda z, x: z * x, A, INTEGERS),
    "multiply_by_numbers": (lambda z: z * 3 * 0.5 * (1 - 2j), A),
    "multiply_in_place": (lambda z: z.clone().mul_(z).add_(1j), A),
    "divide": (lambda z, w: z.unsqueeze(1) / w, SMALL, NOT_ZERO),
    "divide_great": (lambda z: z / z.flip(0), GREAT[GREAT.abs() > 1e10]),
    "divide_by_zero": (
        lambda z: z / torch.zeros_like(z),
        NOT_ZERO[NOT_ZERO.real * NOT_ZERO.imag != 0],
    ),
    "divide_by_real": (lambda z, x: z / x, A, REAL),
    "divide_by_numbers": (lambda z: z / 3 / (1 - 2j), A),
    "divide_number": (lambda z: 2 / z, NOT_ZERO),
    "divide_real": (lambda z, x: x / z, A, REAL),
    "reciprocal": (torch.reciprocal, NOT_ZERO),
    "negative": (lambda z: -z, A),
    "abs": (torch.abs, SMALL),
    "abs_great": (torch.abs, GREAT),
    "angle": (torch.angle, SMALL),
    "angle_great": (torch.angle, GREAT),
    "sgn": (torch.sgn, SMALL),
    "sqrt": (torch.sqrt, SMALL),
    "sqrt_great": (torch.sqrt, GREAT),
    "rsqrt": (torch.rsqrt, NOT_ZERO),
    "square": (torch.square, SMALL),
    "exp": (torch.exp, SMALL),
    "expm1": (torch.expm1, SMALL),
    "log": (torch.log, NOT_ZERO),
    "log_great": (torch.log, GREAT[GREAT.abs() > 0]),
    "log2": (torch.log2, NOT_ZERO),
    "log10": (torch.log10, NOT_ZERO),
    "sin": (torch.sin, SMALL),
    "cos": (torch.cos, SMALL),
    "sinh": (torch.sinh, SMALL),
    "cosh": (torch.cosh, SMALL),
    "tanh": (torch.tanh, SMALL * 10),
    "sigmoid": (torch.sigmoid, SMALL),
    "powers": (lambda z: [z**n for n in (0, 1, 2, 3, 2.0)], SMALL),
    "great_powers": (lambda z: [z**7, z**-6, z**40], A.sgn() * 1.1),
    "negative_powers": (lambda z: [z**n for n in (-1, -2, -3)], NOT_ZERO),
    "roots": (lambda z: [z**0.5, z**1.5, z ** (0.5 + 1j)], NOT_ZERO),
    "power_of_tensors": (lambda z, w: z**w, NOT_ZERO, NOT_ZERO.flip(0)),
    "power_of_number": (lambda z: [2**z, (1 + 1j) ** z], SMALL),
    "power_of_real": (lambda z, x: x**z, A, REAL.abs()),
    "sum": (lambda z: [z.sum(), z.sum(1), z.sum((0, 2), keepdim=True)], A),
    "sum_of_real_as_complex": (lambda x: x.sum(0, dtype=torch.complex64), REAL),
    "mean": (lambda z: [z.mean(), z.mean(-1)], A),
    "cumsum": (lambda z: z.cumsum(1), A),
    "norms": (lambda z: [z.norm(), torch.linalg.vector_norm(z, 1, dim=-1), z.norm(dim=1)], A),
    "matmul": (torch.matmul, A, B),
    "matmul_of_matrix_and_vector": (lambda z, w: z[0] @ w[0, :, 0], A, B),
    "dot": (lambda z: torch.dot(z, z) + torch.vdot(z, z), SMALL),
    "mm_bmm": (lambda z, w: [z[0] @ w[0], torch.bmm(z, w)], A, B),
    "addmm": (lambda z, w: torch.addmm(w[0, :3], z[0], w[0], beta=0.5, alpha=2j), A, B),
    "baddbmm": (lambda z, w: torch.baddbmm(w[:, :3], z, w), A, B),
    "linear": (lambda z, w: torch.nn.functional.linear(z, w[0].mT, w[0, 0]), A, B),
    "einsum": (lambda z, w: torch.einsum("bij,bjk->ki", z, w.conj()), A, B),
    "outer": (lambda z: torch.outer(z[0, 0], z[0, 1]), A),
    "where": (lambda z, w, m: torch.where(m, z, w), A, A.flip(0), MASK),
    "where_real": (lambda z, x, m: torch.where(m, x, z), A, REAL, MASK),
    "where_numbers": (lambda z, m: [torch.where(m, z, 0), torch.where(m, 2j, z)], A, MASK),
    "masked_fill": (lambda z, m: z.masked_fill(m, 1 - 1j) + z.masked_fill(m, 0), A, MASK),
    "cat_stack": (lambda z, w: [torch.cat([z, w], 1), torch.stack([z, w], -1)], A, A.flip(0)),
    "index": (lambda z: [z[:, [0, 2]], z[..., -1], z[:, 1:, ::2], z[0, [1, 1], [2, 0]]], A),
    "index_select": (lambda z, i: z.index_select(1, i[0, 0]), A, PLACES),
    "gather": (lambda z, i: z.gather(1, i), A, PLACES),
    "embedding": (lambda z, i: torch.nn.functional.embedding(i, z[0]), A, PLACES),
    "writes": (lambda z, w: _write(z.clone(), w), A, A.flip(0)),
    "scatter_index_add": (
        lambda z, i: [
            z.scatter(1, i, z * 2),
            z.scatter_add(1, i, z),
            z.index_add(1, i[0, 0, :2], z[:, :2]),
        ],
        A,
        PLACES,
    ),
    "views": (
        lambda z: [
            z.mT,
            z.reshape(-1, 3),
            z.permute(2, 0, 1).flatten(),
            z.unsqueeze(1).expand(-1, 2, -1, -1),
        ],
        A,
    ),
    "more_views": (
        lambda z: [*z.split([1, 2], 1), *z.unbind(0), *z.chunk(2, -1), z[:1].squeeze()],
        A,
    ),
    "moves": (
        lambda z: [
            z.flip(1),
            z.roll(1, 2),
            z.repeat(1, 2, 1),
            z.tril(),
            z.triu(1),
            z.diagonal(0, 1, 2),
        ],
        A,
    ),
    "view_of_a_transpose": (lambda z: torch.view_as_real(z.permute(1, 2, 0)).flatten(2), A),
    "pad": (lambda z: [torch.nn.functional.pad(z, (1, 2), value=3.0), z.unfold(2, 2, 1)], A),
    "meshgrid_movedim": (
        lambda z: [z.movedim(0, -1), *torch.meshgrid(z[0, 0], z[0, :, 0], indexing="ij")],
        A,
    ),
    "eq_ne": (lambda z: [z == z.flip(0), z != 1, z != 1 + 0j], SMALL),
    "isnan": (lambda z: [z.isnan(), z.isinf(), z.isfinite()], WITH_NAN),
    "to": (lambda z: [z.to(torch.complex128), z.to(torch.bool), z.clone(), z.detach()], SMALL),
    "real_to_complex": (lambda x: [x.to(torch.complex64), x.cfloat() * 1j, x.cdouble()], REAL),
    "double": (lambda z: (z * z.conj() + 1j).exp(), WIDE),
    "created": (
        lambda z: [
            *(torch.zeros_like(z) + 1, torch.ones_like(z) * z, torch.full_like(z, 2 - 1j)),
            *(z.new_zeros(2), z.new_ones(2), z.new_full((2,), 1j), z.new_full((1,), 3)),
            *(torch.zeros(3, dtype=z.dtype), torch.ones(3, dtype=z.dtype), torch.full((2,), 1j)),
            *(torch.eye(3, dtype=z.dtype), torch.tensor([1j, 2]), torch.tensor(2j) * z),
        ],
        A,
    ),
    "view_dtype": (lambda z: [z.view(torch.float32), z.real.contiguous().view(torch.complex64)], A),
    "conv": (lambda z, w: torch.nn.functional.conv1d(z, w[:, :3].mT[:1].reshape(1, 3, -1)), A, A),
    "var": (lambda z: [z.var(), z.std(1)], A),
    "addcmul_lerp": (
        lambda z, w: [torch.addcmul(z, w, z), torch.addcdiv(z, w, z), z.lerp(w, 0.3)],
        A,
        A.flip(0),
    ),
    "rotation": (lambda z: torch.view_as_real(z)[..., 1] * torch.view_as_real(z * 1j)[..., 0], A),
    "fft": (
        lambda z: [
            torch.fft.fft(z),
            torch.fft.fft(z, dim=1),
            torch.fft.fft(z, 7),
            torch.fft.fft(z, 2),
        ],
        A,
    ),
    "ifft": (lambda z: [torch.fft.ifft(z, dim=0), torch.fft.ifft(z, norm="ortho")], A),
    "norms_of_fft": (
        lambda z: [torch.fft.fft(z, norm=n) for n in ("forward", "backward", "ortho")],
        A,
    ),
    "fft_of_real": (lambda x: [torch.fft.fft(x), torch.fft.fft2(x).imag, torch.fft.fftn(x)], REAL),
    "ifft_of_real": (lambda x: [torch.fft.ifft(x), torch.fft.ifft2(x)], REAL),
    "rfft": (
        lambda x: [torch.fft.rfft(x), torch.fft.rfft(x, 5), torch.fft.rfft(x, dim=1, norm="ortho")],
        REAL,
    ),
    "rfft2_irfft2": (
        lambda x: [torch.fft.rfft2(x), torch.fft.irfft2(torch.fft.rfft2(x) * 2j, s=(3, 4))],
        REAL,
    ),
    "irfft": (
        lambda z: [torch.fft.irfft(z), torch.fft.irfft(z, 7), torch.fft.irfft(z, 5, 1, "ortho")],
        A,
    ),
    "hfft": (lambda z: [torch.fft.hfft(z), torch.fft.ihfft(z.real), torch.fft.hfft(z, 5)], A),
    "fftn_shift": (
        lambda z: [torch.fft.fftshift(torch.fft.fftn(z)), torch.fft.ifftn(z, dim=(0, 2))],
        A,
    ),
    "fft_of_doubles": (lambda z: [torch.fft.fft(z), torch.fft.rfft(z.real)], WIDE),
    "fft_of_integers": (lambda x: torch.fft.fft(x), INTEGERS),
    "convolution_by_fft": (
        lambda x: torch.fft.irfft(torch.fft.rfft(x, 8) * torch.fft.rfft(x.flip(-1), 8), 8),
        REAL,
    ),
}


def _write(z, w):
    z[:, 0] = w[:, 1] * 2
    z[0, :, 1] = 1j
    z[1, [0, 2]] += w[0, :2]
    z[:, 2].fill_(3 - 1j)
    z.real[0, 0, 0] = 5.0
    return z


def pairs(tree):
    """The leaves; complex ones as pairs."""
    return [
        torch.view_as_real(leaf.resolve_conj()) if leaf.is_complex() else leaf
        for leaf in pytree.tree_leaves(tree)
    ]


class Real(torch.nn.Module):
    """A function of complex tensors as one of pairs."""

    def __init__(self, function, *inputs):
        super().__init__()
        self.function = function
        self.complex = [x.is_complex() for x in inputs]

    def forward(self, *inputs):
        return pairs(
            self.function(
                *(
                    torch.view_as_complex(x) if is_complex else x
                    for x, is_complex in zip(inputs, self.complex, strict=True)
                )
            )
        )


def written_out(module, inputs, **options):
    program = write_complex_out("forward", torch.export.export(module, tuple(inputs), **options))
    for each in graph_modules(program.graph_module):
        for node in each.graph.nodes:
            for leaf in pytree.tree_leaves(node.meta.get("val")):
                assert not isinstance(leaf, torch.Tensor) or not leaf.is_complex(), node
    return program


def check(module, inputs, tolerance=1e-5, **options):
    program = written_out(module, inputs, **options)
    expected = pytree.tree_leaves(module(*inputs))
    actual = pytree.tree_leaves(program.module()(*inputs))
    assert difference(expected, actual, tolerance) == ""
    return program


class All(torch.nn.Module):
    """Every case is a group of outputs of one program."""

    def __init__(self):
        super().__init__()
        self.cases = [Real(*case) for case in CASES.values()]

    def forward(self, *inputs):
        return [case(*own) for case, own in zip(self.cases, inputs, strict=True)]


@pytest.fixture(scope="module")
def outputs():
    """The outputs of each case."""
    inputs = tuple(tuple(pairs(inputs)) for _, *inputs in CASES.values())
    return dict(zip(CASES, written_out(All(), inputs).module()(*inputs), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_result_equals_eager(name, outputs):
    function, *inputs = CASES[name]
    assert difference(pairs(function(*inputs)), list(outputs[name]), 1e-5) == ""


# 600 is 24 times 25; 521 and 1042 need the chirp; 2 times 512 does not.
LONG = [random(2, size, dtype=torch.complex128) for size in (513, 521, 600, 1024, 1042)]


def test_long_transforms_equal_eager():
    def exact(*inputs):
        return [
            (
                *(torch.fft.fft(z), torch.fft.ifft(z, norm="ortho"), torch.fft.rfft(z.real)),
                torch.fft.irfft(z[:, : z.shape[-1] // 2 + 1], z.shape[-1]),
            )
            for z in inputs
        ]

    check(Real(exact, *LONG), pairs(LONG), tolerance=1e-11)


def test_long_transforms_in_single_precision_equal_eager():
    def single(*inputs):
        return [torch.fft.fft(z) for z in inputs]

    inputs = [z.to(torch.complex64) for z in LONG]
    check(Real(single, *inputs), pairs(inputs), tolerance=2e-4)


def test_a_long_transform_needs_no_square_table():
    program = written_out(Real(torch.fft.fft, torch.ones(4096)), [torch.ones(4096)])
    assert sum(table.numel() for table in program.constants.values()) < 5 * 4096


def test_transforms_share_their_tables():
    def twice(x):
        return torch.fft.fft(torch.fft.fft(x) * 2)

    program = written_out(Real(twice, torch.ones(8)), [torch.ones(8)])
    assert len(program.constants) == 2


SIZE = torch.export.Dim("size", min=2, max=16)


def sizes(x):
    z = torch.fft.fft(x, dim=1)
    return [
        *(z, torch.fft.ifft(z * z, dim=1), torch.fft.rfft(x, dim=1, norm="ortho")),
        *(torch.fft.fft2(x, norm="ortho"), z.mT, z.sum(1)),
    ]


def even_sizes(x):
    half = torch.fft.rfft(x, dim=1)
    return [torch.fft.irfft(half * 2j, x.shape[1], dim=1), half[:, : x.shape[1] // 2].sum()]


@pytest.mark.parametrize(
    ("function", "size"), [(sizes, SIZE), (even_sizes, 2 * torch.export.Dim("half", min=2, max=8))]
)
def test_sizes_may_be_dynamic(function, size):
    module, x = Real(function, REAL), random(2, 8, 4, dtype=torch.float32)
    program = written_out(module, (x,), dynamic_shapes=((({1: size},)),)).module()
    for each in (4, 8, 16, 7):
        if each % 2 == 0 or function is sizes:
            x = random(2, each, 4, dtype=torch.float32)
            assert difference(module(x), program(x), 1e-4) == ""


def test_windows_and_their_inverse_equal_eager():
    def through(x, window):
        z = torch.stft(x, 16, 4, window=window, return_complex=True)
        return z, z.abs(), torch.istft(z * 2, 16, 4, window=window, length=x.shape[-1])

    check(Real(through, REAL, REAL), (random(2, 64, dtype=torch.float32), torch.hann_window(16)))


def test_windows_that_return_pairs_equal_eager():
    def pairs_of(x):
        return torch.stft(x, 16, 4, return_complex=False)

    check(Real(pairs_of, REAL), (random(2, 64, dtype=torch.float32),))


class State(torch.nn.Module):
    """A parameter, buffers that are and are not saved, one that is written, and a constant."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(B[0].clone())
        self.register_buffer("saved", B[1].mT)
        self.register_buffer("turn", torch.tensor([1j, -1, 1, 2]), persistent=False)
        self.register_buffer("sum", torch.zeros(4, dtype=torch.complex64))
        self.register_buffer("sum_real", torch.ones(4))  # a name that is taken
        self.constant = torch.tensor(0.5j)

    def forward(self, x):
        z = x * self.turn * self.constant
        self.sum.add_(z.sum(0))
        self.sum_real.mul_(2)
        z = z @ self.weight @ self.saved + self.sum
        return torch.view_as_real(z), self.sum_real + 1


def test_complex_state_becomes_two_real_ones():
    module, x = State(), torch.randn(3, 4)
    program = written_out(State(), (x,))
    assert isinstance(program.state_dict["weight_imag"], torch.nn.Parameter)
    assert {"saved_real", "saved_imag", "sum_real", "sum_real_"} <= program.state_dict.keys()
    assert "turn_real" in program.constants
    runnable = program.module()
    loaded = load(lower(State(), (x,), backend="portable").buffer)
    for _ in range(3):
        expected = module(x)
        assert difference(expected, runnable(x), 1e-5) == ""
        assert difference(expected, loaded.forward(x), 1e-5) == ""


class Branches(torch.nn.Module):
    def forward(self, x):
        z = torch.view_as_complex(x) * 1j
        turned, real = torch.cond(
            x.sum() > 0,
            lambda z, x: (torch.fft.fft(z) * 2j, x + 1),
            lambda z, x: (z.conj().exp(), x * 2),
            (z, x),
        )
        return torch.view_as_real(turned), real


class Loops(torch.nn.Module):
    def forward(self, x):
        z = torch.view_as_complex(x) * 1j
        rows = torch.ops.higher_order.map_impl(lambda row, w: (row * w,), (z,), (z[0] + 1,))[0]
        steps, power = torch.while_loop(
            lambda n, z: n < 3, lambda n, z: (n + 1, z * z.conj()), (torch.tensor(0), rows)
        )
        return torch.view_as_real(power), steps


def test_bodies_of_control_flow_take_pairs():
    x = torch.view_as_real(A[0]).clone()
    program = check(Branches(), (x,)).module()
    loaded = load(lower(Branches(), (x,), backend="portable").buffer)
    for each in (x, -x):
        assert difference(Branches()(each), program(each), 1e-5) == ""
        assert difference(Branches()(each), loaded.forward(each), 1e-5) == ""
    check(Loops(), (x,))


def test_a_program_without_complex_numbers_stays_the_same():
    program = torch.export.export(Real(torch.relu, REAL), (REAL,))
    assert write_complex_out("forward", program) is program


def test_lines_of_the_source_are_kept():
    program = written_out(Real(lambda z: torch.abs(z * z), A), pairs([A]))
    products = [node for node in program.graph.nodes if node.target is aten.mul.Tensor]
    assert all("complex_numbers_test.py" in node.meta["stack_trace"] for node in products)


def test_everything_complex_that_stays_is_refused_at_once():
    class Refused(torch.nn.Module):
        def forward(self, z, x):
            w = torch.asin(z * x)
            return w, torch.linalg.inv(w).real, x

    with pytest.raises(LoweringError, match="'forward' has complex numbers") as caught:
        lower(Refused(), (random(3, 3), torch.ones(3, 3)), backend="portable")
    rows = {row.operator or row.node: row for row in caught.value.rows}
    assert set(rows) == {"z", "aten.asin.default", "aten.linalg_inv_ex.default"}
    assert rows["z"].remedy == "pass torch.view_as_real(z)"
    assert "torch.asin(z * x)" in rows["aten.asin.default"].source
    assert len(caught.value.rows) == 4


class Rotary(torch.nn.Module):
    def __init__(self):
        super().__init__()
        turns = torch.outer(torch.arange(16.0), 10000 ** (-torch.arange(0, 8, 2) / 8))
        self.register_buffer("turns", torch.polar(torch.ones_like(turns), turns), persistent=False)

    def forward(self, x):
        z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turns = self.turns[: x.shape[1]].view(1, x.shape[1], 1, -1)
        return torch.view_as_real(z * turns).flatten(3).type_as(x)


class FourierMixing(torch.nn.Module):
    def forward(self, x):
        return torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real


@pytest.mark.parametrize(
    ("module", "shape"), [(Rotary(), (2, 8, 3, 8)), (FourierMixing(), (2, 8, 12))]
)
def test_models_run_at_every_size(module, shape):
    x = torch.randn(shape)
    lowered = lower(module, (x,), backend="portable", dynamic_shapes=({1: SIZE},))
    program = load(lowered.buffer)
    for size in (8, 2, 5, 16):
        x = torch.randn(2, size, *shape[2:])
        assert difference([module(x)], program.forward(x), 1e-4) == ""


def test_half_precision_turns_in_float():
    x = torch.randn(2, 8, 3, 8, dtype=torch.bfloat16)
    (output,) = load(lower(Rotary(), (x,), backend="portable").buffer).forward(x)
    assert difference([Rotary()(x)], [output], 0) == ""
