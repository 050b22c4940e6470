"""Varied programs, several outputs each: lowered, loaded from a file, equal to eager."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from backend_common import ExecutionError, Method, load, lower
from backend_common.program import MODES as ALL_MODES
from torch import nn
from torch.export import Dim

PROGRAMS = {}

# All but the default, which is tried at length, and the one that a limit on locked memory refuses.
MODES = [mode for mode in ALL_MODES if mode not in ("mmap", "mmap-mlock")]


class Program(nn.Module):
    """A function of (self, *inputs) as a module; tensors become buffers, modules children."""

    def __init__(self, function, parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            if isinstance(part, torch.Tensor):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def program(*inputs, dynamic_shapes=None, also=(), **parts):
    def add(function):
        def make():
            torch.manual_seed(0)
            built = {name: part() for name, part in parts.items()}
            examples = tuple(each() for each in inputs)
            return Program(function, built).eval(), examples

        further = [lambda each=each: tuple(item() for item in each) for each in also]
        PROGRAMS[function.__name__] = (make, dynamic_shapes, further)
        return function

    return add


def rand(*shape, dtype=torch.float32):
    return lambda: torch.randn(*shape).to(dtype)


def ints(low, high, *shape, dtype=torch.int64):
    return lambda: torch.randint(low, high, shape, dtype=dtype)


ROWS = Dim("rows", min=3, max=32)


@program(rand(3, 8), rand(3, 8))
def pointwise(s, x, y):
    positive = x.abs() + 0.5
    return (
        *(torch.relu(x) + y, x * torch.sigmoid(y), torch.tanh(x) - torch.exp(-positive)),
        *(positive.log() / y.clamp(0.5, 2), torch.erf(x), F.gelu(x), F.silu(y), positive.rsqrt()),
        *(torch.where(x > y, x, 2 * y), torch.atan2(x, y), positive.pow(y), torch.sin(x).cos()),
        *(F.elu(x), F.hardswish(x), F.softplus(y), torch.fmod(x, positive), x.remainder(positive)),
        *(torch.copysign(x, y), x.round(), x.floor() + y.ceil(), y.trunc(), torch.lerp(x, y, 0.3)),
    )


@program(
    lambda: torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.5, -2.5, 3e38])
)
def special_values(s, x):
    return (
        *(torch.relu(x), x.clamp(-1, 1), torch.maximum(x, x.flip(0)), x.sign(), x.isnan()),
        *(x * 0, 1 / x, x.max(), x.argmax(), torch.nan_to_num(x), x.exp(), x.log1p(), x.sum()),
        *(x == x, x.floor_divide(2.0), torch.signbit(x), x.sqrt(), x.pow(2), x.fmax(x.flip(0))),
    )


@program(ints(-9, 9, 4, 5), ints(1, 5, 4, 5), ints(-90, 90, 4, 5, dtype=torch.int8))
def integers(s, a, b, c):
    return (
        *(a // b, a % b, torch.div(a, b, rounding_mode="trunc"), a / b, a << 2, a >> 1, a & b),
        *(a | b, a ^ b, ~a, c * c, c + 100, a.sum(0), a.prod(1), c.sum(), a.clamp(-3, 3), a == 2.5),
        *((torch.zeros(4, 5) < 0) != (a < 0), (torch.ones(5) > 0) == (a > 0), (a > 0) == (b > 2)),
        *(a.float() / 3, a.to(torch.int16), b.bool(), a.abs(), torch.bitwise_not(c), a.max(1)[0]),
    )


OUT_OF_RANGE = (127.0, 128.0, -129.5, 255.0, 260.0, -260.0, 300.7, 40000.0, float("nan"), -0.5)


@program(lambda: torch.tensor(OUT_OF_RANGE * 7), lambda: torch.tensor(OUT_OF_RANGE * 9).half())
def floats_to_bytes(s, x, y):
    return x.to(torch.int8), x[:65].to(torch.uint8), (x[:64] * 3).round().to(torch.int8), y.char()


@program(rand(3, 4), n=lambda: torch.zeros(3, 4), also=[(rand(3, 4),)])
def one_value_as_several_outputs(s, x):
    s.n.add_(x)
    return x, x + 0, x * 1, (x * 1).view(-1), s.n, s.n * 1, s.n + 0


@program(rand(2, 3, 40))
def reductions(s, x):
    return (
        *(x.sum(), x.mean(-1), x.amax((0, 2)), x.argmin(1), x.var(2), x.std((1, 2), correction=0)),
        *(x.prod(0), x.logsumexp(1), F.softmax(x, -1), F.log_softmax(x, 1), x.norm(dim=2)),
        *((x > 0).any(1), (x > -9).all(), x.min(2)[1], x.aminmax(dim=0)[1], x.sum((0, 1))),
        *(torch.linalg.vector_norm(x, 1, keepdim=True), x.count_nonzero(1), x.nansum(2)),
    )


@program(rand(2, 6, 4))
def views(s, x):
    y = x * 2
    return (
        *(y.transpose(0, 2), y[:, 1:5:2], y[..., -1], y.unsqueeze(1).expand(2, 3, 6, 4)),
        *(y.permute(2, 0, 1)[1:], y.flatten(1), y.chunk(3, 1)[1], y.split([1, 2, 3], 1)[2]),
        *(y.unbind(2)[3], y.diagonal(0, 1, 2), y.unfold(1, 3, 2), y.reshape(4, 12).t()),
        *(y.select(1, 2).detach(), y.view(-1)[5], y.squeeze(), y[:0], y.movedim(0, 2), y, y),
        *(y.as_strided((3, 2), (4, 1), 3), y.roll(1, -1), y.flip(0, 2), y.repeat(1, 2, 1)),
        *torch.meshgrid(y[0, 0], y[1, :, 0], indexing="ij"),
        *torch.broadcast_tensors(y[0, 0], y[1, :, :1]),
    )


@program(rand(4, 6), ints(0, 6, 4, 3), rand(4, 3), ints(0, 4, 5))
def gathers(s, x, index, source, rows):
    return (
        *(x.gather(1, index), x[rows], x.index_select(0, rows), x.take_along_dim(index, 1)),
        *(
            x[rows, 1],
            x[:, rows],
            x[rows[:, None], rows],
            F.one_hot(rows, 4),
            x.masked_fill(x > 0, 1),
        ),
        torch.tril(x),
        torch.triu(x, 1),
        F.embedding(rows, x),
        x.repeat_interleave(2, 0),
    )


@program(rand(4, 6), ints(0, 4, 3, 6), rand(3, 6), ints(0, 9, 4, 6), ints(0, 9, 3, 6))
def scatters(s, x, index, source, x_int, source_int):
    places = x.argsort(0)[:3]  # each once: which of several writes stays is nobody's promise
    return (
        *(x.scatter(0, places, source), x.scatter(0, index, 2.0), x.scatter_add(0, index, source)),
        *(x.scatter_reduce(0, index, source, "amax"), x.scatter_reduce(0, index, source, "prod")),
        x.scatter_reduce(0, index, source, "mean", include_self=False),
        *(
            x_int.scatter_add(0, index, source_int),
            x_int.scatter_reduce(0, index, source_int, "amin"),
        ),
        *(x.index_add(0, index[0, :3], source), x.index_copy(0, torch.tensor([2, 0, 1]), source)),
        x.slice_scatter(source[:2], 0, 1, 3),
        x.select_scatter(source[0], 0, 1),
    )


@program(rand(4, 6), ints(0, 4, 3), rand(3, 6), ints(0, 9, 4, 6))
def index_puts(s, x, rows, values, x_int):
    y = x.clone()
    y[rows] = 5.0
    z = x.clone()
    z[:, rows] = values[:, :3].t()[0]
    return (
        *(x.index_put((rows,), values, accumulate=True), y, z),
        x_int.index_put((rows,), torch.ones(3, 6, dtype=torch.int64), accumulate=True),
        x.index_put((rows, rows), torch.tensor(9.0)),
    )


@program(rand(3, 7), ints(0, 5, 3, 7))
def sorting(s, x, n):
    return (
        *(
            x.sort(1),
            n.sort(dim=0, descending=True, stable=True)[0],
            x.topk(3),
            x.topk(2, largest=False),
        ),
        *(x.kthvalue(2, 1), x.median(1), x.median(), x.argsort(1), x.mode(1)[0]),
    )


@program(rand(3, 7), ints(0, 5, 3, 7))
def scans(s, x, n):
    return (
        *(x.cumsum(1), n.cumsum(0), x.cumprod(1), x.cummax(1), x.cummin(0), x.logcumsumexp(1)),
        *((x > 0).cumsum(1), n.cumprod(1)),
    )


@program(rand(5, 16), a=lambda: nn.Linear(16, 32), b=lambda: nn.Linear(32, 8, bias=False))
def mlp(s, x):
    return s.b(F.gelu(s.a(x))), x @ x.t(), torch.addmm(x[:, :5], x, x.t(), beta=0.5, alpha=2)


@program(rand(2, 3, 4), rand(2, 4, 5), rand(2, 3, 5))
def batched_products(s, x, y, z):
    return (
        *(x @ y, torch.baddbmm(z, x, y), torch.einsum("bij,bjk->ik", x, y), x[0] @ y[1, :, 0]),
        *(torch.bmm(y.transpose(1, 2), x.transpose(1, 2)), torch.outer(x[0, 0], y[0, 0])),
        *(x.transpose(1, 2) @ z, F.bilinear(x[:, :, 0], x[:, :, 1], torch.ones(2, 3, 3))),
    )


@program(
    rand(2, 3, 9, 9),
    c=lambda: nn.Conv2d(3, 8, 3, padding=1),
    g=lambda: nn.Conv2d(8, 8, 3, stride=2, groups=4, bias=False),
    t=lambda: nn.ConvTranspose2d(8, 4, 3, stride=2),
    n=lambda: nn.BatchNorm2d(8),
)
def convolutions(s, x):
    y = F.relu(s.n(s.c(x)))
    return (
        *(y, s.g(y), s.t(s.g(y)), F.max_pool2d(y, 2), F.avg_pool2d(y, 3, 2, 1), y.mean((2, 3))),
        *(
            F.adaptive_avg_pool2d(y, 4),
            F.interpolate(y, scale_factor=2),
            F.pad(x, (1, 2, 0, 1), "reflect"),
        ),
        *(F.interpolate(y, (5, 7), mode="bilinear"), F.pixel_shuffle(y, 2), F.unfold(x, 3)),
    )


@program(
    rand(2, 4, 20),
    rand(1, 2, 5, 6, 7),
    a=lambda: nn.Conv1d(4, 6, 3, dilation=2),
    b=lambda: nn.Conv3d(2, 3, 2, padding=1),
)
def other_convolutions(s, x, y):
    return s.a(x), s.b(y), F.max_pool1d(x, 3), F.avg_pool3d(y, 2), F.max_pool2d(x, 2, 1, dilation=2)


@program(rand(2, 2, 5, 8), rand(2, 2, 7, 8), rand(2, 2, 7, 8), rand(5, 7))
def attention(s, q, k, v, bias):
    return (
        F.scaled_dot_product_attention(q, k, v),
        F.scaled_dot_product_attention(q, k, v, attn_mask=bias),
        F.scaled_dot_product_attention(q, q, q, is_causal=True),
        F.scaled_dot_product_attention(q, k, v, attn_mask=bias > 0, scale=0.3),
    )


@program(rand(2, 6, 5, 8), rand(2, 2, 7, 8), rand(2, 1, 7, 8))
def attention_of_groups(s, q, k, v):
    return (
        F.scaled_dot_product_attention(q, k, k, enable_gqa=True),
        F.scaled_dot_product_attention(q, k, v, enable_gqa=True, is_causal=True),
    )


@program(
    rand(2, 6, 16),
    block=lambda: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0),
    norm=lambda: nn.LayerNorm(16),
)
def transformer(s, x):
    return s.norm(s.block(x)), F.group_norm(x, 3), F.rms_norm(x, (16,))


@program(rand(2, 5, 4), lstm=lambda: nn.LSTM(4, 6, batch_first=True), gru=lambda: nn.GRU(4, 3))
def recurrent(s, x):
    y, (h, c) = s.lstm(x)
    return y, h, c, *s.gru(x)


@program(ints(0, 10, 6), bag=lambda: nn.EmbeddingBag(10, 4), emb=lambda: nn.Embedding(10, 4))
def embeddings(s, i):
    return s.bag(i.view(2, 3)), s.emb(i)


@program(rand(3, 8, dtype=torch.float16), rand(3, 8, dtype=torch.float16))
def halves(s, x, y):
    return x + y, x * y - x, F.softmax(x, 1), x.sum(0), x @ y.t(), F.gelu(x), x.float() + y, x > y


@program(lambda: torch.tensor([[-128, 127] * 9, [0] * 18, [-5, -1] * 9], dtype=torch.int8))
def narrow_integers(s, x):
    bits, byte, short = x > 0, x.to(torch.uint8), x.to(torch.int16) * 200
    return (
        *(x.amax(1), x.amin(1), x.max(), x.argmax(1), x.argmin(0), *x.max(1), *x.min(1)),
        *(byte.amax(1), byte.amin(0), *byte.max(1), *byte.min(1), byte.any(1), byte.any()),
        *(short.amax(1), short.amin(1), *short.max(1), *torch.aminmax(short, dim=1)),
        *(*bits.max(1), *bits.min(1), bits.any(1)),
    )


@program(lambda: torch.tensor([math.inf, -math.inf, math.nan, 1.5, 60000.0]))
def edges(s, x):
    half, whole = x.half(), torch.arange(5)
    vectors = half.repeat(64)  # eager rounds twice in what is left over from whole ones
    return (
        *(F.gelu(x), F.gelu(half), torch.round(half, decimals=2), torch.round(x / 7, decimals=-2)),
        *(torch.remainder(x.flip(0), x), x.remainder(math.inf), x**-0.5, x**0.5, half**0.5),
        *(torch.add(vectors, vectors, alpha=2), torch.sub(vectors, vectors, alpha=2)),
        *(2**whole, torch.add(x > 1, x > 2, alpha=2)),
    )


@program(rand(3, 8, dtype=torch.bfloat16), a=lambda: nn.Linear(8, 4).bfloat16())
def brain_floats(s, x):
    return (
        s.a(x),
        x * x + x,
        F.layer_norm(x, (8,)),
        x.cumsum(1),
        x.max(1),
        x.to(torch.float32).exp(),
    )


@program(rand(3, 8, dtype=torch.float64))
def doubles(s, x):
    return x.exp() + 1e-9, x @ x.t(), x.sum(), F.softmax(x, 1), x.sort(1)[0], x.pow(3)


@program(
    rand(3, 8), a=lambda: nn.Linear(8, 4), dynamic_shapes=(({0: ROWS},),), also=[(rand(9, 8),)]
)
def dynamic_rows(s, x):
    return (
        *(s.a(x), x.sum(0), torch.cat([x, x]), x.reshape(x.shape[0] * 2, -1), x * x.shape[0]),
        *(x[1:], torch.isin(x.round(), x[0].round()), torch.isin(x, x[1], invert=True)),
    )


@program(rand(4, 4))
def control_flow(s, x):
    chosen = torch.cond(x.sum() > 0, lambda x: x * 2 + s_one(x), lambda x: x - 3, (x,))
    return chosen + 1, torch.cond(
        x.sum() > 1e9, lambda x: (x.clone(), -x), lambda x: (-x, x * 0.5), (x,)
    )


def s_one(x):
    return torch.ones_like(x)


@program(rand(3), n=lambda: torch.ones(3), also=[(rand(3),), (rand(3),)])
def mutated(s, x):
    s.n.add_(1)
    y = x.clone()
    y[1] = 7
    y.mul_(2)
    return s.n, y, s.n * x, s.n[:2]


@program(
    lambda: torch.randn(1, 3, 6, 6).to(memory_format=torch.channels_last),
    c=lambda: nn.Conv2d(3, 4, 3),
)
def channels_last(s, x):
    return s.c(x), x + 1, x.contiguous(), s.c(x.contiguous()).to(memory_format=torch.channels_last)


@program(rand(2, 0, 3), rand(3))
def empty(s, x, y):
    return x * 2, x.sum(1), torch.cat([x, x], 1), x + y, x.reshape(0, 6)


@program(lambda: torch.tensor(0.7), lambda: torch.tensor(3))
def without_dimensions(s, x, n):
    return x * 2, n + 1, x.exp() * n, x.unsqueeze(0), n.float(), torch.stack([x, x]), (n == 3)


@program(
    rand(2, 3, 4, 5, dtype=torch.bfloat16), lambda: (torch.rand(2, 3, 2, 2) * 2.4 - 1.2).bfloat16()
)
def places_in_16_bits(s, x, grid):
    return (
        x * 2,
        F.grid_sample(x, grid, mode="bicubic", align_corners=False),
        F.grid_sample(x, grid, mode="nearest", align_corners=False),
    )


@program(rand(2, 4, 8, 8), rand(2, 4, 8, 8), rand(2, 4, 8, 8), rand(8, 8))
def attention_written_out(s, q, k, mask, t):
    scores = q @ k.transpose(-2, -1)
    scales = (8.0, torch.sqrt(torch.tensor(8.0)), q.sum(), t[0] + 9, t[:, :1] + 9, t + 9)
    return (
        *(torch.softmax(scores / scale + mask, -1) @ k for scale in scales),
        *(torch.softmax(scores / scale, -1) @ k for scale in scales),
        *(torch.softmax(scores * scale, -1) @ k for scale in scales),
    )


@program(rand(3, 8), rand(4, 8), rand(3, 8))
def distances(s, x, y, z):
    return (
        *(torch.cdist(x, y), torch.cdist(x, y, p=1.0), F.cosine_similarity(x, z), F.mse_loss(x, z)),
        *(F.pairwise_distance(x, z), torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]))),
        *(torch.searchsorted(torch.arange(5.0), x.abs()), F.cross_entropy(x, z.argmax(1))),
    )


@program(
    rand(2, 6, 8),
    norm=lambda: nn.LayerNorm(8),
    groups=lambda: nn.GroupNorm(3, 6),
    root=lambda: nn.RMSNorm(8),
    batch=lambda: nn.BatchNorm1d(6),
)
def norms(s, x):
    return (
        *(s.norm(x), s.groups(x), s.root(x), s.batch(x), F.instance_norm(x), F.normalize(x, dim=1)),
        *(x.norm(dim=-1), F.layer_norm(x, (6, 8)), F.local_response_norm(x, 3)),
    )


@program(rand(1, 3, 9, 9), rand(1, 2, 4, 4, 4))
def pools(s, x, volume):
    return (
        *(F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2, ceil_mode=True), F.lp_pool2d(x, 2, 3)),
        *(F.adaptive_avg_pool2d(x, (4, 5)), F.adaptive_max_pool2d(x, 3), F.max_pool3d(volume, 2)),
        *F.max_pool2d(x, 2, return_indices=True),
        *(F.avg_pool3d(volume, 2), F.adaptive_avg_pool3d(volume, 2)),
    )


@program(rand(1, 3, 5, 7))
def resized_images(s, x):
    return (
        F.interpolate(x, scale_factor=2.0),
        F.interpolate(x, size=(9, 4), mode="nearest-exact"),
        F.interpolate(x, size=(8, 9), mode="bilinear", align_corners=False),
        F.interpolate(x, size=(8, 9), mode="bicubic", align_corners=True),
        F.interpolate(x, size=(3, 3), mode="bilinear", antialias=True),
        F.interpolate(x, size=(3, 3), mode="area"),
    )


@program(rand(1, 4, 6, 6), rand(1, 8, 3, 3))
def moved_pixels(s, x, y):
    return (
        *(F.pad(x, (1, 2, 0, 1), mode="reflect"), F.pad(x, (1, 1, 1, 1), mode="circular")),
        *(F.pad(x, (2, 0), value=3.0), F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 3)),
        *(F.unfold(x, 3, padding=1), F.fold(F.unfold(x, 2, stride=2), (6, 6), 2, stride=2)),
        *(F.channel_shuffle(y, 4), x.roll((1, -2), (2, 3)), x.flip(-1), x.rot90(1, (2, 3))),
    )


@program(rand(4, 5), ints(0, 5, 4), rand(4, 5))
def losses(s, x, classes, y):
    return (
        *(F.cross_entropy(x, classes), F.nll_loss(F.log_softmax(x, 1), classes)),
        *(F.mse_loss(x, y), F.l1_loss(x, y, reduction="sum"), F.smooth_l1_loss(x, y)),
        *(F.binary_cross_entropy_with_logits(x, y.sigmoid()), F.kl_div(x, y.softmax(1))),
        *(F.huber_loss(x, y), F.cosine_similarity(x, y), F.one_hot(classes, 5)),
    )


@program(rand(3, 4), rand(4, 5), rand(3, 5), rand(2, 3, 4))
def contractions(s, a, b, c, batches):
    return (
        *(torch.einsum("ij,jk->ik", a, b), torch.einsum("bij,jk->bik", batches, b)),
        *(torch.einsum("ij,ij->j", a, a), torch.tensordot(batches, b, ([2], [0]))),
        *(torch.outer(a[0], b[0]), torch.addmm(c, a, b, beta=2, alpha=-1), torch.inner(a, a)),
        *(torch.kron(a, b[:2]), a @ b[:, 0], torch.linalg.multi_dot((c.t(), a, b)), a.t().trace()),
    )


@program(
    rand(3, 8),
    dynamic_shapes=(({0: ROWS},),),
    also=[(rand(5, 8),), (rand(32, 8),)],
    line=lambda: nn.Linear(8, 8),
)
def sizes_in_values(s, x):
    rows = torch.arange(x.shape[0])
    mask = rows[:, None] >= rows[None]
    scores = (s.line(x) @ x.t()).masked_fill(~mask, -math.inf).softmax(-1)
    return scores @ x, rows * x.shape[0], x.mean(0) / x.shape[0], x.new_zeros(x.shape[0], 2)


def tolerance(dtype):
    if dtype in (torch.float16, torch.bfloat16):
        return 2e-2
    return 1e-9 if dtype == torch.float64 else 1e-4


def leaves(value):
    return torch.utils._pytree.tree_leaves(value)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_equals_eager(name, tmp_path):
    make, dynamic_shapes, also = PROGRAMS[name]
    module, inputs = make()
    eager = copy.deepcopy(module)
    lowered = lower(module, inputs, backend="aoti-cpu", dynamic_shapes=dynamic_shapes)
    for row in lowered.report:
        if not row.delegated:
            print(name, row.sentence())
    lowered.save(tmp_path / "program.pte")
    for mode in MODES:
        others = load(tmp_path / "program.pte", mode=mode).forward(*inputs)
        assert_equals(others, leaves(copy.deepcopy(eager)(*inputs)))
    loaded = load(tmp_path / "program.pte")
    for each in (inputs, *(further() for further in also)):
        assert_equals(loaded.forward(*each), leaves(eager(*each)))


def assert_equals(found, expected):
    assert len(found) == len(expected)
    for index, (is_, wanted) in enumerate(zip(found, expected, strict=True)):
        limit = tolerance(wanted.dtype)
        assert is_.dtype == wanted.dtype and is_.shape == wanted.shape, f"output {index}"
        torch.testing.assert_close(
            *(is_, wanted),
            rtol=limit,
            atol=limit,
            equal_nan=True,
            msg=lambda text, index=index: f"{index}: {text}",
        )


def test_methods_share_constants(tmp_path):
    layer = nn.Linear(64, 64)
    methods = {
        "one": Method(nn.Sequential(layer), (torch.randn(1, 64),)),
        "many": Method(nn.Sequential(layer, nn.ReLU()), (torch.randn(5, 64),)),
    }
    lowered = lower(methods, backend="aoti-cpu")
    weights = layer.weight.detach().numpy().tobytes()
    assert lowered.buffer.count(weights) == 1
    loaded = load(lowered.buffer)
    for name, method in methods.items():
        (found,) = loaded.method(name)(*method.inputs)
        torch.testing.assert_close(found, method.module(*method.inputs), rtol=1e-4, atol=1e-4)


class Lookup(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(1000, 64)

    def forward(self, index, x):
        return self.table(index).sum(1), x[index[:, 0] // 1000], x.index_put((index[:, 0],), x[0])


def test_an_index_out_of_bounds_is_an_error_and_the_next_run_is_right():
    module, x = Lookup().eval(), torch.randn(1000, 4)
    index = torch.randint(0, 1000, (4096, 2))
    loaded = load(lower(module, (index, x), backend="aoti-cpu").buffer)
    wrong = index.clone()
    wrong[77, 1] = 10**12
    with pytest.raises(ExecutionError, match="index out of bounds"):
        loaded.forward(wrong, x)
    for found, wanted in zip(loaded.forward(index, x), module(index, x), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


class Gelus(nn.Module):
    def forward(self, *inputs):
        return [F.gelu(x, approximate=how) for x in inputs for how in ("none", "tanh")]


def test_every_gelu_is_delegated_and_equals_eager():
    special = torch.tensor([math.inf, -math.inf, math.nan, 0.0, -0.0, 6e4, -6e4, 1e-7])
    x = torch.cat([special, torch.randn(80) * 3])
    inputs = (x.double(), x, x.half(), x.bfloat16())
    lowered = lower(Gelus(), inputs, backend="aoti-cpu")
    assert all(row.delegated for row in lowered.report)
    for found, wanted in zip(load(lowered.buffer).forward(*inputs), Gelus()(*inputs), strict=True):
        limit = {torch.float64: 1e-12, torch.float32: 1e-6}.get(wanted.dtype, 2e-3)
        torch.testing.assert_close(found, wanted, rtol=limit, atol=limit, equal_nan=True)
