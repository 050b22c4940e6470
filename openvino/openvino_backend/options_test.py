import pytest
import torch
from backend_common import LoweringError

import openvino_backend
from openvino_backend import options
from openvino_backend.conftest import lower


@pytest.mark.parametrize(
    "device",
    ["CPU", "GPU", "GPU.1", "NPU", "AUTO", "AUTO:GPU,CPU", "AUTO:-CPU", "HETERO:GPU.0,CPU"],
)
def test_openvinos_names_of_devices_are_known(device):
    assert options.parse({"device": device}).device == device


@pytest.mark.parametrize("device", ["cpu", "TPU", "", "CPU,GPU", "HETERO", "GPU.x", 3])
def test_anything_else_is_refused_with_what_is_accepted(device):
    with pytest.raises(LoweringError, match="CPU, GPU or NPU") as caught:
        options.parse({"device": device})
    assert repr(device) in str(caught.value)


def test_an_unknown_option_is_refused_with_those_there_are():
    with pytest.raises(LoweringError, match="'threads'; its options are: device, nan"):
        openvino_backend.BACKEND.parse_options({"threads": 2})


def test_options_survive_the_compile_specs():
    chosen = options.Options("GPU.1", "fast")
    assert options.from_compile_specs(chosen.compile_specs()) == chosen


@pytest.mark.parametrize("device", ["GPU.7", "NPU.3", "HETERO:CPU,GPU"])
def test_a_device_that_cannot_compile_here_is_one_error(device):
    with pytest.raises(LoweringError, match=f"device '{device}'") as caught:
        lower(torch.nn.Linear(2, 2), torch.ones(1, 2), options={"device": device})
    assert "CPU" in str(caught.value)  # what is there
