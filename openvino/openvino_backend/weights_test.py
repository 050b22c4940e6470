"""The store: each constant once, at an aligned offset."""

from openvino_backend import blob_code
from openvino_backend.weights import PAGE, Weights


def test_equal_constants_are_stored_once():
    weights = Weights()
    first = weights.add(memoryview(b"abc"))
    second = weights.add(memoryview(b"def"))
    assert weights.add(memoryview(b"abc")) == first
    assert weights.data()[second : second + 3] == b"def"
    assert weights.data().count(b"abc") == 1


def test_constants_start_at_a_cache_line():
    weights = Weights()
    assert [weights.add(memoryview(bytes([n]) * 65)) for n in range(3)] == [0, 128, 256]


def test_a_constant_that_a_compiled_model_holds_is_not_stored_again():
    constant = memoryview(bytes(range(256)) * (blob_code.LEAST_WEIGHTS // 256))
    blob = b"head" + bytes(constant) + b"tail"
    weights = Weights()
    weights.add(memoryview(b"before"))
    start, held = weights.add_blob(blob, [constant])
    assert start == PAGE and held == [(4, len(constant))]
    assert weights.add(constant) == start + 4
    assert weights.data()[start:] == blob


def test_nothing_is_no_bytes():
    assert Weights().data() == b""


def test_empty_constants_alone_are_a_cache_line():
    weights = Weights()
    assert weights.add(memoryview(b"")) == 0
    assert weights.data() == bytes(64)
