"""Payloads: what they say, that equal programs give equal bytes, what is stored once."""

import re
import struct

import pytest
import torch
from backend_common import Method, lower, payload
from torch import nn

from aoti_backend import compilation, preprocess
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
