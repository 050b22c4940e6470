"""The same matrix on the wheel's own delegate, to show what it does; not a test.

    ./bazelw run //tests/runtime_matrix:stock

Prints one line per mode and model: right, how far off, or how the child died. On a CPU with
bfloat16 instructions 1e-2 is how stock computes float32; what is larger was read from freed
memory.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import child
import models
import torch

RUN = """
import sys, torch
from executorch.extension.pybindings import _C
path, calls, mode = sys.argv[1:]
if mode == "bytes":
    data = open(path, "rb").read()
    module = _C._load_for_executorch_from_buffer(data)
else:
    module = _C._load_for_executorch(path)
for inputs, expected in torch.load(calls):
    output = module.forward(inputs)[0]
    if output.shape != expected.shape:
        print("shape", list(output.shape), "for", list(expected.shape))
    else:
        worst = (output - expected).abs().max().item()
        print("right" if worst <= 1e-3 else f"off by {worst:.1e}")
"""


def main() -> None:
    import importlib.util
    import os

    library = next(
        Path(importlib.util.find_spec("openvino").origin).parent.glob("libs/libopenvino_c.so.*")
    )
    with tempfile.TemporaryDirectory() as folder:
        child.lower(Path(folder))
        for name in models.NAMES:
            assert torch.load(Path(folder) / f"{name}.pt")
            for mode in ("bytes", "file"):
                for poison in ("0", "165"):
                    result = subprocess.run(
                        [
                            sys.executable,
                            "-c",
                            RUN,
                            f"{folder}/{name}.bare.pte",
                            f"{folder}/{name}.pt",
                            mode,
                        ],
                        env={
                            **os.environ,
                            "PYTHONPATH": os.pathsep.join(sys.path),
                            "OPENVINO_LIB_PATH": str(library),
                            "MALLOC_PERTURB_": poison,
                        },
                        text=True,
                        capture_output=True,
                        check=False,
                    )
                    said = ", ".join(result.stdout.splitlines()) or "nothing"
                    ending = "" if result.returncode == 0 else f", died with {result.returncode}"
                    if result.returncode > 0:
                        ending += ": " + result.stderr.strip().splitlines()[-1][:150]
                    print(
                        f"{name:14} {mode:6} MALLOC_PERTURB_={poison:3} {said}{ending}", flush=True
                    )


if __name__ == "__main__":
    main()
