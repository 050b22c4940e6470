import tempfile
from pathlib import Path

import pte
import torch

import openvino

# A folder of ours has the same name; Python must have found the wheel.
assert "site-packages" in openvino.__file__, openvino.__file__

module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)).eval()
x = torch.randn(2, 8)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.pte"
    lowered = pte.lower(module, (x,), backend="openvino")
    lowered.save(path)
    (output,) = pte.load(path).forward(x)
assert all(row.delegated for row in lowered.report), lowered.report
assert torch.allclose(output, module(x), atol=1e-4)
