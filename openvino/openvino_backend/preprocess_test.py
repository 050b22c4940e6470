"""The payload: its sections, and that equal programs give equal bytes."""

import os
import struct
import subprocess
import sys
import warnings

import backend_common
import pytest
import torch

from openvino_backend import preprocess
from openvino_backend.conftest import lower, sections_of

PRECOMPILED = {"precompile": True}


def test_the_target_names_what_a_runtime_must_match(two_layers):
    import openvino

    lines = sections_of(two_layers.lowered.buffer)["target"].decode().splitlines()
    assert lines == sorted(lines)
    target = dict(line.split("=", 1) for line in lines)
    assert target["backend"] == "openvino"
    assert target["device"] == "CPU"
    assert openvino.__version__.startswith(target["openvino"])


def test_the_table_of_inputs_and_outputs(two_layers):
    table = sections_of(two_layers.lowered.buffer)["io"]
    assert table == (
        struct.pack("<III", 2, 1, 1)
        + struct.pack("<IIII4qII", 6, 2, 0, 0, 2, 2, 8, 8, 0, 1)
        + struct.pack("<IIII4qII", 6, 2, 0, 0, 2, 2, 4, 4, 0, 1)
    )


def test_a_dynamic_dimension_has_bounds():
    rows = torch.export.Dim("rows", min=2, max=16)
    lowered = lower(torch.nn.Linear(8, 4), torch.ones(3, 8), dynamic_shapes=({0: rows},))
    table = sections_of(lowered.buffer)["io"]
    assert table[12:68] == struct.pack("<IIII4qII", 6, 2, 1, 0, 2, 16, 8, 8, 0, 1)


class Layer(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return torch.relu(self.layer(x))


def test_methods_share_their_weights():
    layer = torch.nn.Linear(256, 256)
    example = {
        name: backend_common.Method(Layer(layer).eval(), (torch.ones(rows, 256),))
        for name, rows in (("prefill", 8), ("decode", 1))
    }
    program = backend_common.lower(example, backend="openvino").buffer
    assert program.count(layer.weight.detach().numpy().tobytes()) == 1
    loaded = backend_common.load(program)
    for name, method in example.items():
        (output,) = loaded.method(name)(*method.inputs)
        torch.testing.assert_close(output, method.module(*method.inputs), rtol=1e-3, atol=1e-3)


def test_weights_can_stay_outside(tmp_path):
    layer = torch.nn.Linear(256, 256)
    lowered = lower(layer, torch.ones(2, 256), options={"external_weights": True})
    weights = layer.weight.detach().numpy().tobytes()
    assert weights not in lowered.buffer and weights in lowered.data
    lowered.save(tmp_path / "layer.pte")
    program = backend_common.load(tmp_path / "layer.pte", data=tmp_path / "layer.ptd")
    (output,) = program.forward(torch.ones(2, 256))
    torch.testing.assert_close(output, layer(torch.ones(2, 256)), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("device", ["GPU.7", "NPU", "AUTO:GPU,CPU", "HETERO:NPU,CPU"])
def test_a_device_need_not_be_there(device):
    lowered = lower(torch.nn.Linear(8, 4), torch.ones(2, 8), options={"device": device})
    sections = sections_of(lowered.buffer)
    assert f"device={device}\n" in sections["target"].decode()
    assert b"<net name=" in sections["ir"] and "blob" not in sections


def test_precompiling_needs_the_device():
    with pytest.raises(backend_common.LoweringError, match=r"'GPU.7' itself.*has CPU"):
        options = {"device": "GPU.7", "precompile": True}
        lower(torch.nn.Linear(8, 4), torch.ones(2, 8), options=options)


class HalfWidthTables(torch.nn.Module):
    """RoPE as Gemma writes it: OpenVINO's blob forgets how wide the tables are."""

    def forward(self, x, cos, sin):
        first, second = x.chunk(2, -1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def test_a_compiled_model_that_computes_otherwise_when_read_back_is_not_kept():
    torch.manual_seed(0)
    inputs = (torch.randn(1, 4, 6, 8), torch.randn(1, 1, 6, 4), torch.randn(1, 1, 6, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", preprocess.PrecompileWarning)
        lowered = lower(HalfWidthTables(), *inputs, options={"precompile": True})
    (output,) = backend_common.load(lowered.buffer).forward(*inputs)
    torch.testing.assert_close(output, HalfWidthTables()(*inputs), rtol=1e-4, atol=1e-4)


def test_a_compiled_model_is_kept_beside_its_ir(two_layers):
    sections = sections_of(lower(two_layers.module, *two_layers.inputs, options=PRECOMPILED).buffer)
    assert {"ir", "weights", "blob", "code"} <= set(sections)
    target = dict(line.split("=", 1) for line in sections["target"].decode().splitlines())
    assert target["blob_device"] == "CPU" and target["isa"]


def test_without_precompiling_equal_models_give_equal_bytes(two_layers):
    module, inputs = two_layers.module, two_layers.inputs
    first = lower(module, *inputs).buffer
    assert lower(module, *inputs).buffer == first


def test_the_same_model_gives_the_same_bytes_in_two_processes(two_layers, tmp_path):
    """The compiled model, too; within one process OpenVINO writes it with different bytes."""
    code = (
        "import hashlib, torch\n"
        "from openvino_backend.conftest import TwoLayers, lower\n"
        "torch.manual_seed(0)\n"
        "lowered = lower(TwoLayers(), torch.ones(2, 8), options={'precompile': True})\n"
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
