"""An export fails with the names of the kernels that are missing, whatever wrote the calls."""

import json
import subprocess
from pathlib import Path

import pytest
import torch
from backend_common import LoweringError, load, lower

from aoti_backend import audit, codegen, compilation, runtime
from aoti_backend.devices.cpu import CPU


@torch.library.custom_op("aoti_audit::fancy", mutates_args=())
def fancy(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@fancy.register_fake
def _(x):
    return torch.empty_like(x)


def scatter_of_integers(x):
    return x.scatter_add(0, torch.tensor([[0, 1, 0]]), x)


def scatter_of_extrema(x):
    return x.scatter_reduce(0, torch.tensor([[0, 1, 0]]), x, "amax")


def accumulating_index_put(x):
    return x.index_put((torch.tensor([0, 0]),), x[0], accumulate=True)


def view_of_another_dtype(x):
    return x.view(torch.int32), x + 1


def product(x):
    return x @ x.t()


def sorted_values(x):
    return x.sort(1)[0]


def condition(x):
    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def attention(x):
    q = x.reshape(1, 1, *x.shape)
    return torch.nn.functional.scaled_dot_product_attention(q, q, q)


FLOATS, INTEGERS = torch.randn(2, 3), torch.arange(6).reshape(2, 3)

# (program, input, what its code calls, one of the operators that it calls it for)
CALLS = [
    (scatter_of_integers, INTEGERS, "aoti_torch_cpu_scatter_reduce_two_out", "aten.scatter_add"),
    (scatter_of_extrema, INTEGERS, "aoti_torch_cpu_scatter_reduce_two_out", "aten.scatter_reduce"),
    (accumulating_index_put, INTEGERS, "aoti_torch_index_put_out", "aten.index_put"),
    (view_of_another_dtype, FLOATS, "aoti_torch_cpu_view_dtype", "aten.view"),
    (product, FLOATS, "aoti_torch_cpu_mm_out", "aten.matmul"),
    (sorted_values, FLOATS, "aoti_torch_cpu_sort_stable", "aten.sort"),
    (condition, FLOATS, "aoti_torch_item_bool", "cond"),
    (
        *(attention, FLOATS, "aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu"),
        "aten.scaled_dot_product_attention",
    ),
    (product, FLOATS, "aoti_torch_empty_strided", "aten.matmul"),
]


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def export(function, example):
    return lower(
        *(Program(function), (example,)),
        backend="aoti-cpu",
        options={"missing_kernels": "refuse"},
    )


class Shims:
    """Shim libraries that have every kernel but one, and do nothing."""

    def __init__(self, folder: Path, monkeypatch):
        self._folder, self._monkeypatch = folder, monkeypatch
        headers = compilation._torch_headers() / "torch/csrc/inductor/aoti_torch"
        text = "".join(header.read_text() for header in sorted(headers.rglob("*.h")))
        self._names = set(audit._CALL.findall(text)) | set(
            json.loads(runtime.kernel_list(CPU).read_text())["kernels"]
        )

    def without(self, *missing: str) -> None:
        names = sorted(self._names - set(missing))
        source = self._folder / "shims.cpp"
        source.write_text("".join(f'extern "C" int {name}() {{ return 1; }}\n' for name in names))
        library = self._folder / CPU.shims
        command = [*compilation.compiler(), "-shared", "-fPIC", f"-Wl,-soname,{CPU.shims}"]
        subprocess.run([*command, str(source), "-o", str(library)], check=True)
        (self._folder / CPU.kernels).write_text(json.dumps({"kernels": names}))
        self._monkeypatch.setattr(runtime, "kernel_list", lambda device: self._folder / CPU.kernels)
        self._monkeypatch.setattr(runtime, "shim_library", lambda device: library)
        audit.kernels.cache_clear()


@pytest.fixture
def shims(tmp_path, monkeypatch):
    yield Shims(tmp_path, monkeypatch)
    audit.kernels.cache_clear()


@pytest.mark.parametrize(("function", "example", "symbol", "operator"), CALLS)
def test_without_a_kernel_the_export_names_operator_symbol_and_line(
    shims, function, example, symbol, operator
):
    shims.without(symbol)
    with pytest.raises(LoweringError, match="no kernel in the cpu shim library") as caught:
        export(function, example)
    rows = [row for row in caught.value.rows if symbol in row.reason]
    assert any(row.operator.startswith(operator) for row in rows)
    for row in rows:
        assert row.operator.startswith(("aten.", "dim_order_ops.", "cond"))
        assert "audit_test.py:" in row.source or row.operator.startswith("dim_order_ops.")
        assert row.operator in row.remedy


def parts_of_buffers(x):
    halves = torch.cat([x, x + 1]).sort(1)[0]
    return halves[1:].t(), torch.as_strided(halves @ halves.t(), (2, 2), (1, 2)), halves.cumsum(0)


@pytest.mark.parametrize(
    ("function", "example"),
    [*dict.fromkeys((call[0], call[1]) for call in CALLS), (parts_of_buffers, FLOATS)],
)
def test_whichever_of_its_calls_has_no_kernel_is_found(function, example):
    source = generated(function, example)
    calls = set(audit._CALL.findall(source.wrapper))
    assert len(calls) > 5
    for symbol in calls:
        missing = audit.missing_in_source(source, calls - {symbol})
        assert [each.symbol for each in missing] == [symbol]


def test_a_scatter_is_blamed_on_the_scatter(shims):
    shims.without("aoti_torch_cpu_scatter_reduce_two_out")
    with pytest.raises(LoweringError) as caught:
        export(scatter_of_integers, INTEGERS)
    (row,) = caught.value.rows
    assert row.operator == "aten.scatter_add.default"
    assert "return x.scatter_add(0" in row.source
    assert "aten.scatter_reduce_.two" in row.reason


def test_all_causes_are_told_at_once(shims):
    shims.without("aoti_torch_cpu_mm_out", "aoti_torch_cpu_sort_stable")
    with pytest.raises(LoweringError, match="2 operators have no kernel") as caught:
        export(lambda x: (product(x), sorted_values(x)), FLOATS)
    assert {row.operator for row in caught.value.rows} == {
        "aten.matmul.default",
        "aten.sort.default",
    }


def test_a_custom_operator_is_refused_by_name():
    with pytest.raises(LoweringError) as caught:
        export(lambda x: torch.ops.aoti_audit.fancy(x) + 1, FLOATS)
    (row,) = caught.value.rows
    assert row.operator == "aoti_audit.fancy.default"
    assert "torch.ops.aoti_audit.fancy(x)" in row.source
    assert "it is no operator of torch" in row.reason


def test_what_goes_through_a_proxy_executor_is_found_by_name():
    source = generated(lambda x: torch.ops.aoti_audit.fancy(x), FLOATS)
    (missing,) = audit.missing_in_source(source, audit._CALL.findall(source.wrapper))
    assert missing == audit.Missing("", "aoti_audit.fancy", ("fancy",))


@pytest.mark.parametrize("symbol", ["aoti_torch_cpu_mm_out", "aoti_torch_delete_tensor_object"])
def test_the_compiled_code_is_the_last_word(shims, monkeypatch, symbol):
    shims.without(symbol)
    monkeypatch.setattr(audit, "missing_in_source", lambda source, there: [])
    with pytest.raises(LoweringError, match="no kernel in the cpu shim library") as caught:
        export(product, FLOATS)
    assert any(symbol in row.reason for row in caught.value.rows)


def test_the_linker_finds_what_the_list_claims_and_the_library_lacks(shims, monkeypatch):
    shims.without("aoti_torch_cpu_mm_out")
    monkeypatch.setattr(audit, "missing_in_source", lambda source, there: [])
    monkeypatch.setattr(audit, "missing_in_objects", lambda objects, source, there: [])
    with pytest.raises(LoweringError, match="undefined reference to `aoti_torch_cpu_mm_out'"):
        export(product, FLOATS)


def test_by_default_the_portable_kernels_take_what_has_no_kernel(shims):
    shims.without("aoti_torch_cpu_mm_out", "aoti_torch_cpu_addmm_out", "aoti_torch_cpu_bmm_out")
    report = lower(Program(lambda x: (product(x), x + 1)), (FLOATS,), backend="aoti-cpu").report
    left = {row.operator: row.reason for row in report if not row.delegated}
    assert "aoti_torch_cpu_mm_out" in left["aten.mm.default"]
    assert any(row.operator == "aten.add.Tensor" and row.delegated for row in report)


def test_what_eager_computes_in_fixed_point_is_not_computed_in_floats():
    images = torch.randint(0, 256, (1, 3, 4, 5), dtype=torch.uint8)
    larger = Program(lambda x: torch.nn.functional.interpolate(x, size=(8, 9), mode="bilinear"))
    lowered = lower(larger, (images,), backend="aoti-cpu")
    assert not [row for row in lowered.report if row.delegated and "upsample" in row.operator]
    assert torch.equal(load(lowered.buffer).forward(images)[0], larger(images))


def generated(function, example) -> codegen.Source:
    program = torch.export.export(Program(function), (example,))
    module = program.module(check_guards=False)
    module.graph._codegen = torch.fx.graph.CodeGen()
    module.recompile()
    values = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"]
    return codegen.generate(module, values[-1:], CPU, 256)


def test_equal_programs_have_equal_source():
    first, second = (generated(sorted_values, FLOATS) for _ in range(2))
    assert first == second
