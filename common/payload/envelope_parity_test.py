"""The C++ reader and the Python one accept, refuse and say the same."""

import ctypes
import hashlib
import struct
from pathlib import Path

import pytest
from backend_common import payload
from backend_common.payload import PayloadError, Section
from hypothesis import given, settings
from hypothesis import strategies as st

HERE = Path(__file__).parent
LIBRARY = ctypes.CDLL(str(HERE / "testing" / "libpayload_c_api.so"))
LIBRARY.payload_parse.argtypes = [
    ctypes.c_char_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_size_t,
]
LIBRARY.payload_sha256.argtypes = [
    ctypes.c_char_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_char_p,
]
LIBRARY.payload_sha256.restype = None

# What testdata/envelope_v1.bin was built from. The file is never written again: it shows that
# programs made by the first release stay readable.
GOLDEN = [
    Section("target", b"backend=openvino\ndevice=CPU\n"),
    Section("empty", b""),
    Section("weights", bytes(range(100)), weights=True),
    Section("a_name_of_24_characters!", b"\x01\x02\x03"),
]
PAYLOAD = payload.build(GOLDEN)
TABLE_END = 64 + 80 * len(GOLDEN)


def cpp(data, verify):
    text = ctypes.create_string_buffer(1 << 16)
    ok = LIBRARY.payload_parse(data, len(data), verify == "full", text, len(text))
    return bool(ok), text.value.decode()


def python(data, verify):
    try:
        sections = payload.parse(data, verify)
    except PayloadError as error:
        return False, str(error)
    lines = []
    for index, (name, view) in enumerate(sections.items()):
        offset, size, flags = struct.unpack_from("<QQI", data, 64 + 80 * index + 24)
        assert size == len(view)
        lines.append(f"{name} {offset} {size} {flags}\n")
    return True, "".join(lines)


def assert_equal(data):
    data = bytes(data)
    for verify in ("always", "full"):
        assert cpp(data, verify) == python(data, verify)


def seal(data):
    data[32:64] = bytes(32)
    data[32:64] = hashlib.sha256(data[:TABLE_END]).digest()


def test_the_golden_file_is_what_build_writes():
    assert (HERE / "testdata" / "envelope_v1.bin").read_bytes() == PAYLOAD


def test_the_golden_payload_is_read_alike():
    assert cpp(PAYLOAD, "full")[0]
    assert_equal(PAYLOAD)


def test_every_truncation_is_refused_alike():
    for size in range(len(PAYLOAD)):
        assert_equal(PAYLOAD[:size])


@pytest.mark.parametrize("sealed", [False, True])
def test_every_changed_byte_of_header_and_table_is_judged_alike(sealed):
    for at in range(TABLE_END):
        for change in (0x01, 0x80, 0xFF):
            data = bytearray(PAYLOAD)
            data[at] ^= change
            if sealed:
                seal(data)
            assert_equal(data)


u64 = st.one_of(
    st.sampled_from([0, 1, 63, 64, 384, 448, 4096, 4196, 4224, 4227, 2**63, 2**64 - 64, 2**64 - 1]),
    st.integers(0, 2**64 - 1),
)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([24, 32]), u64), max_size=3))
def test_every_offset_and_size_is_judged_alike(changes):
    data = bytearray(PAYLOAD)
    for section, field, value in changes:
        struct.pack_into("<Q", data, 64 + 80 * section + field, value)
    seal(data)
    assert_equal(data)


@pytest.mark.parametrize("portable", [0, 1])
@settings(max_examples=200, deadline=None, derandomize=True)
@given(data=st.binary(max_size=1000))
def test_sha256_equals_hashlib(portable, data):
    digest = ctypes.create_string_buffer(32)
    LIBRARY.payload_sha256(data, len(data), portable, digest)
    assert digest.raw == hashlib.sha256(data).digest()


@pytest.mark.parametrize("portable", [0, 1])
def test_sha256_of_megabytes_equals_hashlib(portable):
    data = bytes(range(251)) * 40_000
    digest = ctypes.create_string_buffer(32)
    LIBRARY.payload_sha256(data, len(data), portable, digest)
    assert digest.raw == hashlib.sha256(data).digest()
