"""Random tensors: sizes, dtypes, ranges, distributions, layouts, and that they repeat."""

import pytest
import torch
from shim_calls import FLOATS, INTEGERS, ShimError, Shims

SHIMS = Shims()
COUNT = 40_000


@pytest.fixture(autouse=True)
def seed():
    SHIMS.seed(1)


def draw(name, *arguments):
    (result,) = SHIMS.call(f"aoti_torch_cpu_{name}", *arguments)
    return result


def test_every_call_differs_and_a_seed_repeats_it():
    for name, arguments in [
        ("rand", [[COUNT], None]),
        ("randn", [[COUNT], None]),
        ("randint", [1 << 40, [COUNT], None]),
        ("randperm", [COUNT, None]),
        ("uniform", [torch.empty(COUNT), 0.0, 2.0]),
    ]:
        SHIMS.seed(5)
        first, second = draw(name, *arguments), draw(name, *arguments)
        SHIMS.seed(5)
        again = draw(name, *arguments)
        assert not torch.equal(first, second)
        assert torch.equal(first, again)


def test_the_state_carries_on():
    SHIMS.seed(5)
    whole = [draw("rand", [10], None) for _ in range(2)]
    SHIMS.seed(5)
    first = draw("rand", [10], None)
    state = SHIMS.library.executorch_backends_aoti_random_state()
    SHIMS.seed(99)
    SHIMS.seed(state)
    assert torch.equal(torch.stack(whole), torch.stack([first, draw("rand", [10], None)]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_rand_is_uniform(dtype):
    x = draw("rand", [200, 200], dtype)
    assert x.dtype is dtype and x.shape == (200, 200) and x.min() >= 0 and x.max() < 1
    x = x.double()
    assert abs(x.mean() - 0.5) < 0.01 and abs(x.var() - 1 / 12) < 0.01
    neighbours = torch.corrcoef(torch.stack([x.flatten()[:-1], x.flatten()[1:]]))[0, 1]
    assert abs(neighbours) < 0.02


@pytest.mark.parametrize("dtype", FLOATS)
def test_randn_is_normal(dtype):
    x = draw("randn", [COUNT], dtype).double()
    assert abs(x.mean()) < 0.02 and abs(x.std() - 1) < 0.02
    assert abs((x**4).mean() - 3) < 0.2 and x.isfinite().all()
    y = draw("normal_functional", torch.empty(COUNT, dtype=dtype), 2.0, 3.0).double()
    assert abs(y.mean() - 2) < 0.1 and abs(y.std() - 3) < 0.1


def test_complex_normal_numbers_have_a_variance_of_one():
    x = draw("randn", [COUNT], torch.complex64)
    assert abs(x.real.var() - 0.5) < 0.02 and abs(x.imag.var() - 0.5) < 0.02


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_integers_fill_their_range(dtype):
    x = draw("randint_low", 3, 9, [COUNT], dtype)
    assert x.dtype is dtype
    counts = torch.bincount(x.long(), minlength=9)
    assert (counts[:3] == 0).all() and len(counts) == 9
    assert ((counts[3:] / COUNT - 1 / 6).abs() < 0.01).all()


def test_seeds_have_the_whole_range():
    out = torch.empty(1000, dtype=torch.int64)
    low, high = -(2**63), 2**63 - 1
    SHIMS.call("aoti_torch_cpu_randint_low_out", out, low, high, [1000])
    assert (out < 0).any() and (out > 2**62).any() and out.unique().numel() == 1000


def test_randperm_is_a_permutation():
    x = draw("randperm", 1000, None)
    assert torch.equal(x.sort().values, torch.arange(1000))
    assert not torch.equal(x, torch.arange(1000))
    assert draw("randperm", 0, None).shape == (0,)


def test_every_permutation_is_as_likely():
    seen = [tuple(draw("randperm", 3, None).tolist()) for _ in range(1200)]
    assert len(set(seen)) == 6 and min(map(seen.count, set(seen))) > 140


def test_bernoulli():
    for dtype in (torch.float32, torch.bool, torch.int64):
        x = torch.empty(COUNT, dtype=dtype)
        SHIMS.call("aoti_torch_cpu_bernoulli__float", x, 0.3)
        assert set(x.double().tolist()) == {0, 1} and abs(x.double().mean() - 0.3) < 0.02
    x, p = torch.empty(2, COUNT), torch.tensor([[0.0], [1.0]])
    SHIMS.call("aoti_torch_cpu_bernoulli__Tensor", x, p)
    assert torch.equal(x, p.expand(2, COUNT))
    with pytest.raises(ShimError, match=r"1\.5 is no probability"):
        SHIMS.call("aoti_torch_cpu_bernoulli__float", x, 1.5)


def test_exponential():
    x = draw("exponential", torch.empty(COUNT), 2.0)
    assert (x > 0).all() and abs(x.mean() - 0.5) < 0.02 and abs(x.std() - 0.5) < 0.03


def test_dropout():
    x = torch.ones(COUNT)
    y, mask = SHIMS.call("aoti_torch_cpu_native_dropout", x, 0.25, True)
    assert torch.equal(y, mask / 0.75) and abs(mask.float().mean() - 0.75) < 0.02
    y, mask = SHIMS.call("aoti_torch_cpu_native_dropout", x, 0.25, False)
    assert torch.equal(y, x) and mask.all()


def test_like_keeps_the_layout_unless_told_otherwise():
    x = torch.empty(3, 4).t()
    for name, more in [("rand_like", []), ("randn_like", []), ("randint_like", [9])]:
        assert draw(name, x, *more, None, None).stride() == (1, 4)
        assert draw(name, x, *more, torch.float64, 0).stride() == (3, 1)
        assert draw(name, x, *more, torch.float64, 0).dtype is torch.float64


def test_a_strided_tensor_is_filled_everywhere():
    x = torch.full([4, 7], -1.0)
    SHIMS.call("aoti_torch_cpu_bernoulli__float", x[:, ::2], 1.0)
    assert (x[:, ::2] == 1).all() and (x[:, 1::2] == -1).all()


def test_samples_of_a_rate_are_never_zero():
    SHIMS.seed(0)
    for dtype in FLOATS:
        for rate in (1.0, 1e4):
            (x,) = SHIMS.call("aoti_torch_cpu_exponential", torch.empty(100_000, dtype=dtype), rate)
            assert (x > 0).all()


def test_integers_that_the_dtype_does_not_hold_are_refused():
    for n, dtype, text in [
        (257, torch.uint8, "uint8 does not hold 0 to 256"),
        (2050, torch.float16, "float16 counts up to 2049 exactly"),
    ]:
        with pytest.raises(ShimError, match=text):
            SHIMS.call("aoti_torch_cpu_randperm", n, dtype)
        (x,) = SHIMS.call("aoti_torch_cpu_randperm", n - 1, dtype)
        assert x.sort().values.tolist() == torch.arange(n - 1).to(dtype).tolist()
    with pytest.raises(ShimError, match="uint8 does not hold -1 to 2"):
        SHIMS.call("aoti_torch_cpu_randint_low", -1, 3, [4], torch.uint8)
