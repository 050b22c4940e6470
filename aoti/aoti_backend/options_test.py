"""Options are checked before anything is lowered, and travel with the partition."""

import pytest
import torch
from backend_common import LoweringError, lower

from aoti_backend import CPU, options


def test_the_defaults_are_for_every_machine():
    assert CPU.parse_options({}) == {"isa": "avx2", "missing_kernels": "leave"}


@pytest.mark.parametrize("isa", ["avx2", "avx512", "native"])
def test_options_survive_the_compile_specs(isa):
    chosen = options.Options(isa=isa, missing_kernels="refuse")
    assert options.from_compile_specs(chosen.compile_specs()) == chosen


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"isa": "avx1024"}, "'isa' is 'avx1024'; it can be avx2, avx512 or native"),
        ({"missing_kernels": True}, "'missing_kernels' is True; it can be leave or refuse"),
        ({"isas": "avx2"}, "aoti-cpu has no option 'isas'; its options are: external_weights, isa"),
    ],
)
def test_a_wrong_option_is_refused_with_what_is_accepted(given, text):
    with pytest.raises(LoweringError, match="an option of aoti-cpu is refused") as caught:
        lower(torch.nn.ReLU(), (torch.ones(2),), backend="aoti-cpu", options=given)
    (row,) = caught.value.rows
    assert text in row.reason
