"""Our OpenVINO delegate against the wheel's and against a bare loop, in one run.

    ./bazelw run -c opt //tests/bench:openvino

Prints the time of a call and the time and memory of loading, with ratios. Timings decide
nothing; run it on a quiet machine.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
from backend_common import lower
from bare_blobs import bare_blobs
from openvino_backend import runtime
from torch import nn

REPEATS = 5  # processes a side, in turn
WEIGHTS_MB = 4 * 3536 * 3536 * 4 / 1e6  # 200


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 1)
        self.first = nn.Conv2d(16, 16, 3, 1, 1)
        self.second = nn.Conv2d(16, 16, 3, 1, 1)
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        x = torch.relu(x + self.second(torch.relu(self.first(x))))
        return self.head(x.mean((2, 3)))


class Large(nn.Module):
    """200 MB of float32 weights."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3536, 3536, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def write(folder: Path, name: str, module: nn.Module, example: torch.Tensor) -> None:
    """name.ir.pte, name.compiled.pte, name.stock.pte with the compiled model alone, name.blob."""
    for suffix, options in (("ir", {}), ("compiled", {"precompile": True})):
        lowered = lower(module.eval(), (example,), backend="openvino", options=options)
        lowered.save(folder / f"{name}.{suffix}.pte")
    with bare_blobs() as blobs:
        lower(module.eval(), (example,), backend="openvino").save(folder / f"{name}.stock.pte")
    if len(blobs) != 1:
        raise SystemExit(f"{name} was lowered to {len(blobs)} partitions; the loop runs one")
    (folder / f"{name}.blob").write_bytes(blobs[0])


@dataclass(frozen=True)
class Side:
    """A delegate, the OpenVINO library that it loads, the suffix of its programs; whether pages
    are given back after loading, and whether the side is for loading alone."""

    delegate: Path
    openvino: Path
    suffix: str
    give_back: bool = False
    loading_only: bool = False


def run(program: str, *arguments: str, openvino: Path, wheel: Path) -> dict[str, float] | str:
    """The program's JSON, or how it ended."""
    result = subprocess.run(
        [program, *arguments],
        env={
            **os.environ,
            "OPENVINO_LIB_PATH": str(openvino),
            "LD_LIBRARY_PATH": str(wheel.parent),
        },
        text=True,
        capture_output=True,
        check=False,
    )
    if result.returncode:
        return f"died with {result.returncode}: {result.stderr.strip()[-200:]}"
    return json.loads(result.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def median(results: list[dict[str, float]], key: str) -> float:
    return statistics.median(result[key] for result in results)


def call_overhead(program: str, folder: Path, sides: dict[str, Side], wheel: Path) -> None:
    print(f"\nTime of a call, µs: medians of {REPEATS} processes with 40 interleaved rounds each")
    print(
        f"{'model':14} {'delegate':15} {'bare loop':>10} {'delegate':>10} {'difference':>11} "
        f"{'ratio':>6}"
    )
    calling = {label: side for label, side in sides.items() if not side.loading_only}
    for name in ("linear_8x8", "small_resnet"):
        results: dict[str, list[dict[str, float]]] = {label: [] for label in calling}
        for _ in range(REPEATS):
            for label, side in calling.items():
                files = (str(folder / f"{name}{side.suffix}"), str(folder / f"{name}.blob"))
                arguments = (str(side.delegate), str(wheel), *files)
                result = run(program, *arguments, openvino=side.openvino, wheel=wheel)
                if isinstance(result, str):
                    raise SystemExit(f"{name}, {label}: {result}")
                results[label].append(result)
        for label, measured in results.items():
            raw, through = median(measured, "raw_us"), median(measured, "delegate_us")
            print(
                f"{name:14} {label:15} {raw:10.2f} {through:10.2f} {through - raw:11.2f} "
                f"{through / raw:6.3f}"
            )


def load_memory(program: str, folder: Path, sides: dict[str, Side], wheel: Path) -> None:
    print(f"\nLoading {WEIGHTS_MB:.0f} MB of weights and the first run: medians of {REPEATS}")
    print(
        f"{'delegate':22} {'mode':7} {'seconds':>8} {'anonymous MB':>13} {'× weights':>10} "
        f"{'file MB':>8} {'resident × weights':>19} {'freed in init':>14}"
    )
    for mode in ("mmap", "file", "buffer"):
        measured: dict[str, list[dict[str, float]]] = {label: [] for label in sides}
        died: dict[str, str] = {}
        for _ in range(REPEATS):
            for label, side in sides.items():
                path = str(folder / f"large{side.suffix}")
                arguments = (str(side.delegate), path, mode, str(int(side.give_back)))
                result = run(program, *arguments, openvino=side.openvino, wheel=wheel)
                if isinstance(result, str):
                    died[label] = result
                else:
                    measured[label].append(result)
        for label, results in measured.items():
            if label in died:
                print(f"{label:22} {mode:7} {died[label]}")
                continue
            anonymous, mapped = median(results, "anonymous_mb"), median(results, "file_mb")
            print(
                f"{label:22} {mode:7} {median(results, 'seconds'):8.3f} {anonymous:13.1f} "
                f"{anonymous / WEIGHTS_MB:10.3f} {mapped:8.1f} "
                f"{(anonymous + mapped) / WEIGHTS_MB:19.3f} "
                f"{int(median(results, 'freed_in_init')):14d}"
            )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--call-overhead", required=True)
    parser.add_argument("--load-memory", required=True)
    parser.add_argument("--float32-openvino", type=Path, required=True)
    parser.add_argument("--only", choices=("call", "load"))
    options = parser.parse_args()
    library = runtime.openvino_library()
    executorch = importlib.util.find_spec("executorch")
    if library is None or executorch is None or not executorch.submodule_search_locations:
        raise SystemExit("openvino and executorch must be installed")
    stock = Path(executorch.submodule_search_locations[0]) / "lib" / runtime.DELEGATE
    delegate = runtime.delegate_library()
    sides = {
        "stock": Side(stock, library, ".stock.pte"),
        "stock, float32": Side(stock, options.float32_openvino.absolute(), ".stock.pte"),
        "ours": Side(delegate, library, ".ir.pte"),
        "ours, compiled": Side(delegate, library, ".compiled.pte"),
        "ours, given back": Side(delegate, library, ".ir.pte", True, True),
        "ours, compiled, back": Side(delegate, library, ".compiled.pte", True, True),
    }
    print(f"OpenVINO: {library.name}; torch {torch.__version__}; {os.cpu_count()} CPUs")
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if options.only != "load":
            write(folder, "linear_8x8", nn.Linear(8, 8), torch.ones(1, 8))
            write(folder, "small_resnet", ResNet(), torch.ones(1, 3, 32, 32))
            call_overhead(options.call_overhead, folder, sides, library)
        if options.only != "call":
            write(folder, "large", Large(), torch.ones(1, 3536))
            load_memory(options.load_memory, folder, sides, library)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
