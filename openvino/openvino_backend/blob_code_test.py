"""Code is hashed before every use, weights when a full check is asked for."""

import hashlib
import itertools
import struct

import backend_common
import pytest
import torch

from openvino_backend import blob_code
from openvino_backend.conftest import lower, sections_of

LARGE = blob_code.LEAST_WEIGHTS // 4  # float32 elements


def constants(*tensors):
    return [memoryview(tensor.numpy().tobytes()) for tensor in tensors]


def test_large_constants_that_are_there_byte_for_byte_are_weights():
    first, second = torch.randn(LARGE), torch.randn(LARGE + 1)
    blob = b"head" + second.numpy().tobytes() + b"middle" + first.numpy().tobytes() + b"tail"
    size = second.numel() * 4
    assert blob_code.weight_ranges(blob, constants(first, second)) == [
        (4, size),
        (4 + size + 6, LARGE * 4),
    ]


def test_small_changed_and_absent_constants_count_as_code():
    small, large = torch.randn(LARGE - 1), torch.randn(LARGE)
    changed = bytearray(large.numpy().tobytes())
    changed[-1] ^= 1
    blob = small.numpy().tobytes() + bytes(changed)
    assert blob_code.weight_ranges(blob, constants(small, large)) == []


def test_equal_constants_are_found_each_in_its_own_place():
    zeros = torch.zeros(LARGE)
    blob = b"ab" + zeros.numpy().tobytes() * 2 + b"c"
    found = blob_code.weight_ranges(blob, constants(zeros, zeros.clone()))
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
    """(module, input, bytes of the .pte, its payload's sections)."""
    torch.manual_seed(0)
    module = torch.nn.Linear(1024, 1024).eval()
    x = torch.randn(2, 1024)
    lowered = lower(module, x, options={"precompile": True})
    return module, x, lowered.buffer, sections_of(lowered.buffer)


def test_a_model_with_large_weights_runs_and_says_which_bytes_are_code(program):
    module, x, data, sections = program
    (count,) = struct.unpack_from("<I", sections["code"], 4)
    covered = sum(struct.unpack_from("<Q", sections["code"], 16 + 16 * i)[0] for i in range(count))
    (size,) = struct.unpack_from("<Q", sections["blob"], 16)
    assert size - covered == 1024 * 1024 * 4
    (output,) = backend_common.load(data).forward(x)
    assert torch.allclose(output, module(x), atol=1e-4)


def test_large_weights_are_in_the_program_once(program):
    module, _, data, _ = program
    assert data.count(module.weight.detach().numpy().tobytes()) == 1


def test_a_flip_in_the_code_is_refused_and_one_in_the_weights_is_found_by_a_full_check(program):
    module, x, data, _ = program
    weights = data.find(module.weight.detach().numpy().tobytes())

    code = bytearray(data)
    code[weights - 8] ^= 1
    with pytest.raises(backend_common.ExecutionError, match="blob's code has SHA-256"):
        backend_common.load(bytes(code)).forward(x)

    flipped = bytearray(data)
    flipped[weights + 8] ^= 1
    assert backend_common.load(bytes(flipped)).forward(x)[0].shape == (2, 1024)
