"""aoti-cpu against eager, torch's own AOTI package, and XNNPACK and portable programs, in one run.

    ./bazelw run -c opt //tests/bench:aoti

Prints the time of a call with one and with two threads, the time of lowering and the size of what
it makes. Each measurement has a process of its own, in turn. Timings decide nothing; run it on a
quiet machine.
"""

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

REPEATS = 5  # processes a side
CALLS = 5  # rounds in a process, of which the median counts
SECONDS = 0.2  # a round
LONGEST = 2.0  # seconds of a call, or of several, after which no further round is begun


def mlp() -> tuple[nn.Module, tuple[Any, ...]]:
    widths = (512, 2048, 2048, 512)
    layers = [
        layer
        for before, after in itertools.pairwise(widths)
        for layer in (nn.Linear(before, after), nn.ReLU())
    ]
    return nn.Sequential(*layers[:-1]), (torch.randn(8, 512),)


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.block = nn.Sequential(
            *(nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()),
            *(nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.block(x))


class ConvNet(nn.Module):
    """A stem, residual blocks and a depthwise separable one, of 64 x 64 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), Residual(32), Residual(32)),
            *(nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Conv2d(32, 64, 1), nn.ReLU()),
        )
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).mean((2, 3)))


def convolutions() -> tuple[nn.Module, tuple[Any, ...]]:
    return ConvNet(), (torch.randn(1, 3, 64, 64),)


def transformer() -> tuple[nn.Module, tuple[Any, ...]]:
    layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), (torch.randn(1, 128, 256),)


def recurrent() -> tuple[nn.Module, tuple[Any, ...]]:
    return nn.GRU(64, 128, batch_first=True), (torch.randn(1, 16, 64),)


MODELS = {"mlp": mlp, "conv net": convolutions, "transformer": transformer, "gru": recurrent}

Call = Callable[[], Any]


def model(name: str) -> tuple[nn.Module, tuple[Any, ...]]:
    torch.manual_seed(0)
    module, inputs = MODELS[name]()
    return module.eval(), inputs


def exported(name: str) -> torch.export.ExportedProgram:
    return torch.export.export(*model(name))


def make_ours(name: str, path: Path) -> None:
    import backend_common

    module, inputs = model(name)
    backend_common.lower(module, inputs, backend="aoti-cpu").save(path)


def make_package(name: str, path: Path) -> None:
    torch._inductor.aoti_compile_and_package(exported(name), package_path=str(path))


def make_xnnpack(name: str, path: Path) -> None:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    edge = to_edge_transform_and_lower(exported(name), partitioner=[XnnpackPartitioner()])
    path.write_bytes(edge.to_executorch().buffer)


def make_portable(name: str, path: Path) -> None:
    from executorch.exir import to_edge

    path.write_bytes(to_edge(exported(name)).to_executorch().buffer)


def make_nothing(name: str, path: Path) -> None:
    path.write_bytes(b"")


def open_ours(name: str, path: Path) -> Call:
    import backend_common

    method, (_, inputs) = backend_common.load(path).method("forward"), model(name)
    return lambda: method(*inputs)


def open_package(name: str, path: Path) -> Call:
    loaded, (_, inputs) = torch._inductor.aoti_load_package(str(path)), model(name)
    return lambda: loaded(*inputs)


def open_stock(name: str, path: Path) -> Call:
    from executorch.extension.pybindings import portable_lib

    portable_lib._unsafe_reset_threadpool(torch.get_num_threads())
    program, (_, inputs) = portable_lib._load_for_executorch(str(path)), model(name)
    return lambda: program.forward(inputs)


def open_eager(name: str, path: Path) -> Call:
    module, inputs = model(name)
    return lambda: module(*inputs)


SIDES = {
    "eager": (make_nothing, open_eager),
    "AOTI package": (make_package, open_package),
    "XNNPACK": (make_xnnpack, open_stock),
    "portable": (make_portable, open_stock),
    "ours": (make_ours, open_ours),
}


def make(side: str, name: str, path: Path) -> None:
    """In a child: prints the seconds of lowering, after the imports, and the size in bytes."""
    SIDES[side][0]("gru" if name != "gru" else "mlp", path)  # imports, caches and headers
    start = time.perf_counter()
    with torch.no_grad():
        SIDES[side][0](name, path)
    print(json.dumps({"seconds": time.perf_counter() - start, "bytes": path.stat().st_size}))


def call(side: str, name: str, path: Path) -> None:
    """In a child: prints the microseconds of a call."""
    with torch.no_grad():
        run = SIDES[side][1](name, path)
        times: list[float] = []
        while len(times) <= CALLS and sum(times) < LONGEST * 1e6:  # the first warms up
            start, count = time.perf_counter(), 0
            while time.perf_counter() - start < SECONDS:
                run()
                count += 1
            times.append((time.perf_counter() - start) / count * 1e6)
    print(json.dumps({"us": statistics.median(times[1:] or times)}))


def child(task: str, side: str, name: str, path: Path, threads: int = 1) -> dict[str, float]:
    result = subprocess.run(
        [sys.executable, __file__, task, side, name, str(path)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "OMP_NUM_THREADS": str(threads),
        },
        text=True,
        capture_output=True,
        check=False,
    )
    if result.returncode:
        raise SystemExit(f"{task} {side}, {name}: {result.stderr.strip()[-800:]}")
    return json.loads(result.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def file_of(folder: Path, side: str) -> Path:
    return folder / f"{side}.pt2"  # torch insists on this ending


def lowerings(folder: Path, name: str) -> None:
    print(f"\n{name}\n{'':14} {'lowering s':>11} {'program KB':>11}")
    for side in SIDES:
        made = child("make", side, name, file_of(folder, side), threads=os.cpu_count() or 1)
        if side != "eager":
            kilobytes = made["bytes"] / 1e3
            print(f"{side:14} {made['seconds']:11.1f} {kilobytes:11.0f}", flush=True)


def calls(folder: Path, name: str, threads: int) -> None:
    results: dict[str, list[float]] = {side: [] for side in SIDES}
    for _ in range(REPEATS):
        for side in SIDES:
            results[side].append(child("call", side, name, file_of(folder, side), threads)["us"])
    medians = {side: statistics.median(measured) for side, measured in results.items()}
    best = min(us for side, us in medians.items() if side != "ours")
    print(
        f"{threads} thread{'s' if threads > 1 else '':1} {'µs':>11} {'of eager':>11} {'of best':>9}"
    )
    for side, us in medians.items():
        print(f"{side:14} {us:6.0f} {us / medians['eager']:11.2f} {us / best:9.2f}", flush=True)


def main() -> None:
    print(f"torch {torch.__version__}; {os.cpu_count()} CPUs; medians of {REPEATS} processes")
    # torch's own packages are compiled by the same compiler as ours.
    from aoti_backend import compilation

    os.environ.setdefault("CXX", compilation.compiler()[0])
    for name in sys.argv[1:] or MODELS:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            lowerings(folder, name)
            for threads in (1, 2):
                calls(folder, name, threads)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        {"make": make, "call": call}[sys.argv[1]](sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    else:
        main()
