import torch

from qualcomm_backend.passes.fold_constants import FoldConstants
from qualcomm_backend.passes.harness import check
from qualcomm_backend.passes.narrow_integers import NarrowIntegers

BOTH = (FoldConstants, NarrowIntegers)


def dtypes(found, name):
    return [n.meta["val"].dtype for n in found.program.graph.nodes if n.name.startswith(name)]


def test_what_may_be_out_of_range_stays():
    found = check(BOTH, lambda x: (x + 3000000000, x.int().long() + 1), torch.arange(4))
    assert not found.count - 0 or set(dtypes(found, "add")) == {torch.int64}


def test_sums_of_truths_and_numbers_are_narrow():
    function = lambda b: b.long() * 100 + 3 - b.long()
    found = check(BOTH, function, torch.tensor([True, False]))
    assert set(dtypes(found, "add") + dtypes(found, "mul") + dtypes(found, "sub")) == {torch.int32}


def test_a_product_that_may_overflow_stays():
    found = check(BOTH, lambda n: n.long() * n.long(), torch.tensor([30000, -5], dtype=torch.int32))
    assert dtypes(found, "mul") == [torch.int64]
    assert "32 bits" in found.reasons
    found = check(BOTH, lambda n: n.long() * n.long(), torch.tensor([30000, -5], dtype=torch.int16))
    assert dtypes(found, "mul") == [torch.int32]


def test_places_and_constants():
    function = lambda x: (x.argmax(1) + torch.arange(3)) * 2 == 4
    found = check(BOTH, function, torch.rand(3, 5))
    assert dtypes(found, "add") == [torch.int32]
    assert dtypes(found, "eq") == [torch.bool]
    function = lambda x: torch.cat([x.argmax(1), x.argmin(1)]).reshape(2, 3).float()
    assert dtypes(check(BOTH, function, torch.rand(3, 5)), "cat") == [torch.int32]


def test_constants_that_are_too_large_stay():
    found = check(BOTH, lambda b: b.long() + torch.tensor([2**31, 1]), torch.tensor([True, False]))
    assert dtypes(found, "add") == [torch.int64]


def test_of_places_that_max_finds():
    function = lambda x: x.max(1)[1] + 1
    assert dtypes(check(BOTH, function, torch.rand(3, 5)), "add") == [torch.int32]


def test_inputs_of_64_bits_stay():
    found = check(BOTH, lambda n: (n + 1, n * 2, n > 3), torch.tensor([2**62, -(2**63)]))
    assert not found.count


def test_views_of_what_was_narrowed_have_their_own_strides():
    function = lambda n: (n.long().t() * 2)[:, 1:] + 1
    check(BOTH, function, torch.arange(6, dtype=torch.int16).reshape(3, 2))


def test_numbers_that_are_too_large_stay_what_they_are():
    function = lambda n: (n.long() < 3000000000, n.long() == 2**32 + 1, n.long() - 2**31)
    found = check(BOTH, function, torch.tensor([1, -1, 2**31 - 1], dtype=torch.int32))
    assert not found.count
    assert "3000000000" in found.reasons


def test_compared_with_fractions_and_floats():
    function = lambda n, x: (n.long() < 2.5, n.long() == x, torch.cat([n.long(), x]))
    check(BOTH, function, torch.tensor([1, 2**24 + 1, -5], dtype=torch.int32), torch.rand(3))
