"""Programs of ours, torch's AOTI packages, and XNNPACK through the wheel's runtime share a process
with libtorch, whatever is loaded first.
"""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import child
import pytest
import torch
from backend_common import lower
from torch import nn

KINDS = ("ours", "package", "stock")
ORDERS = list(itertools.permutations(KINDS))


def models():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))
    pixels = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3, stride=2))
    return [(layers.eval(), (torch.randn(4, 16),)), (pixels.eval(), (torch.randn(1, 3, 16, 16),))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Each model as every kind of program."""
    from aoti_backend import compilation
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    os.environ["CXX"] = compilation.compiler()[0]  # for torch's packages
    made = tmp_path_factory.mktemp("programs")
    for at, (module, inputs) in enumerate(models()):
        torch.save((module, inputs), made / f"model{at}.pt")
        lowered = lower(module, inputs, backend="aoti-cpu")
        assert all(row.delegated for row in lowered.report)
        lowered.save(made / f"model{at}.ours.pte")
        exported = torch.export.export(module, inputs)
        torch._inductor.aoti_compile_and_package(
            exported, package_path=str(made / f"model{at}.pt2")
        )
        edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
        (made / f"model{at}.xnnpack.pte").write_bytes(edge.to_executorch().buffer)
    return made


@pytest.mark.parametrize("order", [*ORDERS, ("libraries", *KINDS)], ids="-".join)
def test_all_are_right(order, folder):
    done = subprocess.run(
        [sys.executable, child.__file__, str(folder), *order],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert set(said) == {f"{kind}, {at}" for kind in KINDS for at in (0, 1)}
    assert max(said.values()) < 1e-4, said


def test_a_wrong_program_is_seen(folder, tmp_path):
    """The child compares with eager: another model's program differs."""
    for each in folder.iterdir():
        Path(tmp_path, each.name).symlink_to(each)
    Path(tmp_path, "model0.pt").unlink()
    module, inputs = models()[0]
    with torch.no_grad():
        module[0].bias += 1.0
    torch.save((module, inputs), tmp_path / "model0.pt")
    done = subprocess.run(
        [sys.executable, child.__file__, str(tmp_path), "ours"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1])["ours, 0"] > 0.1
