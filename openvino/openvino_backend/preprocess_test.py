"""The payload: its sections, and that equal programs give equal bytes."""

import os
import struct
import subprocess
import sys

import torch
from backend_common import payload

from openvino_backend import conversion, preprocess
from openvino_backend.conftest import lower
from openvino_backend.conversion import Value


def sections(program):
    return {name: bytes(data) for name, data in payload.parse(program.payload()[1]).items()}


def test_the_target_names_what_a_runtime_must_match(two_layers):
    import openvino

    lines = sections(two_layers)["target"].decode().splitlines()
    assert lines == sorted(lines)
    target = dict(line.split("=", 1) for line in lines)
    assert target["backend"] == "openvino"
    assert target["device"] == "CPU"
    assert openvino.__version__.startswith(target["openvino"])
    assert target["isa"]


def test_the_table_of_inputs_and_outputs(two_layers):
    table = sections(two_layers)["io"]
    assert table == (
        struct.pack("<III", 1, 1, 1)
        + struct.pack("<IIII4q", 6, 2, 0, 0, 2, 2, 8, 8)
        + struct.pack("<IIII4q", 6, 2, 0, 0, 2, 2, 4, 4)
    )


def test_a_dynamic_dimension_has_bounds():
    rows = torch.export.Dim("rows", min=2, max=16)
    lowered = lower(torch.nn.Linear(8, 4), torch.ones(3, 8), dynamic_shapes=({0: rows},))
    start = lowered.buffer.index(payload.MAGIC)
    size = int.from_bytes(lowered.buffer[start + 24 : start + 32], "little")
    table = bytes(payload.parse(lowered.buffer[start : start + size])["io"])
    assert table[12:60] == struct.pack("<IIII4q", 6, 2, 1, 0, 2, 16, 8, 8)


def test_a_symbolic_integer_is_no_tensor():
    table = preprocess.io_section([Value(None, ())], [])
    assert table == struct.pack("<III4I", 1, 1, 0, 255, 0, 0, 0)


def test_the_same_model_gives_the_same_bytes_in_two_processes(two_layers, tmp_path):
    """Within one process they differ: OpenVINO numbers the nodes of all its models in one row."""
    code = (
        "import hashlib, torch\n"
        "from openvino_backend.conftest import TwoLayers, lower\n"
        "torch.manual_seed(0)\n"
        "lowered = lower(TwoLayers(), torch.ones(2, 8))\n"
        "print(hashlib.sha256(lowered.buffer).hexdigest())\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, check=True
        ).stdout.split()[-1]
        for _ in range(2)
    }
    assert len(found) == 1


def test_versions_are_cut_before_the_build_number():
    assert conversion.version("2026.4.1-22063-9e3ffe1adae-releases/2026/4") == "2026.4.1"
    assert conversion.version("2025.1.0") == "2025.1.0"
