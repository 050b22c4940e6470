"""Code is hashed before every use, weights when a full check is asked for."""

import hashlib
import itertools
import struct

import backend_common
import pytest
import torch
from backend_common import payload
from torch import fx

from openvino_backend import blob_code

LARGE = blob_code.LEAST_WEIGHTS // 4  # float32 elements


def module_of(*tensors):
    graph = fx.Graph()
    graph.output(())
    module = fx.GraphModule(torch.nn.Module(), graph)
    for index, tensor in enumerate(tensors):
        module.register_buffer(f"constant_{index}", tensor)
    return module


def test_large_constants_that_are_there_byte_for_byte_are_weights():
    first, second = torch.randn(LARGE), torch.randn(LARGE + 1)
    blob = b"head" + second.numpy().tobytes() + b"middle" + first.numpy().tobytes() + b"tail"
    size = second.numel() * 4
    assert blob_code.weight_ranges(blob, module_of(first, second)) == [
        (4, size),
        (4 + size + 6, LARGE * 4),
    ]


def test_small_changed_and_absent_constants_count_as_code():
    small, large = torch.randn(LARGE - 1), torch.randn(LARGE)
    changed = bytearray(large.numpy().tobytes())
    changed[-1] ^= 1
    blob = small.numpy().tobytes() + bytes(changed)
    assert blob_code.weight_ranges(blob, module_of(small, large)) == []


def test_equal_constants_are_found_each_in_its_own_place():
    zeros = torch.zeros(LARGE)
    blob = b"ab" + zeros.numpy().tobytes() * 2 + b"c"
    found = blob_code.weight_ranges(blob, module_of(zeros, zeros.clone()))
    assert all(offset >= 2 and offset + size <= len(blob) - 1 for offset, size in found)
    assert all(a + n <= b for (a, n), (b, _) in itertools.pairwise(found))


def test_the_code_section_covers_everything_else():
    blob = bytes(range(100))
    section = blob_code.code_section(blob, [(10, 20), (30, 5), (90, 10)])
    assert struct.unpack_from("<II", section) == (1, 2)
    assert struct.unpack_from("<QQQQ", section, 8) == (0, 10, 35, 55)
    assert section[-32:] == hashlib.sha256(blob[:10] + blob[35:90]).digest()


@pytest.fixture(scope="module")
def program():
    """(module, input, bytes of the .pte, (offset, size) of its payload)."""
    torch.manual_seed(0)
    module = torch.nn.Linear(1024, 1024).eval()
    x = torch.randn(2, 1024)
    data = backend_common.lower(module, (x,), backend="openvino").buffer
    start = data.find(payload.MAGIC)
    return module, x, data, (start, int.from_bytes(data[start + 24 : start + 32], "little"))


def test_a_model_with_large_weights_runs_and_says_which_bytes_are_code(program):
    module, x, data, (start, size) = program
    sections = payload.parse(memoryview(data)[start : start + size], verify="full")
    (count,) = struct.unpack_from("<I", sections["code"], 4)
    covered = sum(struct.unpack_from("<Q", sections["code"], 16 + 16 * i)[0] for i in range(count))
    assert len(sections["blob"]) - covered == 1024 * 1024 * 4
    (output,) = backend_common.load(data).forward(x)
    assert torch.allclose(output, module(x), atol=1e-4)


def test_a_flip_in_the_code_is_refused_at_load_and_one_in_the_weights_by_a_full_check(program):
    module, x, data, (start, size) = program
    weights = data.find(module.weight.detach().numpy().tobytes())
    assert start < weights < start + size

    code = bytearray(data)
    code[weights - 8] ^= 1
    with pytest.raises(backend_common.ExecutionError, match="blob's code has SHA-256"):
        backend_common.load(bytes(code)).forward(x)

    flipped = bytearray(data)
    flipped[weights + 8] ^= 1
    assert backend_common.load(bytes(flipped)).forward(x)[0].shape == (2, 1024)
    with pytest.raises(payload.PayloadError, match="blob"):
        payload.parse(memoryview(flipped)[start : start + size], verify="full")
