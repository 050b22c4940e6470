"""Time to lower a model to OpenVINO: ours against ExecuTorch's own backend, in one run.

    ./bazelw run //tests/bench:lowering

Each lowering has a process of its own, in turn; what is timed begins after the imports and ends
with the program's bytes. Timings decide nothing; run it on a quiet machine.
"""

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import torch
from torch import nn

REPEATS = 5


class ResNet(nn.Module):
    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, 2, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                *(nn.Conv2d(32, 32, 3, 1, 1), nn.BatchNorm2d(32), nn.ReLU()),
                *(nn.Conv2d(32, 32, 3, 1, 1), nn.BatchNorm2d(32)),
            )
            for _ in range(blocks)
        )
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        for block in self.blocks:
            x = torch.relu(x + block(x))
        return self.head(x.mean((2, 3)))


def layers(count: int, width: int) -> nn.Module:
    return nn.Sequential(*(nn.Linear(width, width) for _ in range(count)))


def encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)


MODELS = {
    "linear": lambda: (nn.Linear(8, 8), torch.ones(1, 8)),
    "resnet": lambda: (ResNet(8), torch.ones(1, 3, 64, 64)),
    "encoder": lambda: (encoder(), torch.ones(1, 32, 256)),
    "200 MB of layers": lambda: (layers(4, 3536), torch.ones(1, 3536)),
}


def ours(module: nn.Module, example: torch.Tensor, options: dict[str, Any]) -> int:
    import backend_common

    lowered = backend_common.lower(module, (example,), backend="openvino", options=options)
    return len(lowered.buffer)


def stock(module: nn.Module, example: torch.Tensor, options: dict[str, Any]) -> int:
    from executorch.backends.openvino.partitioner import OpenvinoPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.exir.backend.compile_spec_schema import CompileSpec

    device = CompileSpec("device", b"CPU")
    with torch.no_grad():
        exported = torch.export.export(module, (example,))
        edge = to_edge_transform_and_lower(exported, partitioner=[OpenvinoPartitioner([device])])
        return len(edge.to_executorch().buffer)


SIDES = {"stock": (stock, {}), "ours": (ours, {}), "ours, compiled": (ours, {"precompile": True})}


def import_all(side: str) -> None:
    import openvino  # noqa: F401

    if side == "stock":
        # The package itself imports a quantiser, and with it what nobody here needs.
        spec = importlib.util.find_spec("executorch")
        assert spec and spec.submodule_search_locations
        package = types.ModuleType("executorch.backends.openvino")
        package.__path__ = [str(Path(spec.submodule_search_locations[0], "backends/openvino"))]
        sys.modules[package.__name__] = package
        import executorch.backends.openvino.partitioner
        import executorch.exir  # noqa: F401
    else:
        import openvino_backend.partitioner  # noqa: F401


def measure(side: str, name: str) -> None:
    """In a child: prints the seconds and the program's size."""
    import_all(side)
    torch.manual_seed(0)
    module, example = MODELS[name]()
    function, options = SIDES[side]
    start = time.perf_counter()
    size = function(module.eval(), example, options)
    print(json.dumps({"seconds": time.perf_counter() - start, "bytes": size}))


def child(side: str, name: str) -> dict[str, float]:
    result = subprocess.run(
        [sys.executable, __file__, side, name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        capture_output=True,
        check=False,
    )
    if result.returncode:
        raise SystemExit(f"{side}, {name}: {result.stderr.strip()[-500:]}")
    return json.loads(result.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    print(f"Seconds to lower: medians of {REPEATS} processes, in turn")
    print(f"{'model':18} {'side':15} {'seconds':>8} {'ratio':>6} {'program MB':>11}")
    for name in MODELS:
        results: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
        for _ in range(REPEATS):
            for side in SIDES:
                results[side].append(child(side, name))
        medians = {
            side: statistics.median(result["seconds"] for result in measured)
            for side, measured in results.items()
        }
        for side, seconds in medians.items():
            print(
                f"{name:18} {side:15} {seconds:8.3f} {seconds / medians['stock']:6.2f} "
                f"{results[side][0]['bytes'] / 1e6:11.1f}",
                flush=True,
            )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(*sys.argv[1:])
    else:
        main()
