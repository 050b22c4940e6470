"""Crash, hang, refusal, failure, difference and pass are told apart."""

import dataclasses
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from backend_common import harness
from backend_common.errors import ExecutionError, LoweringError
from backend_common.harness import Outcome, accepted, check_case, difference, in_child
from backend_common.report import Row

ROW = Row("forward", "aten.digamma.default", "digamma", "", False, "portable", "no kernel", "")


@dataclasses.dataclass(frozen=True)
class Case:
    make: Callable[[], tuple[torch.nn.Module, tuple[Any, ...]]]
    dynamic_shapes: Any = None
    also: tuple[tuple[Any, ...], ...] = ()
    refusable: frozenset[str] = frozenset()


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def case(function, *inputs, **rest):
    return Case(lambda: (Call(function).eval(), inputs), **rest)


def test_pass():
    outcome = check_case(
        case(lambda x: x.sin().cos(), torch.randn(3)), "portable", modes=("mmap", "file", "buffer")
    )
    assert (outcome.kind, outcome.text) == ("pass", "")
    assert [row.operator for row in outcome.rows] == ["aten.sin.default", "aten.cos.default"]
    assert outcome.seconds > 0


def test_further_inputs_run_in_order_on_the_one_program():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.ones(1))

        def forward(self, x):
            self.n.add_(1)
            return x + self.n

    counter = Case(lambda: (Counter().eval(), (torch.zeros(3),)), also=((torch.zeros(3),),) * 2)
    assert check_case(counter, "portable", modes=("mmap", "buffer")).kind == "pass"


def test_difference():
    def changing(x):  # what is recorded once differs from what eager does each time
        changing.calls += 1
        return x + changing.calls

    changing.calls = 0
    outcome = check_case(case(changing, torch.zeros(2)), "portable")
    assert outcome.kind == "difference"
    assert outcome.text.startswith("mode mmap, call 0: output 0: 2 of 2 values differ")
    assert outcome.rows  # what ran is known


def test_refusal_carries_its_rows():
    refused = case(lambda x: torch.digamma(x), torch.randn(3), refusable=frozenset({"portable"}))
    outcome = check_case(refused, "portable")
    assert outcome.kind == "refusal"
    assert [row.operator for row in outcome.rows] == ["aten.digamma.default"]
    assert accepted(outcome, refused, "portable")
    assert not accepted(outcome, refused, "openvino")
    assert not accepted(outcome, dataclasses.replace(refused, refusable=frozenset()), "portable")


def test_a_refusal_without_an_operator_is_not_accepted():
    refusable = case(torch.sin, torch.zeros(1), refusable=frozenset({"portable"}))
    nameless = dataclasses.replace(ROW, operator="")
    assert accepted(Outcome("refusal", rows=(ROW,)), refusable, "portable")
    assert not accepted(Outcome("refusal", rows=(nameless,)), refusable, "portable")
    assert not accepted(Outcome("crash"), refusable, "portable")


def raising(error):
    def function():
        raise error

    return function


def test_errors_by_their_kind():
    assert in_child(raising(LoweringError("no", [ROW]))).rows == (ROW,)
    outcome = in_child(raising(ExecutionError("input 0 has rank 3")))
    assert (outcome.kind, outcome.text) == ("execution error", "input 0 has rank 3")
    outcome = in_child(raising(ZeroDivisionError("by zero")))
    assert outcome.kind == "error" and "ZeroDivisionError: by zero" in outcome.text


def test_a_crash_names_the_signal_and_the_last_words():
    def crash():
        print("before it died", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)

    outcome = in_child(crash)
    assert outcome.kind == "crash"
    assert outcome.text.startswith("killed by SIGSEGV")
    assert "before it died" in outcome.text
    assert "in crash" in outcome.text  # where it was


def test_an_end_without_an_outcome_is_a_crash():
    outcome = in_child(lambda: os._exit(7))
    assert (outcome.kind, outcome.text) == ("crash", "ended with status 7 and no outcome")


def test_an_outcome_that_cannot_be_sent_is_a_crash_that_says_so():
    outcome = in_child(lambda: Outcome("pass", text=lambda: None))
    assert outcome.kind == "crash" and "pickle" in outcome.text


def test_time_limit_ends_the_child_and_what_it_started():
    reader, writer = os.pipe()

    def hang():
        # Holds the pipe's writing end for as long as it lives, as the child does.
        subprocess.Popen(["/bin/sh", "-c", "while :; do wait; done"], pass_fds=[writer])
        while True:
            signal.pause()

    started = time.monotonic()
    outcome = in_child(hang, time_limit=0.5)
    os.close(writer)
    assert outcome.kind == "time limit" and outcome.text.startswith("not done after 0.5 s")
    assert os.read(reader, 1) == b""  # the end of file: nobody holds the other end
    os.close(reader)
    assert time.monotonic() - started < 30


def test_a_parent_that_used_its_thread_pool_has_children_that_compute():
    # In a process of its own, so that the pool is there whatever ran before.
    program = """
import torch
from backend_common.harness import Outcome, in_child
torch.set_num_threads(4)
big = torch.randn(1024, 1024)
(big @ big).sin().sum()
def work():
    (big @ big).sin().sum()
    return Outcome("pass", str(torch.get_num_threads()))
outcome = in_child(work, 60)
print(outcome.kind, outcome.text)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["pass", "1"]


def test_no_child_is_left():
    in_child(lambda: Outcome("pass"))
    assert multiprocessing.active_children() == []
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


A = torch.tensor([1.0, float("nan"), 100.0])


@pytest.mark.parametrize(
    ("expected", "actual", "text"),
    [
        ([A], [A.clone()], ""),
        ([A], [A + torch.tensor([0.0, 0.0, 0.05])], ""),
        ([A], [A, A], "2 outputs, and eager has 1"),
        ([A], [A.double()], "output 0: float64[3], and eager has float32[3]"),
        ([A], [A[:, None]], "output 0: float32[3, 1], and eager has float32[3]"),
        ([A], [torch.zeros(3)], "output 0: 3 of 3 values differ (max abs error 100"),
        ([torch.tensor(3)], [torch.tensor(4)], "output 0: 1 of 1 values differ (integers)"),
        ([torch.tensor([True])], [torch.tensor([False])], "output 0: 1 of 1 values differ"),
        ([torch.zeros(0, 3)], [torch.zeros(0, 3)], ""),
        ([torch.zeros(0, 3)], [torch.zeros(3, 0)], "output 0: float32[3, 0], and eager has"),
        ([2, None, True, 2.5], [2, None, True, 2.5], ""),
        ([2], [3], "output 0: 3, and eager has 2"),
        ([1], [True], "output 0: True, and eager has 1"),
        ([None], [A], "output 0: tensor("),
        ([torch.tensor(float("inf"))], [torch.tensor(float("inf"))], ""),
        ([torch.tensor(float("inf"))], [torch.tensor(-float("inf"))], "output 0: 1 of 1 values"),
        ([torch.tensor(1 + 2j)], [torch.tensor(1 + 3j)], "output 0: 1 of 1 values differ"),
    ],
)
def test_difference_of_outputs(expected, actual, text):
    found = difference(expected, actual, 1e-3)
    assert found.startswith(text) and bool(found) == bool(text)


def test_every_output_that_differs_is_named():
    assert difference([1, A, 3], [2, A, 4], 0).count("output") == 2


def test_layouts_count_when_they_are_asked_for():
    image = torch.zeros(1, 3, 4, 4)
    last = image.to(memory_format=torch.channels_last)
    assert difference([last], [image], 0) == ""
    assert "strides" in difference([last], [image], 0, layouts=True)
    assert difference([last], [last.clone()], 0, layouts=True) == ""


def test_tolerance_follows_what_the_program_computes_in():
    def inside_half(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return (x @ x).float()

    def of(function, x):
        return harness.tolerance_of(torch.export.export(Call(function), (x,)))

    x = torch.randn(2, 2)
    assert of(torch.sin, x) == 1e-3
    assert of(torch.sin, x.half()) == 2e-2
    assert of(inside_half, x) == 2e-2
