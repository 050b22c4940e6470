"""Finding and loading libraries, and what happens with input that is bad.

Each bad input is one clear error, and the process goes on: a good program runs after it.
"""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import backend_common
import pytest
import torch
from backend_common import ExecutionError, payload
from backend_common.program_events import events

from openvino_backend import runtime


def run(buffer, *inputs):
    return backend_common.load(buffer).forward(*inputs)


@pytest.fixture(autouse=True)
def the_process_goes_on(two_layers):
    yield
    (output,) = run(two_layers.lowered.buffer, *two_layers.inputs)
    torch.testing.assert_close(output, two_layers.expected(), rtol=1e-3, atol=1e-3)


def python(code, **variables):
    """A fresh interpreter with this one's path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def test_importing_the_package_imports_nothing_heavy():
    done = python(
        "import sys, openvino_backend;"
        "print([m for m in ('openvino', 'torch', 'nncf', 'executorch') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_the_partitioner_needs_no_nncf():
    done = python(
        "import sys; sys.modules['nncf'] = None; import openvino_backend.partitioner; print('ok')"
    )
    assert done.stdout.strip().endswith("ok"), done.stderr


def test_openvino_is_the_wheels():
    import openvino

    assert (Path(openvino.__file__).parent / "libs").is_dir()
    assert openvino.Core().available_devices


def test_the_library_is_found_without_importing_openvino():
    done = python(
        "import sys; from openvino_backend import runtime; print(runtime.openvino_library());"
        "print('openvino' in sys.modules)"
    )
    path, imported = done.stdout.split()
    assert Path(path).name.startswith("libopenvino_c.so.")
    assert imported == "False"


def test_a_library_that_the_user_names_is_not_overridden(monkeypatch):
    monkeypatch.setenv(runtime.LIBRARY_VARIABLE, "/named/by/user.so")
    runtime.name_openvino_library()
    assert os.environ[runtime.LIBRARY_VARIABLE] == "/named/by/user.so"


def test_loaded_first_our_delegate_is_the_one_that_runs():
    done = python(
        "from openvino_backend import runtime; runtime.load();"
        "from executorch.extension.pybindings import _C; print('ok')"
    )
    assert done.stdout.strip() == "ok", done.stderr


def test_loaded_too_late_it_says_so():
    done = python(
        "from executorch.extension.pybindings import _C\n"
        "from openvino_backend import runtime\n"
        "try: runtime.load()\n"
        "except runtime.DelegateError as error: print(error)\n"
    )
    assert "before importing executorch's Python bindings" in done.stdout, done.stderr


def test_a_missing_library_is_one_error_and_can_be_retried(two_layers, tmp_path):
    path, inputs = tmp_path / "model.pte", tmp_path / "inputs.pt"
    two_layers.lowered.save(path)
    torch.save(two_layers.inputs, inputs)
    done = python(
        "import os, torch, backend_common\n"
        "from openvino_backend import runtime\n"
        f"inputs = torch.load({str(inputs)!r})\n"
        f"try: backend_common.load({str(path)!r}).forward(*inputs)\n"
        "except backend_common.ExecutionError as error: print(error)\n"
        "os.environ['OPENVINO_LIB_PATH'] = str(runtime.openvino_library())\n"
        f"print(backend_common.load({str(path)!r}).forward(*inputs)[0].shape)\n",
        OPENVINO_LIB_PATH="/nowhere/libopenvino_c.so",
    )
    assert "/nowhere/libopenvino_c.so" in done.stdout, done.stdout + done.stderr
    assert "torch.Size([2, 4])" in done.stdout, done.stdout + done.stderr


def changed(program, change):
    """The program with a payload that is intact but for what `change` does to its sections."""
    start, old = program.payload()
    sections = {name: bytes(data) for name, data in payload.parse(old).items()}
    change(sections)
    new = payload.build([payload.Section(name, data) for name, data in sections.items()])
    assert len(new) == len(old), "the program's table of segments would no longer hold"
    return program.lowered.buffer[:start] + new + program.lowered.buffer[start + len(old) :]


def substitute(key, value):
    def change(sections):
        lines = dict(line.split("=", 1) for line in sections["target"].decode().splitlines())
        assert len(value) == len(lines[key])
        lines[key] = value
        sections["target"] = "".join(f"{k}={v}\n" for k, v in sorted(lines.items())).encode()

    return change


@pytest.fixture(scope="module")
def precompiled(two_layers):
    """The program with the model compiled beside its IR."""
    lowered = backend_common.lower(
        two_layers.module, two_layers.inputs, backend="openvino", options={"precompile": True}
    )
    return dataclasses.replace(two_layers, lowered=lowered)


@pytest.fixture
def of_another_version(precompiled):
    """(the program as if another version had made it, that version, ours)."""
    import openvino

    ours = openvino.__version__.split("-")[0]
    other = ours[:-1] + ("0" if ours[-1] != "0" else "1")
    return changed(precompiled, substitute("openvino", other)), other, ours


def test_a_program_of_another_version_is_compiled_from_its_ir(two_layers, of_another_version):
    (output,) = run(of_another_version[0], *two_layers.inputs)
    torch.testing.assert_close(output, two_layers.expected(), rtol=1e-3, atol=1e-3)


def test_another_version_is_named_with_ours(two_layers, of_another_version):
    program, other, ours = of_another_version
    with pytest.raises(ExecutionError, match=other.replace(".", r"\.")) as caught:
        backend_common.load(program, options={"compile": "never"}).forward(*two_layers.inputs)
    assert ours in str(caught.value)


OPTIONS = [
    {"compile": "auto"},
    {"compile": "always"},
    {"compile": "never"},
    {"device": "AUTO:CPU"},
    {"device": "HETERO:CPU"},
    {"threads": 1, "streams": 1},
    {"performance_hint": "throughput"},
    {"performance_hint": "cumulative_throughput", "compile": "always"},
    {"give_back": True},
    {"profile": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("mode", ["mmap", "file", "buffer"])
def test_options_change_no_result(precompiled, tmp_path, options, mode):
    path = tmp_path / "model.pte"
    precompiled.lowered.save(path)
    program = backend_common.load(path, mode=mode, options=options)
    for _ in range(3):
        (output,) = program.forward(*precompiled.inputs)
        torch.testing.assert_close(output, precompiled.expected(), rtol=1e-3, atol=1e-3)


def test_a_program_without_a_compiled_model_has_nothing_to_run_uncompiled(two_layers):
    with pytest.raises(ExecutionError, match="lowered without a compiled model"):
        backend_common.load(two_layers.lowered.buffer, options={"compile": "never"}).forward(
            *two_layers.inputs
        )


def test_what_is_compiled_at_load_is_kept_in_a_folder(two_layers, tmp_path):
    options = {"compile": "always", "cache_dir": str(tmp_path / "cache")}
    for _ in range(2):
        program = backend_common.load(two_layers.lowered.buffer, options=options)
        (output,) = program.forward(*two_layers.inputs)
        torch.testing.assert_close(output, two_layers.expected(), rtol=1e-3, atol=1e-3)
        program.close()
    assert list((tmp_path / "cache").iterdir())


@pytest.mark.parametrize(
    ("option", "accepted"),
    [
        ({"compile": "maybe"}, "auto .* always .* never"),
        ({"threads": 0}, "from 1 to 2147483647"),
        ({"performance_hint": "speed"}, "latency, throughput"),
        ({"give_back": "yes"}, "true or false"),
        ({"colour": "red"}, "cache_dir, compile, device"),
    ],
    ids=str,
)
def test_an_option_that_is_wrong_is_refused_with_what_is_accepted(two_layers, option, accepted):
    with pytest.raises(ExecutionError, match=accepted):
        backend_common.load(two_layers.lowered.buffer, options=option).forward(*two_layers.inputs)


def test_calls_and_layers_are_events(two_layers):
    program = backend_common.load(two_layers.lowered.buffer, options={"profile": True}, etdump=True)
    for _ in range(2):
        program.forward(*two_layers.inputs)
    recorded = [event for event in events(program.etdump()) if event.is_delegates]
    assert sum(event.name == "OpenVINO" for event in recorded) == 2
    layers = [event.metadata for event in recorded if event.name != "OpenVINO"]
    assert sum("type=FullyConnected exec=" in metadata for metadata in layers) == 4, layers


def test_without_the_option_calls_alone_are_events(two_layers):
    program = backend_common.load(two_layers.lowered.buffer, etdump=True)
    program.forward(*two_layers.inputs)
    recorded = [event.name for event in events(program.etdump()) if event.is_delegates]
    assert recorded == ["OpenVINO"]


def test_an_unknown_device_is_named(two_layers):
    with pytest.raises(ExecutionError, match="XPU"):
        backend_common.load(two_layers.lowered.buffer, options={"device": "XPU"}).forward(
            *two_layers.inputs
        )


@pytest.mark.parametrize("where", ["header", "table", "target", "middle", "tail"])
def test_a_changed_byte_is_found(two_layers, where):
    start, old = two_layers.payload()
    at = {
        "header": 9,
        "table": 100,
        "target": 64 + 3 * 80 + 30,
        "middle": len(old) // 2,
        "tail": len(old) - 1,
    }[where]
    broken = bytearray(two_layers.lowered.buffer)
    broken[start + at] ^= 0x40
    with pytest.raises(ExecutionError, match=r"payload|SHA-256|version"):
        run(bytes(broken), *two_layers.inputs)


@pytest.mark.parametrize("part", [0.3, 0.7, 0.99])
def test_a_truncated_program_is_one_error(two_layers, part):
    buffer = two_layers.lowered.buffer
    with pytest.raises(ExecutionError):
        run(buffer[: int(len(buffer) * part)], *two_layers.inputs)


def test_too_few_inputs(two_layers):
    with pytest.raises(ExecutionError, match=r"0.*1|1.*0"):
        run(two_layers.lowered.buffer)


def test_too_many_inputs(two_layers):
    with pytest.raises(ExecutionError, match=r"2.*1|1.*2"):
        run(two_layers.lowered.buffer, *two_layers.inputs, torch.ones(1))


def test_another_dtype(two_layers):
    with pytest.raises(ExecutionError, match=r"(?i)float64|double|dtype|type"):
        run(two_layers.lowered.buffer, two_layers.inputs[0].double())


@pytest.mark.parametrize("shape", [(3, 8), (2, 7), (16,), (1, 2, 8)])
def test_another_shape(two_layers, shape):
    with pytest.raises(ExecutionError):
        run(two_layers.lowered.buffer, torch.ones(shape))
