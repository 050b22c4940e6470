"""Bags of embeddings against ATen's."""

import pytest
import torch
from shim_calls import FLOATS, ShimError, Shims, compare, promised, values

SHIMS = Shims()


def run(weight, indices, offsets, mode, weights=None, last=False, padding=-1):
    arguments = [weight, indices, offsets, False, mode, False, weights, last, padding]
    for name in ("_embedding_bag", "_embedding_bag_forward_only"):
        operator = getattr(torch.ops.aten, name)
        actual = SHIMS.call(f"aoti_torch_cpu_{name}", *arguments)
        tolerance = {torch.float16: 5e-3, torch.bfloat16: 3e-2}.get(weight.dtype)
        expected, promises = operator(*arguments), promised(operator, *arguments)
        for ours, theirs, promise in zip(actual, expected, promises, strict=True):
            assert ours.shape == promise.shape and ours.dtype == promise.dtype
            # ATen's own results are at times a row shorter or longer than it promises.
            rows = min(len(ours), len(theirs))
            compare(ours[:rows], theirs[:rows], tolerance)
    return actual


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_modes_offsets_and_padding(dtype, mode):
    weight = values([9, 5], dtype)
    for index in (torch.int64, torch.int32):
        indices = torch.tensor([0, 3, 8, 3, 3, 1, 7], dtype=index)
        for offsets in ([0, 2, 2, 5], [0], [0, 7]):
            for padding in (-1, 3):
                run(weight, indices, torch.tensor(offsets, dtype=index), mode, padding=padding)
        for offsets in ([0, 4, 7], [0, 4, 5]):
            for padding in (-1, 3):
                ends = torch.tensor(offsets, dtype=index)
                run(weight, indices, ends, mode, last=True, padding=padding)
    run(weight.t().contiguous().t(), indices, torch.tensor([0, 4], dtype=index), mode)


def test_weights_of_the_samples():
    weight, indices = values([9, 5], torch.float32), torch.tensor([0, 3, 8, 3])
    run(weight, indices, torch.tensor([0, 2]), 0, values([4], torch.float32, 1))


def test_the_largest_come_from():
    weight, indices = values([9, 5], torch.float32), torch.tensor([0, 3, 8, 3])
    *_, places = run(weight, indices, torch.tensor([0, 2]), 2)
    compare(weight.gather(0, places), run(weight, indices, torch.tensor([0, 2]), 2)[0])


def test_no_bags():
    run(
        torch.ones(3, 2),
        torch.tensor([], dtype=torch.int64),
        torch.tensor([], dtype=torch.int64),
        0,
    )


def test_what_is_outside_is_refused():
    for index, offset, text in [(9, 0, "index 9 is outside of 9 rows"), (0, 1, "offset 1 of 1")]:
        arguments = [torch.ones(9, 5), torch.tensor([index]), torch.tensor([offset])]
        with pytest.raises(ShimError, match=text):
            SHIMS.call(
                "aoti_torch_cpu__embedding_bag", *arguments, False, 0, False, None, False, -1
            )


def test_an_index_that_the_offsets_dtype_does_not_hold():
    arguments = [torch.ones(3, 2), torch.tensor([2**32]), torch.tensor([0], dtype=torch.int32)]
    with pytest.raises(ShimError, match="index 4294967296 is outside of 3 rows"):
        SHIMS.call("aoti_torch_cpu__embedding_bag", *arguments, False, 0, False, None, False, -1)
