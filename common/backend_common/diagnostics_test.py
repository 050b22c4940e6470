"""The user's line, whatever lies between it and the operator."""

import functools
import sysconfig

import torch
import torch.nn.functional as F
from torch import fx

from backend_common.diagnostics import Diagnostics, keep_user_frames, library_frame, source_line
from backend_common.operators import operator_name


def innermost(x):
    return torch.cumsum(x, 0)


def outer(x):
    return innermost(x * 2)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        return outer(self.layer(x)) + F.softplus(x)


def lines(strict):
    with keep_user_frames():
        program = torch.export.export(Model(), (torch.ones(2, 3),), strict=strict)
    return {operator_name(n): source_line(n) for n in program.graph.nodes if operator_name(n)}


def check(found):
    file, _, code = found["aten.cumsum.default"].partition("  ")
    assert code == "return torch.cumsum(x, 0)"
    name, _, line = file.partition(":")
    assert name == "diagnostics_test.py" and int(line) == innermost.__code__.co_firstlineno + 1
    assert found["aten.mul.Tensor"].endswith("return innermost(x * 2)")
    # Within torch's own modules and functions: the user's line that called them.
    assert found["aten.linear.default"].endswith("return outer(self.layer(x)) + F.softplus(x)")
    assert found["aten.softplus.default"] == found["aten.linear.default"]


def test_innermost_line_of_the_users_code():
    check(lines(strict=False))


def test_innermost_line_of_the_users_code_in_strict_mode():
    check(lines(strict=True))


def test_torch_is_left_as_it_was():
    before = fx.proxy.TracerBase._filter_traceback_frames
    lines(strict=False)
    assert fx.proxy.TracerBase._filter_traceback_frames is before


def node(trace):
    made = fx.Graph().placeholder("x")
    if trace is not None:
        made.meta["stack_trace"] = trace
    return made


def test_source_line_of_traces():
    assert source_line(node(None)) == ""
    assert source_line(node("no frame")) == ""
    assert source_line(node('File "/a/policy.py", line 41, in forward\n    x + 1')) == (
        "policy.py:41  x + 1"
    )
    # Lines without code, and nothing but library frames: the innermost is better than nothing.
    library = 'File "/lib/python3/site-packages/torch/nn/functional.py", line 7, in linear'
    assert source_line(node(library)) == "functional.py:7"
    assert (
        source_line(node(f'File "/a/policy.py", line 41, in f\n{library}\n  y')) == "policy.py:41"
    )


def test_library_frames():
    assert library_frame(torch.nn.functional.__file__)
    assert library_frame(fx.__file__)
    assert library_frame(source_line.__code__.co_filename)
    assert library_frame("/other/machine/site-packages/executorch/exir/passes.py")
    assert library_frame(functools.__file__)
    assert not library_frame(sysconfig.get_path("purelib") + "/policies/policy.py")
    assert library_frame("<eval_with_key>.7") and library_frame("<frozen runpy>")
    # A user's folder may be called like a library.
    assert not library_frame("/home/me/torch/policy.py")
    assert not library_frame("/home/me/openvino_backend/policy.py")
    assert not library_frame(__file__)


def test_the_last_word_counts_and_can_be_taken_back():
    diagnostics = Diagnostics()
    relu = node(None)
    assert diagnostics.of(relu).reason == ""
    diagnostics.reject(relu, "first")
    diagnostics.reject(relu, "second", "do this")
    assert (diagnostics.of(relu).reason, diagnostics.of(relu).remedy) == ("second", "do this")
    diagnostics.accept([relu])
    assert diagnostics.of(relu).reason == ""
