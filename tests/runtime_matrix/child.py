"""One child of the runtime matrix, for one version of OpenVINO.

    child.py lower FOLDER    lowers every model into FOLDER: program, inputs, eager's outputs
    child.py run FOLDER      loads each in every mode, runs it twice; a JSON line for each

A `raw` program holds OpenVINO's blob alone, as stock ExecuTorch writes it.
"""

import json
import sys
from pathlib import Path

import models
import torch

MODES = ("bytes", "file", "mmap", "mmap-mlock", "mmap-mlock-ignore", "mmap-madvise", "buffer")


def lower(folder: Path) -> None:
    from backend_common import lower as lower_model

    for name in models.NAMES:
        module, inputs, dynamic_shapes, also = models.make(name)
        for raw in (False, True):
            with raw_blobs(raw):
                lowered = lower_model(
                    module, inputs, backend="openvino", dynamic_shapes=dynamic_shapes
                )
            assert any(row.delegated for row in lowered.report), name
            lowered.save(folder / f"{name}{'_raw' if raw else ''}.pte")
        calls = [inputs, *also]
        with torch.no_grad():
            torch.save([(call, module(*call)) for call in calls], folder / f"{name}.pt")


class raw_blobs:
    """While active, payloads are OpenVINO's blobs alone."""

    def __init__(self, active: bool) -> None:
        self.active = active

    def __enter__(self) -> None:
        from backend_common import payload
        from openvino_backend import preprocess

        self.original = preprocess.payload
        if self.active:
            preprocess.payload = lambda *arguments: bytes(
                payload.parse(self.original(*arguments))["blob"]
            )

    def __exit__(self, *_: object) -> None:
        from openvino_backend import preprocess

        preprocess.payload = self.original


def run(folder: Path) -> None:
    from backend_common import ExecutionError, load

    for name in models.NAMES:
        calls = torch.load(folder / f"{name}.pt")
        for program in (name, f"{name}_raw"):
            path = folder / f"{program}.pte"
            for mode in MODES:
                print(
                    json.dumps({"program": program, "mode": mode, "state": "started"}), flush=True
                )
                source = path.read_bytes() if mode == "bytes" else path
                try:
                    loaded = load(source, mode="mmap" if mode == "bytes" else mode)
                    del source
                    worst = 0.0
                    for inputs, expected in (*calls, *calls):
                        (output,) = loaded.forward(*inputs)
                        assert output.shape == expected.shape, (output.shape, expected.shape)
                        worst = max(worst, (output - expected).abs().max().item())
                    state = {"state": "done", "error": worst}
                except ExecutionError as error:
                    state = {"state": "refused", "text": str(error)}
                print(json.dumps({"program": program, "mode": mode, **state}), flush=True)


if __name__ == "__main__":
    {"lower": lower, "run": run}[sys.argv[1]](Path(sys.argv[2]))
