"""Payloads: what they say, that equal programs give equal bytes, what is stored once."""

import re
import struct

import pytest
import torch
from backend_common import LoweringError, Method, load, lower, payload
from torch import nn

from aoti_backend import codegen, compilation, preprocess
from aoti_backend.devices import cpu


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4)).eval()


def lowered(**options):
    return lower(model(), (torch.ones(2, 16),), backend="aoti-cpu", options=options).buffer


def sections_of(program):
    start = program.index(payload.MAGIC)
    size = int.from_bytes(program[start + 24 : start + 32], "little")
    return {
        name: bytes(data) for name, data in payload.parse(program[start : start + size]).items()
    }


@pytest.fixture(scope="module")
def program():
    return lowered()


def test_the_target_says_what_the_runtime_must_match(program):
    target = sections_of(program)["target"].decode().splitlines()
    version = torch.__version__.partition("+")[0]
    assert target == ["backend=aoti", "device=cpu", "isa=avx2", "shims=1", f"torch={version}"]


def test_equal_programs_give_equal_bytes(program):
    assert lowered() == program


def code_of(program):
    section = sections_of(program)["code"]
    size, key = int.from_bytes(section[8:16], "little"), section[48:].decode()
    assert re.fullmatch("aoti_code_[0-9a-f]{64}", key)
    start = program.index(b"\x7fELF")
    return program[start : start + size]


def test_the_code_is_small_and_names_no_path(program):
    code = code_of(program)
    assert len(code) < 250_000
    for text in (b"/torch/include", b"site-packages", b"/tmp/", b"torchinductor_"):
        assert text not in code


def test_the_code_shows_the_c_interface_alone(program):
    names = exported(code_of(program))
    assert names and all(name.startswith("AOTInductor") for name in names)


def exported(library):
    """The names of the dynamic symbols that are defined."""
    (table,) = struct.unpack_from("<Q", library, 0x28)
    size, count = struct.unpack_from("<HH", library, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", library, table + i * size) for i in range(count)]
    (symbols,) = (each for each in sections if each[1] == 11)
    strings = sections[symbols[6]][4]
    found = []
    for at in range(symbols[4], symbols[4] + symbols[5], 24):
        name, info, _, section = struct.unpack_from("<IBBH", library, at)
        if section and info >> 4:
            assert info >> 4 != 10, "STB_GNU_UNIQUE"
            found.append(library[strings + name : library.index(b"\0", strings + name)].decode())
    return found


def test_constants_are_stored_once_for_methods_that_share_them():
    shared = model()
    methods = {
        "one": Method(shared, (torch.ones(1, 16),)),
        "many": Method(shared, (torch.ones(7, 16),)),
    }
    program = lower(methods, backend="aoti-cpu").buffer
    assert program.count(shared[0].weight.detach().numpy().tobytes()) == 1


def test_weights_can_stay_outside():
    both = lower(
        model(), (torch.ones(2, 16),), backend="aoti-cpu", options={"external_weights": True}
    )
    weight = model()[0].weight.detach().numpy().tobytes()
    assert weight not in both.buffer and weight in both.data


def test_nothing_of_the_users_inductor_changes():
    from torch._inductor import codecache, compile_fx, config, cpu_vec_isa

    before = config.get_config_copy()
    patched = (
        codecache.AotCodeCompiler.compile,
        compile_fx.select_decomp_table,
        cpu_vec_isa.valid_vec_isa_list,
    )
    lower(nn.ReLU(), (torch.ones(2),), backend="aoti-cpu")
    assert config.get_config_copy() == before
    assert patched == (
        codecache.AotCodeCompiler.compile,
        compile_fx.select_decomp_table,
        cpu_vec_isa.valid_vec_isa_list,
    )


def test_an_input_is_packed_in_its_dim_order():
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode() as mode:
        last = mode.from_tensor(torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last))
        sliced = mode.from_tensor(torch.ones(4, 6)[:, :3])
        assert preprocess.packed(last) is last
        assert preprocess.packed(sliced).stride() == (3, 1)


def test_a_compiler_that_is_none_is_named(monkeypatch):
    monkeypatch.setenv(compilation.COMPILER_VARIABLE, "/no/such/compiler")
    compilation.compiler.cache_clear()
    compilation._identity.cache_clear()
    try:
        with pytest.raises(compilation.CompilationError, match="/no/such/compiler"):
            compilation._identity()
    finally:
        compilation.compiler.cache_clear()
        compilation._identity.cache_clear()


def test_native_names_what_this_cpu_has():
    isa = cpu.native()
    assert isa.name.startswith("native:") and "avx2" in isa.name.split(":")[1].split(",")
    assert isa.vectors in (256, 512)


class OfNarrowIntegers(nn.Module):
    def forward(self, x, y):
        x = x.abs()
        return (
            *(x.clamp(max=3), torch.maximum(x, y), torch.clamp(x, -y.abs(), y.abs()), x.relu()),
            *(y << x.clamp(max=3), torch.minimum(torch.div(y, 3, rounding_mode="trunc"), x)),
            *(torch.maximum(y // 3, x), torch.minimum(y % 3, x), torch.maximum(y & x, ~x)),
        )


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.uint8])
def test_narrow_integers_stay_narrow(dtype):
    inputs = tuple(torch.randint(-128, 128, (3, 77)).to(dtype) for _ in range(2))
    lowered = lower(OfNarrowIntegers(), inputs, backend="aoti-cpu")
    assert all(row.delegated for row in lowered.report)
    found = load(lowered.buffer).forward(*inputs)
    for is_, wanted in zip(found, OfNarrowIntegers()(*inputs), strict=True):
        assert is_.dtype == wanted.dtype and torch.equal(is_, wanted)


class Several(nn.Module):
    def forward(self, x):
        y = (x + 1).abs()
        return y.clamp(max=3) * 2, (x * 2).clamp(max=5), x.sum(0)


@pytest.fixture
def a_compiler_that_refuses_clamps_of_absolutes(monkeypatch):
    monkeypatch.setattr(codegen, "_absolute", lambda x: f"std::abs({x})")


@pytest.mark.usefixtures("a_compiler_that_refuses_clamps_of_absolutes")
def test_what_does_not_compile_goes_to_other_kernels_alone():
    x = torch.randint(-5, 5, (3, 77), dtype=torch.int16)
    lowered = lower(Several(), (x,), backend="aoti-cpu")
    (left,) = (row for row in lowered.report if not row.delegated)
    assert left.operator == "aten.clamp.default" and "does not compile" in left.reason
    assert "preprocess_test.py" in left.source and "min_propagate_nan" in left.reason
    for is_, wanted in zip(load(lowered.buffer).forward(x), Several()(x), strict=True):
        assert torch.equal(is_, wanted)


@pytest.mark.usefixtures("a_compiler_that_refuses_clamps_of_absolutes")
def test_what_does_not_compile_is_refused_where_nothing_is_to_be_left():
    x = torch.randint(-5, 5, (3, 77), dtype=torch.int16)
    with pytest.raises(LoweringError) as found:
        lower(Several(), (x,), backend="aoti-cpu", options={"missing_kernels": "refuse"})
    (row,) = found.value.rows
    assert row.operator == "aten.clamp.default"
