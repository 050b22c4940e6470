"""Products of matrices against ATen's."""

import pytest
import torch
from shim_calls import COMPLEX, FLOATS, INTEGERS, ShimError, Shims, check, compare, layouts, values

SHIMS = Shims()
DTYPES = FLOATS + INTEGERS + COMPLEX
# rows, depth, columns: tiles and their edges, dot products, empty ones, more than a block.
SIZES = [(1, 1, 1), (2, 3, 4), (6, 16, 16), (7, 33, 17), (1, 40, 50), (40, 50, 1), (0, 3, 4)]
SIZES += [(3, 0, 4), (3, 4, 0), (16, 9, 31), (5, 340, 6), (100, 330, 35)]


def rounding(dtype, depth):
    return {torch.float16: 1e-2, torch.bfloat16: 5e-2, torch.float64: 1e-10}.get(dtype, 1e-4) * max(
        1, depth / 100
    )


def out_layouts(shape, dtype):
    """Results to write into: dense, transposed, and with gaps."""
    yield torch.empty(shape, dtype=dtype)
    yield torch.empty([*shape[:-2], shape[-1], shape[-2]], dtype=dtype).transpose(-1, -2)
    yield torch.empty([*shape[:-1], 2 * shape[-1] + 1], dtype=dtype)[..., 1::2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_mm_for_all_sizes_and_layouts(dtype):
    for rows, depth, columns in SIZES:
        for a in layouts([rows, depth], dtype):
            for b in layouts([depth, columns], dtype, 1):
                for out in out_layouts([rows, columns], dtype):
                    SHIMS.call("aoti_torch_cpu_mm_out", out, a, b)
                    compare(out, a @ b, rounding(dtype, depth))


@pytest.mark.parametrize("dtype", DTYPES)
def test_addmm_scales_and_broadcasts(dtype):
    exact = dtype in INTEGERS
    a, b = values([7, 33], dtype), values([33, 18], dtype, 1)
    for addend in [values(s, dtype, 2) for s in ([7, 18], [18], [7, 1], [1], [])]:
        for beta, alpha in [(1, 1), (2, 3), (0, 1)] if exact else [(1, 1), (0.5, 1.5), (0, 1)]:
            for out in out_layouts([7, 18], dtype):
                SHIMS.call("aoti_torch_cpu_addmm_out", out, addend, a, b, beta, alpha)
                compare(
                    out, torch.addmm(addend, a, b, beta=beta, alpha=alpha), rounding(dtype, 200)
                )


def test_a_beta_of_zero_lets_no_nan_through():
    out, addend = torch.full([2, 2], torch.nan), torch.full([2], torch.nan)
    SHIMS.call("aoti_torch_cpu_addmm_out", out, addend, torch.eye(2), torch.eye(2), 0, 1)
    compare(out, torch.eye(2))


def test_an_alpha_of_zero_lets_no_infinity_through():
    out, a = torch.empty(2, 2), torch.full([2, 2], torch.inf)
    SHIMS.call("aoti_torch_cpu_addmm_out", out, torch.ones(2), a, a, 3, 0)
    compare(out, torch.full([2, 2], 3.0))


def test_more_than_one_block_of_each_size():
    for rows, depth, columns in [(200, 700, 40), (17, 4, 3100)]:
        a, b, out = (
            torch.randn(rows, depth),
            torch.randn(depth, columns),
            torch.empty(rows, columns),
        )
        SHIMS.call("aoti_torch_cpu_mm_out", out, a, b)
        compare(out, a @ b, 1e-3)


def test_an_infinity_and_a_nan_come_through():
    a = torch.tensor([[1.0, torch.inf], [torch.nan, 2.0]])
    out = torch.empty(2, 2)
    SHIMS.call("aoti_torch_cpu_mm_out", out, a, torch.ones(2, 2))
    compare(out, a @ torch.ones(2, 2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_bmm_and_baddbmm(dtype):
    for batch, (rows, depth, columns) in [
        (1, (9, 20, 10)),
        (5, (3, 40, 17)),
        (0, (2, 2, 2)),
        (40, (1, 8, 30)),
        (2, (5, 0, 3)),
    ]:
        for a in layouts([batch, rows, depth], dtype):
            for b in layouts([batch, depth, columns], dtype, 1):
                for out in out_layouts([batch, rows, columns], dtype):
                    SHIMS.call("aoti_torch_cpu_bmm_out", out, a, b)
                    compare(out, torch.bmm(a, b), rounding(dtype, depth))
        addend = values([batch, rows, columns], dtype, 2)
        out = torch.empty([batch, rows, columns], dtype=dtype)
        SHIMS.call("aoti_torch_cpu_baddbmm_out", out, addend, a, b, 2, 3)
        compare(out, torch.baddbmm(addend, a, b, beta=2, alpha=3), rounding(dtype, 300))


@pytest.mark.parametrize("dtype", DTYPES)
def test_addbmm_and_addmv(dtype):
    tolerance = rounding(dtype, 300)
    for batch in (0, 1, 3):
        a, b = values([batch, 4, 9], dtype), values([batch, 9, 5], dtype, 1)
        addend = values([5], dtype, 2)

        def addbmm(addend, a, b, beta, alpha):
            return torch.addbmm(addend, a, b, beta=beta, alpha=alpha)

        check(SHIMS, "addbmm", addbmm, [addend, a, b, 2, 3], tolerance=tolerance)

    def addmv(addend, a, x, beta, alpha):
        return torch.addmv(addend, a, x, beta=beta, alpha=alpha)

    for a in layouts([4, 9], dtype):
        for x in layouts([9], dtype, 1):
            arguments = [values([4], dtype, 2), a, x, 2, 3]
            check(SHIMS, "addmv", addmv, arguments, tolerance=tolerance)


@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_addmm_activation(dtype, gelu):
    arguments = [values([5], dtype), values([3, 9], dtype, 1), values([9, 5], dtype, 2), 1, 1, gelu]

    def operator(addend, a, b, beta, alpha, use_gelu):
        return torch.ops.aten._addmm_activation(
            addend, a, b, beta=beta, alpha=alpha, use_gelu=use_gelu
        )

    check(SHIMS, "_addmm_activation", operator, arguments, tolerance=rounding(dtype, 200))


def test_int_mm_does_not_wrap():
    a = torch.full([20, 40], 127, dtype=torch.int8)
    b = torch.full([40, 24], -128, dtype=torch.int8)
    out = torch.empty([20, 24], dtype=torch.int32)
    SHIMS.call("aoti_torch_cpu__int_mm_out", out, a, b)
    compare(out, torch._int_mm(a, b))


def test_mm_plus_mm():
    a, b, c, d = (torch.randn(6, 6) for _ in range(4))
    out = torch.empty(6, 6)
    SHIMS.call("aoti_torch__mm_plus_mm_out", out, a, b, c, d)
    compare(out, a @ b + c @ d, 1e-4)


def test_what_does_not_fit_is_refused_with_both_sizes():
    with pytest.raises(ShimError, match=r"sizes \[2, 3\] times \[4, 2\] do not make \[2, 2\]"):
        SHIMS.call("aoti_torch_cpu_mm_out", torch.empty(2, 2), torch.ones(2, 3), torch.ones(4, 2))
    with pytest.raises(ShimError, match="dtypes float32 and int64, result float32"):
        SHIMS.call(
            "aoti_torch_cpu_mm_out", torch.empty(2, 2), torch.ones(2, 2), torch.ones(2, 2).long()
        )
    bools = torch.ones(2, 2).bool()
    with pytest.raises(ShimError, match="no kernel for bool"):
        SHIMS.call("aoti_torch_cpu_mm_out", bools, bools, bools)


def test_results_over_their_operands():
    """Eager reads what it has written already; a compiled program must not."""
    a, b = values([50, 50], torch.float32), values([50, 50], torch.float32, 1)
    for name, arguments, expected in [
        ("cpu_mm_out", lambda x: [x, x, x], a @ a),
        ("cpu_mm_out", lambda x: [x, b, x], b @ a),
        ("cpu_addmm_out", lambda x: [x, b, x, b, 1.0, 1.0], b + a @ b),
        ("cpu_addmm_out", lambda x: [x, x, b, b, 1.0, 1.0], a + b @ b),
        ("_mm_plus_mm_out", lambda x: [x, b, b, x, b], b @ b + a @ b),
    ]:
        out = a.clone()
        SHIMS.call(f"aoti_torch_{name}", *arguments(out))
        compare(out, expected, 1e-4)
    memory = values([100], torch.float32)
    left, right, out = (memory[i : i + 16].view(4, 4) for i in (0, 30, 8))
    expected = left @ right
    SHIMS.call("aoti_torch_cpu_mm_out", out, left, right)
    compare(out, expected)
