"""`load` and `Program` on programs of the portable kernels: values, layouts, modes, errors."""

import gc
import importlib.util
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from torch import nn

from backend_common import ExecutionError, load
from backend_common import program as program_module
from backend_common.program_events import events


def build(module, *inputs, dynamic_shapes=None, kwargs=None):
    """The bytes of a program of portable kernels."""
    exported = torch.export.export(
        module.eval(), inputs, kwargs, dynamic_shapes=dynamic_shapes, strict=False
    )
    config = EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=False)
    return to_edge(exported, compile_config=config).to_executorch().buffer


def function(call):
    """A module whose forward is `call`."""
    module = nn.Module()
    module.forward = call
    return module


class Add(nn.Module):
    def forward(self, x, y):
        return x + y


class Count(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(2))

    def forward(self, x):
        self.n.add_(x)
        return self.n.clone()


class Structure(nn.Module):
    def forward(self, pair, named, scale=None):
        first, second = pair
        return {"sum": first + second, "rest": [named["b"] - named["a"], scale * 2]}


class Double(nn.Module):
    def forward(self, x):
        return x + x


@pytest.fixture(scope="module")
def add():
    return build(Add(), torch.randn(2, 3), torch.randn(2, 3))


@pytest.fixture(scope="module")
def rows():
    size = torch.export.Dim("size", min=2, max=8)
    return build(Double(), torch.randn(3, 4), dynamic_shapes=({0: size},))


@pytest.fixture
def path(add, tmp_path):
    file = tmp_path / "add.pte"
    file.write_bytes(add)
    return file


def check_add(program):
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    (output,) = program.forward(x, y)
    torch.testing.assert_close(output, x + y)


# ---- events ----


@pytest.mark.parametrize("mode", ["mmap", "buffer"])
def test_what_runs_is_recorded_where_it_is_asked_for(path, mode):
    program = load(path, mode=mode, etdump=True)
    assert events(program.etdump()) == []
    for calls in (1, 3):
        for _ in range(calls):
            check_add(program)
        recorded = events(program.etdump())
        adds = [event for event in recorded if event.name == "native_call_add.out"]
        assert len(adds) == calls
        assert all(event.block == "Execute" and event.end > event.start for event in adds)
        assert sum(event.name == "Method::execute" for event in recorded) == calls
        assert events(program.etdump()) == []


def test_what_is_not_recorded_cannot_be_asked_for(path):
    with pytest.raises(ExecutionError, match="not loaded to be recorded"):
        load(path).etdump()


# ---- damaged names ----


def test_a_method_whose_name_is_damaged_is_an_error(add):
    damaged = bytes(add).replace(b"forward", b"for\xffard")
    with pytest.raises(ExecutionError, match=r"damaged: the name of method 0 is 'for.xffard'"):
        load(damaged)


def test_a_delegate_whose_id_is_damaged_is_an_error():
    source = (Path(__file__).parents[2] / "common/runtime/testdata/delegated.pte").read_bytes()
    program = load(source.replace(b"TestBackend", b"Test\xe4ackend"))
    with pytest.raises(ExecutionError, match="damaged: the id of delegate 0 of 'forward'"):
        program.method("forward")


# ---- sources and modes ----


@pytest.mark.parametrize("mode", program_module.MODES)
def test_every_mode_runs_a_file(path, mode):
    try:
        program = load(path, mode=mode)
    except ExecutionError as error:
        assert mode == "mmap-mlock" and "ulimit -l" in str(error)
        return
    check_add(program)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_need_no_file_and_may_go(add, kind):
    source = kind(bytes(add))
    program = load(source)
    if kind is bytearray:
        source[:] = b"\xff" * len(source)
    del source
    gc.collect()
    check_add(program)


def test_a_path_may_be_a_string(path):
    check_add(load(str(path)))


def test_an_unknown_mode_is_an_error_that_lists_the_modes(path):
    with pytest.raises(ExecutionError, match="'map' is none of mmap, mmap-mlock"):
        load(path, mode="map")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ExecutionError, match=r"gone\.pte.*AccessFailed"):
        load(tmp_path / "gone.pte")


@pytest.mark.parametrize("keep", [0, 7, 100, 0.5, -1])
def test_what_is_cut_short_is_an_error(add, tmp_path, keep):
    size = keep if isinstance(keep, int) and keep >= 0 else int(len(add) * abs(keep) / 2)
    file = tmp_path / "short.pte"
    file.write_bytes(bytes(add)[:size])
    for source in (file, bytes(add)[:size]):
        with pytest.raises(ExecutionError, match="cannot load"):
            load(source)
    check_add(load(add))


def test_text_is_not_a_program(tmp_path):
    with pytest.raises(ExecutionError, match="InvalidProgram"):
        load(b"this is no program, whatever its name says" * 10)


def test_weights_in_a_data_file(tmp_path):
    linear = nn.Linear(8, 4)
    x = torch.randn(2, 8)
    manager = to_edge(torch.export.export(linear, (x,))).to_executorch(
        ExecutorchBackendConfig(external_constants=True)
    )
    (tmp_path / "linear.pte").write_bytes(manager.buffer)
    manager.write_tensor_data_to_file(str(tmp_path))
    (data,) = tmp_path.glob("*.ptd")
    (output,) = load(tmp_path / "linear.pte", data=data).forward(x)
    torch.testing.assert_close(output, linear(x))
    with pytest.raises(ExecutionError):
        load(tmp_path / "linear.pte").forward(x)
    with pytest.raises(ExecutionError, match=r"gone\.ptd"):
        load(tmp_path / "linear.pte", data=tmp_path / "gone.ptd")


# ---- values ----


def test_inputs_in_the_structure_of_the_module_and_outputs_flat():
    a, b = torch.randn(2), torch.randn(2)
    inputs = ((a, b), {"a": a, "b": b})
    program = load(build(Structure(), *inputs, kwargs={"scale": b}))
    outputs = program.forward(*inputs, scale=b)
    for output, expected in zip(outputs, (a + b, b - a, b * 2), strict=True):
        torch.testing.assert_close(output, expected)


def test_ints_bools_and_none_stay_as_they_are():
    module = function(lambda x, flag, nothing: (x + 1, 3, None, flag))
    program = load(build(module, torch.zeros(2), True, None))
    output, number, nothing, flag = program.forward(torch.ones(2), True, None)
    assert output.tolist() == [2, 2]
    assert (number, nothing, flag) == (3, None, True) and flag is True


def test_a_size_comes_back_as_an_int():
    size = torch.export.Dim("size", min=2, max=8)
    module = function(lambda x: (x * 2, x.shape[0]))
    program = load(build(module, torch.zeros(3, 2), dynamic_shapes=({0: size},)))
    assert program.forward(torch.zeros(5, 2))[1] == 5


FLOATS = "float64 float32 float16 bfloat16"
INTEGERS = "int64 int32 int16 int8 uint8 bool"


@pytest.mark.parametrize(
    "dtype",
    [getattr(torch, name) for name in FLOATS.split() + INTEGERS.split()],
)
def test_every_dtype_comes_in_and_goes_out(dtype):
    x = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
    (output,) = load(build(function(lambda x: x.flip(0)), x)).forward(x)
    assert output.dtype == dtype
    assert torch.equal(output, x.flip(0))


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,)])
def test_scalars_and_empty_tensors(shape):
    x = torch.ones(shape)
    (output,) = load(build(Double(), x)).forward(x)
    assert output.shape == x.shape
    assert torch.equal(output, x + x)


STRANGE = {
    "transposed": lambda: torch.randn(3, 2).t(),
    "expanded": lambda: torch.randn(1, 3).expand(2, 3),
    "sliced": lambda: torch.randn(4, 6)[::2, ::2],
    "offset": lambda: torch.randn(3, 3)[1:],
    "negated view": lambda: torch.randn(2, 3, dtype=torch.complex64).conj().imag,
    "needs a gradient": lambda: torch.randn(2, 3, requires_grad=True),
}


@pytest.mark.parametrize("name", STRANGE)
def test_any_memory_layout_of_an_input(add, name):
    x = STRANGE[name]()
    (output,) = load(add).forward(x, x)
    torch.testing.assert_close(output, (x + x).detach())


@pytest.mark.parametrize("given", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("declared", [torch.contiguous_format, torch.channels_last])
def test_an_input_is_laid_out_as_the_program_declares(declared, given):
    example = torch.randn(2, 3, 4, 5).to(memory_format=declared)
    program = load(build(Double(), example))
    order = (0, 2, 3, 1) if declared == torch.channels_last else (0, 1, 2, 3)
    assert program.method("forward").inputs[0].dim_order == order
    x = torch.randn(2, 3, 4, 5).to(memory_format=given)
    (output,) = program.forward(x)
    torch.testing.assert_close(output, x + x)
    assert output.is_contiguous(memory_format=declared)


def test_dynamic_rows_keep_their_number(rows):
    program = load(rows)
    for count in (3, 8, 2):
        x = torch.randn(count, 4)
        (output,) = program.forward(x)
        assert torch.equal(output, x + x)


def test_outputs_of_earlier_calls_stay(add):
    program = load(add)
    zeros, ones = torch.zeros(2, 3), torch.ones(2, 3)
    first = program.forward(zeros, zeros)[0]
    second = program.forward(ones, ones)[0]
    assert first.sum() == 0 and second.sum() == 12


def test_outputs_outlive_the_program(add):
    program = load(add)
    ones = torch.ones(2, 3)
    (output,) = program.forward(ones, ones)
    program.close()
    assert output.sum() == 12


def test_state_belongs_to_a_program():
    buffer = build(Count(), torch.ones(2))
    first, second = load(buffer), load(buffer)
    ones = torch.ones(2)
    assert [first.forward(ones)[0].tolist() for _ in range(3)] == [[1, 1], [2, 2], [3, 3]]
    assert second.forward(ones)[0].tolist() == [1, 1]


# ---- inputs that do not fit ----

GOOD = torch.zeros(2, 3)
WRONG = {
    "too few": ((GOOD,), "takes 2 inputs, and got 1"),
    "too many": ((GOOD, GOOD, GOOD), "takes 2 inputs, and got 3"),
    "kind": ((GOOD, 3), "input 1: expected a tensor, got an int"),
    "nothing": ((GOOD, None), "input 1: expected a tensor, got None"),
    "object": ((GOOD, "text"), "input 1 is a str"),
    "dtype": ((GOOD, GOOD.long()), "input 1: expected dtype Float, got Long"),
    "complex": ((GOOD, GOOD.to(torch.complex64)), "input 1 has dtype torch.complex64"),
    "sparse": ((GOOD, GOOD.to_sparse()), "input 1 has layout torch.sparse_coo"),
    "device": ((GOOD, GOOD.to("meta")), "input 1 is on meta"),
    "rank": ((GOOD, torch.zeros(3)), r"input 1: expected rank 2, shape \[2, 3\], got rank 1"),
    "larger": ((GOOD, torch.zeros(2, 4)), r"expected shape \[2, 3\].*got \[2, 4\]"),
    "smaller": ((GOOD, torch.zeros(2, 2)), "."),
    "huge int": ((GOOD, 2**63), "does not fit int64"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_input_is_one_error_and_the_program_goes_on(add, name):
    inputs, text = WRONG[name]
    program = load(add)
    with pytest.raises(ExecutionError, match=text):
        program.forward(*inputs)
    check_add(program)


@pytest.mark.parametrize("count", [1, 9])
def test_rows_outside_the_bounds_are_an_error(rows, count):
    program = load(rows)
    if count == 1:
        # The program's file has upper bounds alone; the portable kernels run any smaller size.
        assert program.forward(torch.ones(count, 4))[0].shape == (1, 4)
        return
    with pytest.raises(ExecutionError, match=r"input 0.*\[8, 4\].*got \[9, 4\]"):
        program.forward(torch.ones(count, 4))


def test_a_number_where_another_was_exported():
    program = load(build(function(lambda x, n: x * n), torch.ones(2), 3))
    assert program.forward(torch.ones(2), 3)[0].tolist() == [3, 3]
    with pytest.raises(ExecutionError):
        program.forward(torch.ones(2), 4)
    with pytest.raises(ExecutionError, match="input 1: expected an int, got a float"):
        program.forward(torch.ones(2), 3.0)


# ---- methods, lifetimes, threads ----


def test_methods_by_name():
    x = torch.ones(2)
    exported = {
        "encode": torch.export.export(Double(), (x,)),
        "decode": torch.export.export(Add(), (x, x)),
    }
    program = load(to_edge(exported).to_executorch().buffer)
    assert program.methods == ("decode", "encode")
    assert program.method("encode")(x)[0].tolist() == [2, 2]
    assert program.method("decode")(x, x)[0].tolist() == [2, 2]
    with pytest.raises(ExecutionError, match="no method 'forward'; it has: decode, encode"):
        program.forward(x)


def test_a_method_says_what_it_takes_and_gives(rows):
    method = load(rows).method("forward")
    (info,) = method.inputs
    assert (info.kind, info.dtype, info.shape, info.dim_order, info.bytes) == (
        "tensor",
        torch.float32,
        (8, 4),
        (0, 1),
        128,
    )
    assert method.outputs[0].dtype == torch.float32
    assert method.delegates == ()


def test_a_method_keeps_its_program(add):
    method = load(add).method("forward")
    gc.collect()
    assert method(GOOD, GOOD)[0].shape == (2, 3)


def test_a_closed_program_says_so(add):
    with load(add) as program:
        method = program.method("forward")
    for call in (method, program.forward):
        with pytest.raises(ExecutionError, match="the program's bytes is closed"):
            call(GOOD, GOOD)
    program.close()


def test_many_threads_and_a_close_in_between(add):
    shared = load(add)
    right, closed, wrong = [], [], []

    def work():
        for _ in range(50):
            try:
                check_add(load(add))
                check_add(shared)
                right.append(1)
            except ExecutionError as error:
                (closed if "is closed" in str(error) else wrong).append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(right) < 20 and any(thread.is_alive() for thread in threads):
        pass
    shared.close()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(right) >= 20 and len(right) + len(closed) == 200


# ---- libraries ----


def test_the_kernels_are_all_of_the_portable_and_quantised_ones():
    folder = Path(importlib.util.find_spec("executorch").submodule_search_locations[0], "kernels")
    declared = {
        operator if "::" in operator else f"aten::{operator}"
        for file in ("portable/functions.yaml", "quantized/quantized.yaml")
        for operator in re.findall(r"^- (?:op|func): ([\w.:]+)", (folder / file).read_text(), re.M)
    }
    assert len(declared) > 200
    assert declared <= program_module.registered_kernels()


def test_a_delegate_that_is_not_there_is_named_with_what_to_add(add):
    # The bytes of a program that names a delegate, from the C++ test.
    source = Path("common/runtime/testdata/delegated.pte")
    program = load(source)
    assert program.method("forward").delegates == ("TestBackend",)
    with pytest.raises(ExecutionError, match=r"'TestBackend'.*portable.*add the package"):
        program.forward(torch.zeros(3, 2))


def run_python(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


OURS = "from backend_common import load; ours = load(path).forward(x, x)[0]"
STOCK = (
    "from executorch.extension.pybindings import _C;"
    "stock = _C._load_for_executorch(path).forward([x, x])[0]"
)


@pytest.mark.parametrize("order", [(OURS, STOCK), (STOCK, OURS)], ids=["first", "second"])
def test_executorchs_own_runtime_in_the_same_process(path, order):
    prepare = "import sys, torch; path = sys.argv[1]; x = torch.ones(2, 3)"
    done = run_python("\n".join((prepare, *order, "print((ours + stock).sum().item())")), path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "24.0"


def test_a_missing_library_is_an_error_that_lists_the_places(path, tmp_path):
    code = (
        "import sys; from backend_common import load, ExecutionError, libraries\n"
        "libraries.candidates = lambda name, folder, room: [folder / 'nowhere' / name]\n"
        "try: load(sys.argv[1])\n"
        "except ExecutionError as error: print(error)"
    )
    done = run_python(code, path)
    assert done.returncode == 0, done.stderr
    assert "libexecutorch_backends_program.so is not there; tried" in done.stdout


class Difference(torch.nn.Module):
    def forward(self, x, *, a, b):
        return x + a - b


def test_several_keywords_are_refused_since_a_program_keeps_no_names():
    x, a, b = torch.zeros(2), torch.full((2,), 5.0), torch.ones(2)
    program = load(build(Difference(), x, kwargs={"a": a, "b": b}))
    with pytest.raises(ExecutionError, match=r"keywords b, a.*by position"):
        program.forward(x, b=b, a=a)
    assert torch.equal(program.forward(x, a, b)[0], torch.full((2,), 4.0))


def test_what_load_is_given_wrongly_is_named(add):
    with pytest.raises(TypeError, match="options is a list"):
        load(add, options=["device"])
    with pytest.raises(TypeError, match="data is a int"):
        load(add, data=3)
    with pytest.raises(ExecutionError, match=r"'openvin'.*portable"):
        load(add, options={"openvin": {"device": "CPU"}})


@pytest.mark.parametrize("options", [{3: 1}, {"portable": {3: 1}}])
def test_an_option_without_a_text_for_a_name_is_refused(add, options):
    with pytest.raises(TypeError, match="an option is called 3"):
        load(add, options=options)


@pytest.mark.parametrize("options", [{"device": "CPU\0X"}, {"portable": {"dev\0": 1}}])
def test_an_option_with_a_nul_in_it_is_refused(add, options):
    with pytest.raises(ExecutionError, match="a text with a NUL in it"):
        load(add, options=options)
