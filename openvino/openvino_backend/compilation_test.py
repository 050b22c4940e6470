"""What this machine can compile for, and what a blob says of itself."""

import pytest

from openvino_backend import compilation


def test_versions_are_cut_before_the_build_number():
    assert compilation.version("2026.4.1-22063-9e3ffe1adae-releases/2026/4") == "2026.4.1"
    assert compilation.version("2025.1.0") == "2025.1.0"


@pytest.mark.parametrize(
    ("device", "here"),
    [
        ("CPU", "CPU"),
        ("GPU", "GPU"),
        ("NPU", None),
        ("GPU.1", "GPU.1"),
        ("GPU.7", None),
        ("AUTO", "CPU"),
        ("AUTO:GPU.7,CPU", "CPU"),
        ("AUTO:-CPU", "CPU"),
        ("HETERO:GPU.1,CPU", "GPU.1"),
    ],
)
def test_the_first_device_that_is_here_is_compiled_for(monkeypatch, device, here):
    monkeypatch.setattr(compilation, "available_devices", lambda: ["CPU", "GPU.1"])
    assert compilation.device_here(device) == here


@pytest.mark.parametrize(
    ("blob", "isa"),
    [
        (b"RR_UPCVO....meta=1.0;ov=2026.4.1;isa=Intel AVX2 support\0\0", "Intel AVX2"),
        (b"a blob from before 2026.4", "any"),
    ],
)
def test_the_instruction_set_is_read_from_the_blob(blob, isa):
    assert compilation.isa(blob) == isa
