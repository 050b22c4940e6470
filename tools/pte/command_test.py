"""The command as a user types it: exit codes, texts, files."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from pte import command

MODEL = """
import torch
from torch import nn
import pte


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return torch.relu(self.linear(x))


def make():
    torch.manual_seed(0)
    return Scale().eval(), (torch.randn(2, 4),)


def dynamic():
    module, inputs = make()
    return module, inputs, ({0: torch.export.Dim("rows", min=2, max=8)},)


def other():
    torch.manual_seed(1)
    return Scale().eval(), (torch.randn(2, 4),)


def methods():
    module, inputs = make()
    return {"forward": pte.Method(module, inputs), "twice": pte.Method(module, inputs)}


class NoKernel(nn.Module):
    def forward(self, x):
        return torch.digamma(x), torch.erfinv(x)


def refused():
    return NoKernel(), (torch.randn(2, 4),)


def wrong():
    return 3


def raises():
    raise ValueError("no such robot")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with model.py, and model.pte lowered from it with OpenVINO."""
    folder = tmp_path_factory.mktemp("command")
    (folder / "model.py").write_text(MODEL)
    assert run(folder, "lower", "model.py:make", "--backend", "openvino", "-o", "model.pte")[0] == 0
    return folder


def run(folder, *arguments):
    """(exit code, stdout, stderr), as if the user stood in the folder."""
    before, out, err = Path.cwd(), io.StringIO(), io.StringIO()
    os.environ["BUILD_WORKING_DIRECTORY"] = str(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command.main(list(arguments))
    finally:
        os.chdir(before)
        del os.environ["BUILD_WORKING_DIRECTORY"]
    return code, out.getvalue(), err.getvalue()


def test_lower_writes_where_the_user_stands_and_says_what_it_did(folder):
    code, out, err = run(
        folder,
        "lower",
        "model.py:make",
        "--backend",
        "openvino",
        "-o",
        "out.pte",
        "--report",
        "report.json",
    )
    assert code == 0
    assert (folder / "out.pte").read_bytes()[4:6] == b"ET"
    assert "out.pte" in out and "operators" in out
    assert "pte: export" in err  # plain lines where there is no terminal
    rows = json.loads((folder / "report.json").read_text())
    linear = next(row for row in rows if row["operator"] == "aten.addmm.default")
    assert linear["delegated"] and linear["backend"] == "openvino"
    assert linear["source"].startswith("model.py:13  return torch.relu(self.linear(x))")


def test_run_compares_with_eager(folder):
    code, out, _ = run(folder, "run", "model.pte", "--compare", "model.py:make")
    assert code == 0
    assert "output 0: float32 [2, 3], max abs error" in out and "equal" in out


@pytest.mark.parametrize("mode", command.MODES)
def test_every_load_mode(folder, mode):
    code, _, err = run(
        folder, "run", "model.pte", "--compare", "model.py:make", "--load-mode", mode
    )
    if mode == "mmap-mlock" and code == 1:
        assert "limit on locked memory" in err
        print(err)
        return
    assert code == 0, err


def test_run_with_another_model_differs(folder):
    code, out, err = run(folder, "run", "model.pte", "--compare", "model.py:other")
    assert code == 1
    assert "DIFFERENT" in out and "1 of 1 outputs differ" in err


def test_a_dynamic_program_runs_on_another_size(folder):
    assert run(folder, "lower", "model.py:dynamic", "--backend", "openvino", "-o", "d.pte")[0] == 0
    torch.save((torch.ones(7, 4),), folder / "seven.pt")
    code, out, _ = run(
        folder, "run", "d.pte", "--compare", "model.py:dynamic", "--inputs", "seven.pt"
    )
    assert code == 0 and "float32 [7, 3]" in out


def test_run_without_a_model_uses_the_same_random_inputs(folder):
    code, out, _ = run(folder, "run", "model.pte", "--repeat", "3")
    assert code == 0
    assert "3 runs, median" in out and "output 0: float32 [2, 3]" in out


def test_several_methods(folder):
    assert run(folder, "lower", "model.py:methods", "--backend", "openvino", "-o", "m.pte")[0] == 0
    code, out, err = run(
        folder, "run", "m.pte", "--method", "twice", "--compare", "model.py:methods"
    )
    assert code == 0 and "equal" in out
    code, _, err = run(folder, "run", "m.pte", "--method", "thrice")
    assert code == 2 and "it has: forward, twice" in err


def test_a_pt2_is_a_model(folder):
    module, inputs = torch.nn.Linear(4, 3), (torch.randn(2, 4),)
    torch.export.save(torch.export.export(module, inputs), folder / "linear.pt2")
    assert run(folder, "lower", "linear.pt2", "--backend", "portable", "-o", "p.pte")[0] == 0
    code, out, _ = run(folder, "run", "p.pte", "--compare", "linear.pt2")
    assert code == 0 and "equal" in out


def test_inspect_shows_methods_payloads_and_target(folder):
    code, out, _ = run(folder, "inspect", "model.pte")
    assert code == 0
    for text in (
        "method forward",
        "input 0: float32 [2, 4]",
        "output 0: float32 [2, 3]",
        "OpenvinoBackend",
        "envelope version 1",
        "device CPU",
        "section ir",
        "weights: ",
        "SHA-256 right",
        "outside of delegates: nothing",
    ):
        assert text in out
    code, out, _ = run(folder, "inspect", "model.pte", "--json")
    described = json.loads(out)
    assert code == 0
    assert described["methods"][0]["delegates"] == ["OpenvinoBackend"]
    assert described["payloads"][0]["target"]["backend"] == "openvino"
    assert described["payloads"][0]["inputs"] == [
        {"dtype": "float32", "bounds": [[2, 2], [4, 4]], "dim_order": [0, 1]}
    ]
    assert described["payloads"][0]["weights"]["size"] > 0
    assert described["payloads"][0]["blob"] == {}


def test_a_precompiled_program_says_so(folder):
    arguments = ("--backend", "openvino", "--option", "precompile=true", "-o", "c.pte")
    assert run(folder, "lower", "model.py:make", *arguments)[0] == 0
    code, out, _ = run(folder, "inspect", "c.pte")
    assert code == 0 and "blob_device CPU" in out and "compiled: " in out


def test_weights_outside_are_checked_with_the_program(folder):
    arguments = ("--backend", "openvino", "--option", "external_weights=true", "-o", "e.pte")
    assert run(folder, "lower", "model.py:make", *arguments)[0] == 0
    code, _, err = run(folder, "inspect", "e.pte")
    assert code == 1 and "--data" in err
    assert run(folder, "inspect", "e.pte", "--data", "e.ptd")[0] == 0
    assert run(folder, "run", "e.pte", "--data", "e.ptd", "--compare", "model.py:make")[0] == 0


def test_a_flip_in_the_weights_is_found(folder):
    described = json.loads(run(folder, "inspect", "model.pte", "--json")[1])
    data = bytearray((folder / "model.pte").read_bytes())
    data[-described["payloads"][0]["weights"]["size"] + 3] ^= 1
    (folder / "flipped.pte").write_bytes(data)
    code, _, err = run(folder, "run", "flipped.pte")
    assert code == 1 and "weights have SHA-256" in err, err


def test_a_flip_in_compiled_code_is_found(folder):
    arguments = ("--backend", "aoti-cpu", "-o", "a.pte")
    assert run(folder, "lower", "model.py:make", *arguments)[0] == 0
    code, out, _ = run(folder, "inspect", "a.pte")
    assert code == 0 and "code: " in out
    data = bytearray((folder / "a.pte").read_bytes())
    data[data.index(b"\x7fELF") + 2000] ^= 1
    (folder / "flipped.pte").write_bytes(data)
    code, _, err = run(folder, "inspect", "flipped.pte")
    assert code == 1 and "code has SHA-256" in err, err


def test_inspect_shows_bounds(folder):
    assert run(folder, "lower", "model.py:dynamic", "--backend", "openvino", "-o", "b.pte")[0] == 0
    code, out, _ = run(folder, "inspect", "b.pte")
    assert (
        code == 0 and "input 0: float32 [2..8, 4]" in out and "output 0: float32 [2..8, 3]" in out
    )


def test_inspect_counts_what_runs_outside_of_delegates(folder):
    arguments = ("--backend", "openvino", "--keep", "aten.relu.default", "-o", "k.pte")
    assert run(folder, "lower", "model.py:make", *arguments)[0] == 0
    code, out, _ = run(folder, "inspect", "k.pte")
    assert code == 0 and "delegates: OpenvinoBackend" in out
    assert "outside of delegates: aten::relu.out ×1" in out


@pytest.mark.parametrize("command_name", ["inspect", "run"])
def test_a_damaged_payload_is_named_before_it_is_used(folder, command_name):
    data = bytearray((folder / "model.pte").read_bytes())
    start = data.find(b"\x89ETB\r\n\x1a\n")
    data[start + 700] ^= 1
    (folder / "damaged.pte").write_bytes(data)
    code, _, err = run(folder, command_name, "damaged.pte")
    assert code == 1 and f"the payload at byte {start}" in err and "SHA-256" in err


@pytest.mark.parametrize("size", [0, 3, 100, 5000])
def test_a_truncated_program_is_an_error(folder, size):
    (folder / "short.pte").write_bytes((folder / "model.pte").read_bytes()[:size])
    code, _, err = run(folder, "run", "short.pte")
    assert code in (1, 2) and err.strip() and "internal error" not in err, err


def test_a_refusal_lists_every_operator_with_its_line(folder):
    code, out, _ = run(folder, "lower", "model.py:refused", "--backend", "portable", "-o", "r.pte")
    assert code == 1
    assert not (folder / "r.pte").exists()
    for operator in ("aten.digamma.default", "aten.erfinv.default"):
        (line,) = (line for line in out.splitlines() if operator in line)
        assert "model.py:38" in line and "no registered kernel" in line


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("lower nofile.py:make --backend portable -o x.pte", "no file 'nofile.py'"),
        ("lower model.py:nope --backend portable -o x.pte", "it has: dynamic, make"),
        ("lower model.py:wrong --backend portable -o x.pte", "returned a int"),
        ("lower model.py:raises --backend portable -o x.pte", "no such robot"),
        ("lower model --backend portable -o x.pte", "file.py:function"),
        ("lower model.py:make --backend opnvino -o x.pte", "openvino, portable"),
        ("lower model.py:make --backend portable -o no/x.pte", "no folder 'no'"),
        ("lower model.py:make --backend portable -o x.pte --option a", "key=value"),
        ("lower model.py:make --backend openvino -o x.pte --option nan=no", "exact or fast"),
        ("lower model.py:make --backend portable", "--output"),
        ("lower nofile.pt2 --backend portable -o x.pte", "no file 'nofile.pt2'"),
        ("run nofile.pte", "no file 'nofile.pte'"),
        ("run model.py", "is no .pte"),
        ("run model.pte --compare nofile.py:make", "no file 'nofile.py'"),
        ("run model.pte --data no.ptd", "no file 'no.ptd'"),
        ("run model.pte --inputs nofile.pt", "no file 'nofile.pt'"),
        ("run model.pte --inputs model.py", "not a file of tensors"),
        ("run model.pte --load-mode mapped", "mmap-mlock"),
        ("run model.pte --repeat 0", "repeat"),
        ("inspect", "PROGRAM"),
        ("explode", "explode"),
        ("", "Commands"),
    ],
)
def test_wrong_usage_is_said_in_one_sentence(folder, arguments, text):
    code, out, err = run(folder, *arguments.split())
    assert code == 2
    assert text in err + out
    assert "Traceback" not in err


def test_unknown_options_are_refused_by_name(folder):
    code, _, err = run(
        folder,
        "lower",
        "model.py:make",
        "--backend",
        "openvino",
        "-o",
        "x.pte",
        "--option",
        "colour=red",
    )
    assert code == 2 and "'colour'" in err and "device" in err
    code, _, err = run(folder, "run", "model.pte", "--option", "colour=red")
    assert code == 1 and "'colour'" in err and "device" in err


def test_an_error_of_ours_is_said_to_be_one(folder, monkeypatch):
    monkeypatch.setattr(command, "_summarise", lambda *_: 1 / 0)
    arguments = ("lower", "model.py:make", "--backend", "portable", "-o", "x.pte")
    code, _, err = run(folder, *arguments)
    assert code == 3 and "internal error: ZeroDivisionError" in err and "Traceback" not in err
    code, _, err = run(folder, "--traceback", *arguments)
    assert code == 3 and "Traceback" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["lower", "--help"],
        ["explode"],
        ["lower", "nofile.py:make", "--backend", "portable", "-o", "x.pte"],
        ["lower", __file__ + ":make", "--backend", "nobackend", "-o", "x.pte"],
        ["run", "nofile.pte"],
        ["inspect", __file__],
    ],
)
def test_help_and_wrong_usage_import_neither_torch_nor_a_backend(arguments):
    check = (
        f"import sys; from pte.command import main; print(main({arguments!r})); "
        "sys.exit('torch' in sys.modules or 'openvino' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", check],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == ("0" if "--help" in arguments else "2")
