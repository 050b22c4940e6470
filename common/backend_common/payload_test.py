"""What `payload.build` promises, and what `payload.parse` refuses."""

import hashlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend_common.payload import PayloadError, Section, build, has_magic, parse

SECTIONS = [
    Section("target", b"backend=openvino\n"),
    Section("empty", b""),
    Section("weights", bytes(range(100)), weights=True),
    Section("blob", b"\x01\x02\x03"),
]
TABLE_END = 64 + 80 * len(SECTIONS)

names = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=24)
section_lists = st.lists(
    st.builds(Section, names, st.binary(max_size=300), st.booleans()),
    max_size=8,
    unique_by=lambda section: section.name,
)


def sealed(payload: bytearray) -> bytes:
    """With the header's checksum made right again after a mutation."""
    payload[32:64] = bytes(32)
    payload[32:64] = hashlib.sha256(payload[:TABLE_END]).digest()
    return bytes(payload)


@settings(deadline=None, derandomize=True)
@given(section_lists)
def test_what_was_built_is_read(sections):
    payload = build(sections)
    parsed = parse(payload, "full")
    assert list(parsed) == [section.name for section in sections]
    for section in sections:
        assert parsed[section.name] == section.data


@settings(deadline=None, derandomize=True)
@given(section_lists)
def test_equal_sections_give_equal_bytes(sections):
    assert build(sections) == build(list(sections))


def test_no_sections_are_a_payload_of_64_bytes():
    assert len(build([])) == 64
    assert parse(build([])) == {}


def test_64_sections_fit_and_65_do_not():
    assert len(parse(build([Section(f"s{i}", b"x") for i in range(64)]))) == 64
    with pytest.raises(PayloadError, match="65 sections; at most 64 fit"):
        build([Section(f"s{i}", b"x") for i in range(65)])


def test_sections_are_aligned_and_weights_to_pages():
    payload = build(SECTIONS)
    offsets = [struct.unpack_from("<Q", payload, 64 + 80 * i + 24)[0] for i in range(len(SECTIONS))]
    assert offsets == [384, 448, 4096, 4224]


def test_sections_are_views_without_a_copy_and_cannot_be_written():
    payload = bytearray(build(SECTIONS))
    blob = parse(payload)["blob"]
    assert blob.readonly
    payload[-1] = 77
    assert blob[-1] == 77


def test_data_may_be_a_view_of_wider_items():
    view = memoryview(b"12345678").cast("I")
    assert parse(build([Section("wide", view)]))["wide"] == b"12345678"


@pytest.mark.parametrize("name", ["", "with space", "tab\t", "ümlaut", "x" * 25, "a\0b"])
def test_a_name_that_does_not_fit_is_refused_by_name(name):
    with pytest.raises(PayloadError, match=r"section 0 is called .*expected 1 to 24 characters"):
        build([Section(name, b"")])


def test_a_name_used_twice_is_refused():
    with pytest.raises(PayloadError, match="section 'a' occurs twice"):
        build([Section("a", b""), Section("a", b"")])


def test_magic_tells_an_envelope_from_a_stock_blob():
    assert has_magic(build(SECTIONS))
    assert not has_magic(b"a stock blob")
    assert not has_magic(b"")


def test_verify_is_always_or_full():
    with pytest.raises(ValueError, match="verify is 'never'; expected 'always' or 'full'"):
        parse(build(SECTIONS), verify="never")


def test_every_truncation_is_refused():
    payload = build(SECTIONS)
    for size in range(len(payload)):
        with pytest.raises(PayloadError):
            parse(payload[:size], "full")


def test_every_flipped_byte_is_noticed_and_of_the_weights_when_asked():
    payload = build(SECTIONS)
    for at in range(len(payload)):
        flipped = bytearray(payload)
        flipped[at] ^= 0x40
        with pytest.raises(PayloadError):
            parse(flipped, "full")
        if 4096 <= at < 4196:
            parse(flipped, "always")
        else:
            with pytest.raises(PayloadError):
                parse(flipped, "always")


@pytest.mark.parametrize(
    ("at", "form", "value", "message"),
    [
        (8, "<I", 2, "version 2; this reader knows version 1: lower the model again"),
        (0, "<Q", 0, "magic 00 00 00 00 00 00 00 00; expected 89 45 54 42 0d 0a 1a 0a"),
        (12, "<I", 65, "65 sections; at most 64 fit"),
        (16, "<I", 3, "alignment 3; expected a power of two"),
        (20, "<I", 3, "the header's reserved field is 3; expected 0"),
        (24, "<Q", 5, "the header says 5 bytes; there are 4227"),
        (64 + 24, "<Q", 0, "section 'target' starts at byte 0; what precedes it ends at 384"),
        (64 + 32, "<Q", 2**64 - 1, "section 'target' has 18446744073709551615 bytes at byte 384"),
        (64 + 32, "<Q", 65, "section 'empty' starts at byte 448; what precedes it ends at 449"),
        (64 + 32, "<Q", 16, "byte 400 in front of section 'empty' is 10; expected 0"),
        (64 + 40, "<I", 2, "section 'target' has flags 2; version 1 knows 1 only"),
        (64 + 80, "<Q", 0x746567726174, "section 'target' occurs twice"),
    ],
)
def test_an_error_names_both_values(at, form, value, message):
    payload = bytearray(build(SECTIONS))
    struct.pack_into(form, payload, at, value)
    with pytest.raises(PayloadError) as error:
        parse(sealed(payload), "full")
    assert str(error.value).startswith(f"payload: {message}")
