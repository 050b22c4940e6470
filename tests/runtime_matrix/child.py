"""One child of the runtime matrix, for one version of OpenVINO.

    child.py lower FOLDER    lowers every model into FOLDER: programs, inputs, eager's outputs
    child.py run FOLDER KIND...      loads each in every mode, runs it twice; a JSON line for each

KINDS of programs: `ir`, `compiled`, which holds the compiled model, too, and `bare`, which holds
that alone, as stock ExecuTorch writes it.
"""

import contextlib
import json
import sys
from pathlib import Path

import backend_common
import models
import torch
from bare_blobs import bare_blobs

MODES = ("bytes", "file", "mmap", "mmap-mlock", "mmap-mlock-ignore", "mmap-madvise", "buffer")


KINDS = ("ir", "compiled", "bare")


def lower(folder: Path) -> None:
    for name in models.NAMES:
        module, inputs, dynamic_shapes, also = models.make(name)
        for kind in KINDS:
            options = {"precompile": True} if kind == "compiled" else {}
            with bare_blobs() if kind == "bare" else contextlib.nullcontext():
                lowered = backend_common.lower(
                    *(module, inputs),
                    backend="openvino",
                    dynamic_shapes=dynamic_shapes,
                    options=options,
                )
            assert any(row.delegated for row in lowered.report), name
            lowered.save(folder / f"{name}.{kind}.pte")
        calls = [inputs, *also]
        with torch.no_grad():
            torch.save([(call, module(*call)) for call in calls], folder / f"{name}.pt")


def run(folder: Path, *kinds: str) -> None:
    for name in models.NAMES:
        calls = torch.load(folder / f"{name}.pt")
        for program in (f"{name}.{kind}" for kind in kinds):
            path = folder / f"{program}.pte"
            for mode in MODES:
                print(
                    json.dumps({"program": program, "mode": mode, "state": "started"}), flush=True
                )
                source = path.read_bytes() if mode == "bytes" else path
                try:
                    loaded = backend_common.load(source, mode="mmap" if mode == "bytes" else mode)
                    del source
                    worst = 0.0
                    for inputs, expected in (*calls, *calls):
                        (output,) = loaded.forward(*inputs)
                        assert output.shape == expected.shape, (output.shape, expected.shape)
                        worst = max(worst, (output - expected).abs().max().item())
                    state = {"state": "done", "error": worst}
                except backend_common.ExecutionError as error:
                    state = {"state": "refused", "text": str(error)}
                print(json.dumps({"program": program, "mode": mode, **state}), flush=True)


if __name__ == "__main__":
    {"lower": lower, "run": run}[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
