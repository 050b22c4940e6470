import pytest
from backend_common import LoweringError

import openvino_backend
from openvino_backend import options


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
    with pytest.raises(
        LoweringError, match="'thread'; its options are: cache_dir, device, external_weights, nan"
    ):
        openvino_backend.BACKEND.parse_options({"thread": 2})


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("nan", "maybe", "exact or fast"),
        ("precompile", "yes", "True or False"),
        ("performance_hint", "fast", "latency, throughput"),
        ("threads", 0, "from 1 to 2147483647"),
        ("threads", 10**12, "from 1 to 2147483647"),
        ("threads", True, "from 1 to"),
        ("streams", "2", "from 1 to"),
        ("cache_dir", "", "folder"),
        ("cache_dir", "x" * 256, "255"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_accepted(name, value, accepted):
    with pytest.raises(LoweringError, match=accepted) as caught:
        options.parse({name: value})
    assert f"'{name}' is {value!r}" in str(caught.value)


def test_options_survive_the_compile_specs():
    chosen = options.Options("GPU.1", "fast", True, "latency", 2, 3, "/a folder")
    assert options.from_compile_specs(chosen.compile_specs()) == chosen
    assert options.from_compile_specs(options.Options().compile_specs()) == options.Options()
