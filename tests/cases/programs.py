"""Small programs that were wrong once, somewhere: each is right in eager PyTorch.

CASES maps a name to a Case, which the harness of backend_common lowers, runs from a file and
compares with eager.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Inputs = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Case:
    """make gives a module in eval mode and its example inputs, the same on every call.

    also: further inputs, run in order on the one loaded program.
    refusable: the backends that may refuse it, because no kernel is there.
    left: operators that OpenVINO must leave, because it computes them otherwise.
    wrong_on: backends that cannot get it right, because a kernel of ExecuTorch's is wrong.
    """

    make: Callable[[], tuple[nn.Module, Inputs]]
    dynamic_shapes: Any = None
    also: tuple[Inputs, ...] = ()
    refusable: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    wrong_on: frozenset[str] = frozenset()


CASES: dict[str, Case] = {}


class Function(nn.Module):
    """A function of (parts, *inputs); tensors among the parts become buffers."""

    def __init__(self, function: Callable[..., Any], parts: Mapping[str, Any]) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            if isinstance(part, Tensor):
                self.register_buffer(name, part)
            else:
                self.add_module(name, part)

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def case(
    function: Callable[..., Any],
    inputs: Callable[[], Inputs],
    parts: Callable[[], Mapping[str, Any]] = dict,
    **fields: Any,
) -> Case:
    def make() -> tuple[nn.Module, Inputs]:
        torch.manual_seed(3)
        return Function(function, parts()).eval(), inputs()

    for name in ("refusable", "left", "wrong_on"):
        fields[name] = frozenset(fields.get(name, ()))
    return Case(make, **fields)


def randoms(*shapes: tuple[int, ...]) -> Callable[[], Inputs]:
    return lambda: tuple(torch.randn(shape) for shape in shapes)


def values(*tensors: Any, dtype: torch.dtype | None = None) -> Callable[[], Inputs]:
    return lambda: tuple(
        item.clone() if isinstance(item, Tensor) else torch.tensor(item, dtype=dtype)
        for item in tensors
    )


NAN, INF = float("nan"), float("inf")
EDGES = (NAN, -1.0, 2.0, 0.0, INF, -INF, 100.0, -100.0)
rows = torch.export.Dim("rows", min=2, max=16)

# --- blobs, shapes and ranks ---------------------------------------------------------------------

CASES["two_layers_from_a_file"] = case(
    lambda m, x: m.second(F.relu(m.first(x))),
    randoms((2, 8)),
    lambda: {"first": nn.Linear(8, 8), "second": nn.Linear(8, 4)},
)
CASES["dynamic_rows"] = case(
    lambda m, x: m.layer(x),
    randoms((3, 8)),
    lambda: {"layer": nn.Linear(8, 4)},
    dynamic_shapes=(({0: rows},),),
    also=((torch.ones(7, 8),), (torch.ones(16, 8),), (torch.ones(2, 8),)),
)
CASES["dynamic_cat"] = case(
    lambda m, x: torch.cat([x, x * 2], 1),
    randoms((2, 5, 3)),
    dynamic_shapes=(({1: rows},),),
    also=((torch.ones(2, 9, 3),),),
)
CASES["dynamic_flatten"] = case(
    lambda m, x: x.exp().reshape(x.shape[0], -1) + 1,
    randoms((3, 4, 5)),
    dynamic_shapes=(({0: rows},),),
    also=((torch.ones(6, 4, 5),),),
)
CASES["dynamic_size_as_a_value"] = case(
    lambda m, x: x * x.shape[0] + torch.arange(x.shape[0]).unsqueeze(1),
    randoms((3, 4)),
    dynamic_shapes=(({0: rows},),),
    also=((torch.ones(5, 4),),),
)
CASES["dynamic_attention"] = case(
    lambda m, x: torch.softmax(x @ x.transpose(1, 2), -1) @ x,
    randoms((2, 4, 8)),
    dynamic_shapes=(({1: rows},),),
    also=((torch.ones(2, 11, 8),),),
)
CASES["dynamic_attention_scaled_by_the_root_of_a_size"] = case(
    lambda m, x: torch.softmax(x @ x.transpose(1, 2) / x.shape[1] ** 0.5, -1) @ x,
    randoms((2, 4, 8)),
    dynamic_shapes=(({1: rows},),),
    also=((torch.ones(2, 11, 8),),),
)
CASES["scalar_sum"] = case(lambda m, x: x.sum(), randoms((4,)))
CASES["scalar_mean_of_squares"] = case(lambda m, x: (x * x).mean(), randoms((2, 3)))
CASES["scalar_argmax"] = case(lambda m, x: x.argmax(), randoms((2, 5)))
CASES["scalar_input"] = case(lambda m, x, y: x * y, values([1.0, 2.0, -3.0], 2.5))
CASES["empty_input"] = case(lambda m, x: x * 2 + 1, values(torch.zeros(0, 3)))
CASES["identity_clone"] = case(lambda m, x: x.clone(), randoms((3,)))
CASES["input_returned_beside_a_sum"] = case(lambda m, x: (x, x + 1), randoms((3,)))
CASES["same_output_twice"] = case(lambda m, x: (lambda y: (y, y, y[:1]))(x * 2), randoms((3,)))
CASES["constant_output"] = case(
    lambda m, x: (x + 1, m.w), randoms((3,)), lambda: {"w": torch.arange(2.0)}
)

# --- layouts -------------------------------------------------------------------------------------


def channels_last() -> Inputs:
    return (torch.randn(1, 3, 8, 8).to(memory_format=torch.channels_last),)


CASES["channels_last_input"] = case(
    lambda m, x: m.conv(x), channels_last, lambda: {"conv": nn.Conv2d(3, 4, 3)}
)
CASES["channels_last_output"] = case(
    lambda m, x: m.conv(x).to(memory_format=torch.channels_last),
    randoms((1, 3, 8, 8)),
    lambda: {"conv": nn.Conv2d(3, 4, 3)},
)
CASES["transposed_output"] = case(lambda m, x: (x + 1).transpose(1, 2), randoms((1, 5, 4)))
CASES["expanded_output"] = case(lambda m, x: (x * 2).unsqueeze(0).expand(3, -1), randoms((4,)))

# --- NaN and infinities --------------------------------------------------------------------------

for name, function in {
    "relu": F.relu,
    "clamp": lambda x: x.clamp(-1, 2),
    "clamp_with_crossed_bounds": lambda x: x.clamp(2, -1),
    "relu6": F.relu6,
    "exp": torch.exp,
    "greater": lambda x: (x > 0, x >= 2),
    "softmax": lambda x: torch.softmax(torch.stack([x, x.flip(0), x.nan_to_num(0.5)]), -1),
    "max_pool": lambda x: F.max_pool2d(x.reshape(1, 1, 2, 4), 2, 1),
    "amax": lambda x: x.reshape(2, 4).amax(1),
}.items():
    CASES[f"{name}_of_nan"] = case(lambda m, x, f=function: f(x), values(EDGES))
# ExecuTorch's portable kernel says NaN, eager 0.
CASES["sign_of_nan"] = case(lambda m, x: torch.sign(x), values(EDGES), wrong_on=("portable",))
CASES["maximum_of_nan"] = case(
    lambda m, x, y: (torch.maximum(x, y), torch.minimum(x, y)), values(EDGES, EDGES[::-1])
)

# --- integers ------------------------------------------------------------------------------------

CASES["large_int64"] = case(lambda m, x: x + 1, values([2**40, 2**33]), left=("aten.add.Tensor",))
CASES["large_int64_moved"] = case(lambda m, x, y: (x.flip(0), y + 1), values([2**40, 2**33], [1.0]))
CASES["uint8_multiply"] = case(
    lambda m, x: x * x, values([20, 3], dtype=torch.uint8), left=("aten.mul.Tensor",)
)
CASES["int_floor_divide"] = case(lambda m, x: x // 2, values([-3, -2, -1, 0, 1, 2, 3]))
CASES["int_remainder"] = case(lambda m, x: x % 3, values([-7, -1, 0, 5, 7]))
CASES["int_equals_fraction"] = case(lambda m, x: x == 2.5, values([1, 2, 3]))
CASES["cast_to_int_and_back"] = case(lambda m, x: x.int().float(), values([1.7, -1.7, 0.2]))
CASES["cumsum_of_bool"] = case(lambda m, x: torch.cumsum(x, 1), values([[True, True, False, True]]))
CASES["sum_of_int32"] = case(
    lambda m, x: x.sum(1), values([[1, 2], [2**31 - 1, 1]], dtype=torch.int32)
)
CASES["one_hot"] = case(lambda m, i: F.one_hot(i, 5), values([0, 3, 1, 4]))
CASES["embedding_of_int64"] = case(
    lambda m, i: m.table(i) * 2, values([[1, 9], [0, 3]]), lambda: {"table": nn.Embedding(10, 4)}
)

# --- dtypes --------------------------------------------------------------------------------------

CASES["bf16_linear"] = case(
    lambda m, x: m.layer(x),
    lambda: (torch.randn(2, 8).bfloat16(),),
    lambda: {"layer": nn.Linear(8, 4).bfloat16()},
)
CASES["float64_keeps_its_digits"] = case(
    lambda m, x: (x + 1e-9 - x) * 1e9, values(torch.ones(3, dtype=torch.float64))
)
CASES["mixed_dtypes"] = case(
    lambda m, a, b: (a + b, a * b.float(), a == b),
    values(torch.arange(3, dtype=torch.int32), torch.tensor([1.5, 1, 2], dtype=torch.bfloat16)),
)

# --- operators that OpenVINO's frontend converts wrongly or not at all ---------------------------


def assign_columns(m: nn.Module, x: Tensor) -> Tensor:
    y = x.clone()
    y[:, :, torch.tensor([1, 3])] = -1.0
    return y


CASES["reflect_pad"] = case(
    lambda m, x: F.pad(x, (1, 2, 1, 0), mode="reflect"), randoms((1, 2, 5, 5))
)
CASES["index_put_with_none_slots"] = case(assign_columns, randoms((1, 2, 6)))
CASES["gather_with_smaller_index"] = case(
    lambda m, x: torch.gather(x, 1, torch.zeros(2, 2, 3, dtype=torch.int64)), randoms((4, 5, 3))
)
CASES["two_negative_indices"] = case(
    lambda m, x, i: x[i, i] + 1, lambda: (torch.randn(4, 5), torch.tensor([0, 2, -1]))
)
CASES["range_with_fractions"] = case(lambda m, x: x + torch.arange(0, 1, 0.25), randoms((4,)))
CASES["avg_pool_larger_than_input"] = case(
    lambda m, x: F.avg_pool2d(x, 8, ceil_mode=True), randoms((1, 2, 5, 5))
)
CASES["avg_pool_divisor"] = case(
    lambda m, x: F.avg_pool2d(x, 2, divisor_override=3), randoms((1, 2, 6, 6))
)
CASES["max_pool_default_stride"] = case(lambda m, x: F.max_pool2d(x, 2), randoms((1, 2, 6, 6)))
CASES["max_pool3d_dilated"] = case(
    lambda m, x: F.max_pool3d(x, 2, 1, dilation=2), randoms((1, 2, 5, 5, 5))
)
CASES["group_norm_of_bf16"] = case(
    lambda m, x: m.norm(x),
    lambda: (torch.randn(2, 4, 3, 3).bfloat16(),),
    lambda: {"norm": nn.GroupNorm(2, 4).bfloat16()},
)
CASES["cond"] = case(
    lambda m, x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,)),
    values([1.0, -3.0, 1.0]),
    also=((torch.ones(3),),),
)
CASES["causal_attention"] = case(
    lambda m, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    randoms((1, 2, 4, 8), (1, 2, 4, 8), (1, 2, 4, 8)),
)
CASES["topk_returned_directly"] = case(lambda m, x: torch.topk(x, 3), randoms((2, 8)))
CASES["topk_between_two_layers"] = case(
    lambda m, x: m.layer(torch.topk(m.layer(x), 4)[0]),
    randoms((2, 4)),
    lambda: {"layer": nn.Linear(4, 4)},
)
CASES["operator_without_a_kernel"] = case(
    lambda m, x: torch.cummax(x, 1)[0], randoms((2, 5)), refusable=("openvino", "portable")
)

CASES["nonzero_of_rows"] = case(
    lambda m, x: (torch.nonzero(x), torch.where(x > 0)),
    values([[1.0, -1, 0], [2, 0, 3]]),
    also=((torch.zeros(2, 3),), (torch.ones(2, 3),)),
)
CASES["views_of_attention"] = case(
    lambda m, x: (
        F.scaled_dot_product_attention(*x.reshape(2, 3, 4, 12, 8).unbind(1), is_causal=True)
        .transpose(1, 2)
        .reshape(2, 12, 32)
        .contiguous()
        .view(-1, 32)
    ),
    randoms((2, 3, 4, 12, 8)),
)

# --- rotary embeddings ---------------------------------------------------------------------------


def rotate_halves(m: nn.Module, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def rotate_complex(m: nn.Module, x: Tensor) -> Tensor:
    turned = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * m.turns
    return torch.view_as_real(turned).flatten(-2)


CASES["rotary_with_half_width_tables"] = case(
    rotate_halves, randoms((1, 4, 6, 8), (1, 1, 6, 4), (1, 1, 6, 4))
)
CASES["complex_rotary"] = case(
    rotate_complex,
    randoms((2, 4, 6, 8)),
    lambda: {"turns": torch.polar(torch.ones(6, 4), torch.arange(24.0).reshape(6, 4))},
)
CASES["fourier"] = case(
    lambda m, x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real, randoms((2, 6, 5))
)

# --- sizes and layouts ---------------------------------------------------------------------------

small = torch.export.Dim("small", min=1, max=8)
CASES["a_dynamic_size_of_one"] = case(
    lambda m, x: m.layer(x).softmax(-1),
    randoms((3, 8)),
    lambda: {"layer": nn.Linear(8, 4)},
    dynamic_shapes=(({0: small},),),
    also=((torch.ones(1, 8),), (torch.ones(8, 8),)),
)
CASES["a_dynamic_size_without_a_maximum"] = case(
    lambda m, x: torch.cat([x, x * 2], 0).relu(),
    randoms((3, 8)),
    dynamic_shapes=(({0: torch.export.Dim.DYNAMIC},),),
    also=((torch.ones(1, 8),), (torch.ones(100, 8),)),
)
CASES["channels_last_all_through"] = case(
    lambda m, x: (m.norm(m.convolution(x)).relu() * 2).softmax(1),
    lambda: (torch.randn(1, 3, 8, 8).to(memory_format=torch.channels_last),),
    lambda: {"convolution": nn.Conv2d(3, 4, 3), "norm": nn.BatchNorm2d(4).eval()},
)
CASES["channels_last_with_one_channel"] = case(
    lambda m, x: (
        F.pixel_shuffle(x.to(memory_format=torch.channels_last), 2),
        x[:, :1].to(memory_format=torch.channels_last) + 1,
    ),
    values(torch.arange(24).reshape(1, 4, 2, 3)),
)


# --- state ---------------------------------------------------------------------------------------


class Counter(nn.Module):
    """Says 2, 3, 4 in three calls."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        return x * 0 + self.count


CASES["counter"] = Case(
    lambda: (Counter().eval(), (torch.zeros(3),)), also=((torch.zeros(3),), (torch.zeros(3),))
)


class Swapped(nn.Module):
    """Two buffers that take each other's value in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("left", torch.tensor([1.0, 2.0]))
        self.register_buffer("right", torch.tensor([3.0, 4.0]))

    def forward(self, x: Tensor) -> Tensor:
        left = self.left.clone()
        self.left.copy_(self.right)
        self.right.copy_(left)
        return x + self.left


CASES["swapped_buffers"] = Case(
    lambda: (Swapped().eval(), (torch.zeros(2),)), also=((torch.zeros(2),), (torch.ones(2),))
)


class Shadow(nn.Module):
    """One value that is written to two buffers, the second of which has another dtype."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.register_buffer("state", torch.tensor([1.0, -2.0]))
        self.register_buffer("shadow", torch.zeros(2, dtype=dtype))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.state.add_(x)
        self.shadow.copy_(self.state)
        return self.state, self.shadow


for name, dtype in (("two_buffers", torch.float32), ("two_dtypes", torch.int8)):
    CASES[f"one_value_in_{name}"] = Case(
        lambda dtype=dtype: (Shadow(dtype).eval(), (torch.ones(2),)),
        also=((torch.ones(2),), (torch.tensor([3.0, 4.0]),)),
    )

# --- dtypes and degenerate forms of products ------------------------------------------------------

CASES["products_over_nothing"] = case(
    lambda m, x, y: (x @ y, torch.addmm(torch.ones(2), x, y), F.linear(x, y.t(), torch.ones(2))),
    values(torch.zeros(3, 0), torch.zeros(0, 2)),
)
CASES["convolution_of_volumes_in_float64"] = case(
    lambda m, x: m.up(m.down(x)),
    lambda: (torch.randn(1, 2, 4, 5, 6).double(),),
    lambda: {
        "down": nn.Conv3d(2, 4, 3, (2, 1, 2), 1, groups=2).double(),
        "up": nn.ConvTranspose3d(4, 3, (2, 3, 1), 2, (1, 0, 0), (1, 0, 1)).double(),
    },
)
CASES["cat_of_several_dtypes"] = case(
    lambda m, x, i, h: (torch.cat([x, i, h], -1), torch.stack([i, x]), torch.cat([x * 2, i]) + 1),
    values(
        torch.tensor([1.5, -2.0]), torch.tensor([3, -4], dtype=torch.int32), torch.ones(2).half()
    ),
)
CASES["addmm_with_factors_of_zero"] = case(
    lambda m, x, a, b: (
        torch.addmm(x, a, b, beta=0),
        torch.addmm(b, a, b, alpha=0),
        torch.addmm(x, a, b, beta=0, alpha=0),
    ),
    values([[NAN, 1.0], [INF, 2.0]], [[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [INF, 8.0]]),
)
CASES["products_that_are_one_number"] = case(
    lambda m, a, b: (
        torch.einsum("i,i->", a, b),
        torch.einsum("ij,kj->", a.view(2, 3), b.view(2, 3)),
        torch.bmm(a.view(1, 1, 6), b.view(1, 6, 1)).view([]),
    ),
    randoms((6,), (6,)),
)
# A number is no float32 that a tensor without dimensions gives way to.
CASES["numbers_and_tensors_without_dimensions"] = case(
    lambda m, h, i, d: (F.softshrink(h), h * 0.1 - 1.5, i * 3 + 1, (d + 0.1) * 1e9 - d * 1e9),
    values(
        torch.tensor(0.75).half(), torch.tensor(4, dtype=torch.int32), torch.tensor(1.0).double()
    ),
)
CASES["powers_of_two_and_signs"] = case(
    lambda m, x, y: (
        torch.exp2(x),
        torch.copysign(x, y),
        torch.hypot(x, y),
        torch.signbit(x),
        x.cummax(0).values,
        x.nanmedian(),
    ),
    values(EDGES, (1.0, -1.0, 0.0, -0.0, INF, 3.0, -INF, 2.0)),
)
