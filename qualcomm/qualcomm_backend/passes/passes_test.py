"""The whole list of passes, over what stock gets wrong, and in the order that it has."""

import pytest
import torch
import torch.nn.functional as F
from backend_common.typed_numbers import typed_numbers
from executorch.exir import EdgeCompileConfig, to_edge

from qualcomm_backend import passes
from qualcomm_backend.passes.harness import EDGES, INF, NAN, check, compare, program_of, run

X = torch.randn(4, 6, generator=torch.Generator().manual_seed(2))
N = torch.tensor([-7, -1, 0, 5, 7, 2**40])
IMAGE = torch.randn(1, 2, 6, 6)
VOLUME = torch.randn(1, 2, 5, 5, 5)


def rms(x, power=2, inner=lambda x: x, numerator=lambda x: x, dim=-1):
    base = x if power == 2 else x.abs()
    root = torch.rsqrt(base.pow(power).mean(dim, keepdim=True) + 1e-6)
    return inner(numerator(x) * root)


# The lines of the tables of faults, by what is computed.
FAULTS = {
    "add_of_one_value": (lambda x: torch.add(x, x, alpha=2), X),
    "sub_of_one_value": (lambda x: torch.sub(x * 2, x * 2, alpha=3), X),
    "integers_and_fractions": (lambda n: (n == 2.5, n < 2.5, n > -0.5, n >= 5.5), N),
    "relu_in_a_norm": (lambda m, x: rms(x, inner=F.relu) * m.w, X),
    "cube_norm": (lambda m, x: rms(x, power=3) * m.w, X),
    "another_numerator": (lambda m, x: rms(x, numerator=torch.tanh) * m.w, X),
    "norm_of_the_first_dimension": (lambda m, x: rms(x, dim=0) * m.w, X),
    "a_residual_in_a_norm": (lambda m, x: (x + rms(x)) * m.w, X),
    "a_norm": (lambda m, x: rms(x) * m.w, X),
    "pixels_in_another_order": (
        lambda x: x.view(1, 2, 3, 2, 3, 2).permute(0, 3, 5, 1, 2, 4).reshape(1, 8, 3, 3),
        IMAGE,
    ),
    "norm_keeps_its_rank": (lambda x: torch.linalg.vector_norm(x, 2, keepdim=True), X),
    "place_keeps_its_rank": (lambda x: (x.argmax(keepdim=True), x.argmin()), X),
    "pool_of_volumes": (lambda x: F.max_pool3d(x, 2), VOLUME),
    "dilated_pool_of_volumes": (lambda x: F.max_pool3d(x, 2, 1, dilation=2), VOLUME),
    "corrected_by_more_than_there_is": (lambda x: x.var(1, correction=8), X),
    "variance_of_no_dimensions": (lambda x: torch.var(x, dim=[]), X),
    "sum_beyond_32_bits": (lambda n: n + 3000000000, N),
    "cast_and_back": (lambda x: (x.int().float(), x.bool().float()), X),
    "filled_halves": (lambda x: torch.fill(x, 2.5), X.half()),
    "any_of_bytes": (lambda x: x.any(), torch.tensor([0, 3], dtype=torch.uint8)),
    "einsum_of_halves": (lambda x: torch.einsum("ij,jk->ik", x, x.t()), X.half()),
    "nan_times_0": (
        lambda x: torch.addmm(x[0] * NAN, x, x.t()[:, :4] * 1, beta=0),
        X[:, :4].clone(),
    ),
    "angles": (lambda x: torch.atan2(x, torch.full_like(x, -1.0)), EDGES),
    "asinh": (lambda x: torch.asinh(x), torch.tensor([-1e4, -1e30, 1e4, -0.0])),
    "integer_sinh": (lambda n: torch.sinh(n), torch.arange(-3, 4)),
    "integer_division": (
        lambda n: (
            *(n // 2, n % 3, torch.div(n, 2, rounding_mode="floor")),
            torch.div(n, -2, rounding_mode="trunc"),
        ),
        N,
    ),
    "rolled_from_the_end": (lambda x: torch.roll(x, 1, -1), X),
    "norm_of_order_0": (lambda x: torch.linalg.vector_norm(x, 0), X),
    "distances": (lambda x: (torch.cdist(x, x + 1, p=1.0), F.pdist(x, 3.0)), X),
    "reversed_difference": (lambda x: torch.rsub(x, 3.0, alpha=2), X),
    "pool_without_a_stride": (lambda x: F.max_pool2d(x, 2), IMAGE),
    "pool_of_volumes_without_a_batch": (lambda x: F.max_pool3d(x[0], 2, padding=1), VOLUME),
    "unfolded_by_one": (lambda x: F.unfold(x, 2), IMAGE),
    "matrix_times_vector": (lambda x: (x @ x[0], x[0] @ x.t()), X),
    "returned_constant": (lambda x: (x + 1, torch.arange(3)), X),
    "causal_attention": (
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
        IMAGE,
    ),
    "diagonal_of_the_ends": (lambda x: torch.diagonal(x, -1, 0, 2), torch.randn(3, 4, 3)),
    "special_values": (lambda x: (x**2 + x.trunc() * 2, x.var(), x.amax(), x.any()), EDGES),
    "many_casts": (lambda x: x.half().float().double().float(), X),
}
BUFFERS = {"w": torch.rand(6)}


def examples(name):
    function, *inputs = FAULTS[name]
    takes = function.__code__.co_varnames[0] == "m"
    return function, inputs, BUFFERS if takes else {}


@pytest.mark.parametrize("name", FAULTS)
def test_equals_eager_after_each_pass_and_on_edge(name):
    function, inputs, buffers = examples(name)
    check(passes.ATEN_PASSES, function, *inputs, exact=False, **buffers)
    module, program = program_of(function, *inputs, **buffers)
    expected = torch.utils._pytree.tree_leaves(module(*inputs))
    program = passes.run_aten_passes(program)
    with typed_numbers():
        edge = to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    edge = edge.transform(passes.edge_passes())
    compare(expected, run(edge.exported_program(), *inputs), exact=False)


def test_einsum_reaches_edge_as_one_product():
    function, inputs, _ = examples("einsum_of_halves")
    found = check(passes.ATEN_PASSES, function, *inputs, exact=False, tolerance=1e-2)
    assert found.operators == ["aten.t.default", "aten.mm.default"]


def test_infinite_masks_reach_the_softmax():
    mask = torch.tensor([[0.0, -INF], [-INF, -INF]])
    function = lambda x, m: F.scaled_dot_product_attention(x, x, x, m)
    check(passes.ATEN_PASSES, function, torch.randn(1, 2, 2, 4), mask, exact=False)


def test_a_program_that_writes_in_place_is_made_functional():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x):
            self.count.add_(x, alpha=2)
            return self.count * 2 + torch.roll(x, 1, -1)

    exported = torch.export.export(Counter(), (torch.ones(3),), strict=False)
    code = exported.graph_module.code
    program = passes.run_aten_passes(exported)
    assert exported.graph_module.code == code
    assert list(program.graph_signature.buffers_to_mutate.values()) == ["count"]
    (result,) = run(program, torch.tensor([1.0, 2.0, 3.0]))
    assert result.tolist() == [7.0, 9.0, 14.0]


def test_a_pass_runs_alone_by_its_name():
    _, program = program_of(lambda x: torch.roll(x, 1, -1), X)
    rewritten, count = passes.run_pass("RollBySlices", program)
    assert count == 1
    assert rewritten is not program
    assert passes.run_pass("WriteNorms", program)[1] == 0


def test_what_is_left_is_told_with_its_operator_node_and_line():
    _, program = program_of(lambda x: x // 0.1, X)
    rows = []
    passes.run_aten_passes(program, rows.append)
    (row,) = [row for row in rows if "floor" in row.operator]
    assert row.node == "floor_divide"
    assert "self.function" in row.source  # without frames of functions that forward calls


def test_sizes_that_are_not_fixed_are_left():
    exported = torch.export.export(
        torch.nn.ReLU(), (X,), dynamic_shapes=({0: torch.export.Dim("n", max=9)},), strict=False
    )
    passes.run_aten_passes(exported)

    class Norm(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.vector_norm(x, 2, 1), torch.roll(x, 1, 0)

    rows = []
    shapes = ({0: torch.export.Dim("n", max=9)},)
    exported = torch.export.export(Norm(), (X,), dynamic_shapes=shapes, strict=False)
    passes.run_aten_passes(exported, rows.append)
    assert {row.reason for row in rows} == {"a size of it is not fixed"}
