"""Layouts and copies against PyTorch: `as_strided` is the oracle."""

import ctypes
import itertools
import os
from pathlib import Path

import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

MAX_RANK = 16
LIBRARY = ctypes.CDLL(str(Path(__file__).parent / "testing" / "liblayout_c_api.so"))

# The same examples on each run; the full suite draws more of them.
EXAMPLES = 3000 if os.environ.get("EXECUTORCH_BACKENDS_SUITE") == "full" else 300
examples = settings(max_examples=EXAMPLES, deadline=None, derandomize=True)

DTYPES = {
    1: torch.uint8,
    2: torch.int16,
    4: torch.float32,
    8: torch.int64,
    16: torch.complex128,
}


class CLayout(ctypes.Structure):
    _fields_ = [
        ("rank", ctypes.c_size_t),
        ("sizes", ctypes.c_int64 * MAX_RANK),
        ("strides", ctypes.c_int64 * MAX_RANK),
        ("offset", ctypes.c_size_t),
        ("item_size", ctypes.c_size_t),
    ]


def layout(sizes, strides, offset=0, item_size=1):
    pad = [0] * (MAX_RANK - len(sizes))
    dims = ctypes.c_int64 * MAX_RANK
    return CLayout(len(sizes), dims(*sizes, *pad), dims(*strides, *pad), offset, item_size)


def layout_of(tensor):
    return layout(tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.element_size())


def span_bytes(it):
    bytes_ = ctypes.c_size_t()
    return (
        bytes_.value if LIBRARY.layout_span_bytes(ctypes.byref(it), ctypes.byref(bytes_)) else None
    )


def element_count(it):
    count = ctypes.c_size_t()
    ok = LIBRARY.layout_element_count(ctypes.byref(it), ctypes.byref(count))
    return count.value if ok else None


def is_contiguous(it, order):
    return bool(LIBRARY.layout_is_contiguous(ctypes.byref(it), bytes(order)))


def dim_order(it):
    order = (ctypes.c_uint8 * MAX_RANK)()
    assert LIBRARY.layout_dim_order_from_strides(ctypes.byref(it), order)
    return tuple(order[: it.rank])


def strides_from(sizes, order):
    strides = (ctypes.c_size_t * MAX_RANK)()
    it = layout(sizes, [0] * len(sizes))
    assert LIBRARY.layout_strides_from_dim_order(ctypes.byref(it), bytes(order), strides)
    return tuple(strides[: len(sizes)])


def overlaps_itself(it):
    return bool(LIBRARY.layout_overlaps_itself(ctypes.byref(it)))


def copy(dst, to, src, source):
    """None, or the error. `to` and `source` are the tensors whose storages are used."""
    error = ctypes.create_string_buffer(1000)
    ok = LIBRARY.layout_copy(
        ctypes.byref(dst),
        ctypes.c_void_p(to.untyped_storage().data_ptr()),
        ctypes.c_size_t(to.untyped_storage().nbytes()),
        ctypes.byref(src),
        ctypes.c_void_p(source.untyped_storage().data_ptr()),
        ctypes.c_size_t(source.untyped_storage().nbytes()),
        error,
        ctypes.c_size_t(len(error)),
    )
    return None if ok else error.value.decode()


def reach(sizes, strides, offset):
    """Elements of the smallest storage that holds the view, in Python's integers."""
    if 0 in sizes:
        return 0
    return offset + 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))


def storage(elements, item_size, seed):
    """A one-dimensional tensor of random bytes."""
    generator = torch.Generator().manual_seed(seed)
    data = torch.randint(0, 256, (elements * item_size,), dtype=torch.uint8, generator=generator)
    return data.view(DTYPES[item_size])


def raw(tensor):
    """The elements' bytes, in the default order. (Random floats include NaN, unequal to itself.)"""
    return tensor.flatten().clone(memory_format=torch.contiguous_format).view(torch.uint8)


@st.composite
def dense_strides(draw, sizes):
    """Strides in any order of the dimensions, with or without gaps; nothing overlaps."""
    order = draw(st.permutations(range(len(sizes))))
    gaps = draw(st.booleans())
    strides = [0] * len(sizes)
    step = 1
    for d in reversed(order):
        strides[d] = step
        step = step * max(sizes[d], 1) + (draw(st.integers(0, 3)) if gaps else 0)
    return strides


ranks_and_sizes = st.lists(st.sampled_from([0, 1, 1, 2, 2, 3, 4, 5]), max_size=5)
item_sizes = st.sampled_from(sorted(DTYPES))


def any_strides(sizes):
    return st.one_of(
        dense_strides(sizes), st.lists(st.integers(0, 9), min_size=len(sizes), max_size=len(sizes))
    )


@st.composite
def views(draw):
    sizes = draw(ranks_and_sizes)
    return sizes, draw(any_strides(sizes)), draw(st.integers(0, 5))


@examples
@given(st.data(), item_sizes)
def test_a_copy_equals_torch_and_touches_nothing_else(data, item_size):
    sizes = data.draw(ranks_and_sizes)
    dst = (sizes, data.draw(dense_strides(sizes)), data.draw(st.integers(0, 3)))
    src = (sizes, data.draw(any_strides(sizes)), data.draw(st.integers(0, 3)))
    to = storage(reach(*dst) + 2, item_size, 1)
    source = storage(reach(*src), item_size, 2)
    expected = to.clone()
    expected.as_strided(*dst).copy_(source.as_strided(*src))
    assert copy(layout(*dst, item_size), to, layout(*src, item_size), source) is None
    assert torch.equal(raw(to), raw(expected))


@examples
@given(views(), item_sizes)
def test_an_overlapping_destination_is_refused_and_no_other(view, item_size):
    sizes, strides, _ = view
    places = torch.arange(reach(*view)).as_strided(*view).flatten()
    overlaps = places.unique().numel() != places.numel()
    assert overlaps_itself(layout(*view, item_size)) == overlaps
    source = storage(reach(sizes, [0] * len(sizes), 0), item_size, 3)
    to = storage(reach(*view), item_size, 4)
    before = to.clone()
    error = copy(
        layout(*view, item_size), to, layout(sizes, [0] * len(sizes), 0, item_size), source
    )
    if overlaps:
        assert "elements of the destination lie at the same place" in error
        assert f"sizes {sizes}, strides {strides}" in error
        assert torch.equal(raw(to), raw(before))
    else:
        assert error is None


@examples
@given(views(), item_sizes, st.integers(-3, 1))
def test_a_view_fits_a_storage_exactly_when_torch_says_so(view, item_size, spare):
    elements = max(reach(*view) + spare, 0)
    base = storage(elements, item_size, 5)
    try:
        base.as_strided(*view)
        fits = True
    except RuntimeError as error:
        assert "out of bounds for storage" in str(error)
        fits = False
    assert (span_bytes(layout(*view, item_size)) <= elements * item_size) == fits

    sizes = view[0]
    to = torch.zeros(sizes, dtype=DTYPES[item_size])
    error = copy(layout_of(to), to, layout(*view, item_size), base)
    if fits:
        assert error is None
        assert torch.equal(raw(to), raw(base.as_strided(*view)))
    else:
        assert f"its storage has {elements * item_size}" in error
        assert not to.any()


@examples
@given(views())
def test_contiguity_equals_torch(view):
    tensor = torch.empty(reach(*view)).as_strided(*view)
    assert is_contiguous(layout_of(tensor), range(tensor.dim())) == tensor.is_contiguous()


@examples
@given(st.data())
def test_channels_last_contiguity_equals_torch(data):
    rank = data.draw(st.sampled_from([4, 5]))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    order = (0, *range(2, rank), 1)
    strides = data.draw(st.one_of(st.just(strides_from(sizes, order)), any_strides(sizes)))
    tensor = torch.empty(reach(sizes, strides, 0)).as_strided(sizes, strides)
    form = torch.channels_last if rank == 4 else torch.channels_last_3d
    assert is_contiguous(layout_of(tensor), order) == tensor.is_contiguous(memory_format=form)


@examples
@given(st.lists(st.integers(0, 4), max_size=5))
def test_strides_of_the_default_order_equal_torch(sizes):
    assert strides_from(sizes, range(len(sizes))) == torch.empty(sizes).stride()


@examples
@given(st.lists(st.integers(1, 4), min_size=4, max_size=4))
def test_strides_of_channels_last_equal_torch(sizes):
    tensor = torch.empty(sizes, memory_format=torch.channels_last)
    assert strides_from(sizes, (0, 2, 3, 1)) == tensor.stride()


@examples
@given(st.lists(st.integers(2, 4), max_size=5), st.data())
def test_dim_order_equals_torch_where_it_is_unambiguous(sizes, data):
    strides = data.draw(dense_strides(sizes))
    tensor = torch.empty(reach(sizes, strides, 0)).as_strided(sizes, strides)
    assert dim_order(layout_of(tensor)) == tensor.dim_order()


@examples
@given(views())
def test_a_tensor_that_is_dense_in_some_order_is_so_in_its_dim_order(view):
    sizes = view[0]
    it = layout(*view)
    orders = itertools.permutations(range(len(sizes)))
    dense = any(is_contiguous(it, order) for order in orders)
    assert is_contiguous(it, dim_order(it)) == dense


@examples
@given(st.permutations(range(5)), st.lists(st.integers(2, 4), min_size=5, max_size=5))
def test_dim_order_and_strides_are_inverse(order, sizes):
    assert dim_order(layout(sizes, strides_from(sizes, order))) == tuple(order)


@examples
@given(views(), views(), st.integers(0, 40))
def test_layouts_that_share_an_element_may_overlap(a, b, shift):
    b = (b[0], b[1], b[2] + shift)
    places = [set(torch.arange(reach(*v)).as_strided(*v).flatten().tolist()) for v in (a, b)]
    claims = bool(LIBRARY.layout_may_overlap(ctypes.byref(layout(*a)), ctypes.byref(layout(*b))))
    if places[0] & places[1]:
        assert claims
    if not all(places):
        assert not claims
    else:
        ranges_meet = min(places[0]) <= max(places[1]) and min(places[1]) <= max(places[0])
        assert claims == ranges_meet


def test_a_slice_in_the_middle_of_a_linear_output_copies_as_torch_does():
    base = torch.randn(1, 50, 32)
    for view in (base[:, :, :14], base[:, 3:, 1::3], base.transpose(1, 2), base[:, :, :0]):
        to = torch.empty(view.shape)
        assert copy(layout_of(to), to, layout_of(view), base) is None
        assert torch.equal(to, view)


near_the_limits = st.one_of(
    st.integers(0, 4),
    st.sampled_from([2**31 - 1, 2**31, 2**32, 3037000500, 2**62, 2**63 - 2, 2**63 - 1]),
    st.integers(0, 2**63 - 1),
)


@examples
@given(
    st.lists(st.tuples(near_the_limits, near_the_limits), max_size=4), near_the_limits, item_sizes
)
def test_span_and_count_near_2_to_the_63_equal_exact_integers(dims, offset, item_size):
    sizes, strides = [n for n, _ in dims], [s for _, s in dims]
    it = layout(sizes, strides, offset, item_size)
    span = reach(sizes, strides, offset) * item_size
    assert span_bytes(it) == (span if span < 2**64 else None)
    count = 1
    for size in sizes:
        count *= size
    assert element_count(it) == (count if count < 2**64 else None)


@examples
@given(views(), st.integers(-(2**63), -1), st.booleans(), st.data())
def test_negative_sizes_and_strides_are_refused(view, negative, in_sizes, data):
    sizes, strides, offset = view
    assume(sizes)
    wrong = list(sizes if in_sizes else strides)
    wrong[data.draw(st.integers(0, len(sizes) - 1))] = negative
    it = layout(wrong, strides, offset) if in_sizes else layout(sizes, wrong, offset)
    assert span_bytes(it) is None
    to = torch.zeros(1)
    assert "negative size or stride" in copy(it, to, it, to)
