import pytest
from backend_common.errors import LoweringError

from qualcomm_backend import options


def test_without_options_it_is_a_chip_of_2023_in_16_bit_floats():
    assert options.parse({}) == options.Options(soc="SM8650", precision="fp16")


@pytest.mark.parametrize("soc", options.SOCS)
def test_every_chip_of_executorch_is_known_by_name(soc):
    assert options.parse({"soc": soc, "precision": "8a8w"}).soc == soc


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"soc": "SM9999"}, ["soc", "SM9999", "SM8650", "SM8750"]),
        ({"soc": 57}, ["soc", "57", "SM8650"]),
        ({"precision": "int3"}, ["precision", "int3", "fp16", "8a8w"]),
        ({"precision": "4a4w"}, ["precision", "4a4w", "fp16", "16a4w"]),
        ({"trial_run": "yes"}, ["trial_run", "yes", "False, True"]),
        ({"precison": "fp16"}, ["precison", "precision"]),
        ({"soc": "SM8350"}, ["precision", "SM8350", "v68", "v69"]),
    ],
)
def test_a_wrong_option_is_refused_with_what_there_is(given, words):
    with pytest.raises(LoweringError) as caught:
        options.parse(given)
    assert all(word in str(caught.value) for word in words)
    assert len(caught.value.rows) == 1
