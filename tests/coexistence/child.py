"""Loads programs of several runtimes into one process in the order of its arguments, runs them in
turn, and says how far each is from eager.

    python child.py FOLDER libraries ours package stock

Prints a line of JSON: {"ours, 0": largest difference, ...}.
"""

import ctypes
import importlib.util
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Call = Callable[..., Any]


def ours(path: Path) -> Call:
    from backend_common import load

    return load(path.with_suffix(".ours.pte")).forward


def package(path: Path) -> Call:
    import torch._inductor

    return torch._inductor.aoti_load_package(str(path.with_suffix(".pt2")))


def stock(path: Path) -> Call:
    from executorch.extension.pybindings import portable_lib

    program = portable_lib._load_for_executorch(str(path.with_suffix(".xnnpack.pte")))
    return lambda *inputs: program.forward(inputs)


def libraries() -> None:
    """Our libraries and ExecuTorch's, before libtorch is in the process."""
    import aoti_backend
    import backend_common
    from backend_common.libraries import find

    (wheel,) = importlib.util.find_spec("executorch").submodule_search_locations
    for library in (
        Path(wheel, "lib", "libexecutorch.so"),
        Path(wheel, "lib", "libexecutorch_etdump.so"),
        find("libexecutorch_backends_program.so", backend_common.__file__),
        find("libexecutorch_backends_aoti_shims_cpu.so", aoti_backend.__file__, room="shims"),
        find("libexecutorch_backend_aoti_cpu.so", aoti_backend.__file__),
    ):
        ctypes.CDLL(str(library))
    assert "torch" not in sys.modules


OPEN = {"ours": ours, "package": package, "stock": stock}


def main(folder: Path, *order: str) -> None:
    calls: list[tuple[str, int, Call]] = []
    for kind in order:
        if kind == "libraries":
            libraries()
            continue
        calls += [(kind, at, OPEN[kind](folder / f"model{at}")) for at in (0, 1)]
    import torch

    said: dict[str, float] = {}
    for _ in range(3):  # in turn, so that each runs after each
        for kind, at, call in calls:
            module, inputs = torch.load(folder / f"model{at}.pt", weights_only=False)
            with torch.no_grad():
                wanted, found = module(*inputs), call(*inputs)
            found = found[0] if isinstance(found, (list, tuple)) else found
            assert found.shape == wanted.shape and found.dtype == wanted.dtype
            # A comparison with NaN is false: it would pass for the smaller.
            difference = (found - wanted).abs().nan_to_num(math.inf, math.inf).max().item()
            said[f"{kind}, {at}"] = max(said.get(f"{kind}, {at}", 0.0), difference)
    print(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
