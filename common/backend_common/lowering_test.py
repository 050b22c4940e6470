"""`lower`: what comes out, what is refused and how, and what stays untouched.

The test backend delegates nothing to a device: its delegate's payload is the names of its
operators, so that lowering is seen whole without a runtime.
"""

import copy
import dataclasses
import math
import operator

import pytest
import torch
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.canonical_partitioners.pattern_op_partitioner import (
    generate_partitions_from_list_of_nodes,
)
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from torch import nn
from torch.fx.passes.operator_support import OperatorSupportBase

from backend_common import ExecutionError, LoweringError, Method, load, lower, lowering
from backend_common import backend as registry
from backend_common.harness import difference
from backend_common.options import check_options

X = torch.tensor([[1.0, -2.0, 3.0, 4.0]])


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs, **kwargs):
        return self.function(*inputs, **kwargs)


def portable(function, *inputs, **rest):
    return lower(Call(function).eval(), inputs, backend="portable", **rest)


def leaves(tree):
    return torch.utils._pytree.tree_leaves(tree)


# ---------------------------------------------------------------- what comes out


def test_a_report_row_for_every_operator():
    lowered = portable(lambda x: torch.relu(x).sum(1), X)
    assert [(r.method, r.operator, r.delegated, r.backend) for r in lowered.report] == [
        ("forward", "aten.relu.default", False, "portable"),
        ("forward", "aten.sum.dim_IntList", False, "portable"),
    ]
    assert all("torch.relu(x).sum(1)" in row.source for row in lowered.report)
    assert all(row.source.startswith("lowering_test.py:") for row in lowered.report)


def test_rows_reach_into_bodies():
    lowered = portable(
        lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)), X
    )
    names = {row.operator for row in lowered.report}
    assert {"cond", "aten.sin.default", "aten.cos.default", "aten.gt.Tensor"} >= names - {
        "aten.sum.dim_IntList",
        "aten.gt.Scalar",
        "dim_order_ops._to_dim_order_copy.default",
    }
    assert {"cond", "aten.sin.default", "aten.cos.default"} <= names


OUTPUTS = {
    "topk": lambda x: torch.topk(x, 2),
    "max": lambda x: torch.max(x, 1),
    "min": lambda x: torch.min(x, 1),
    "sort": torch.sort,
    "dict": lambda x: {"b": x + 1.0, "a": [x * 2.0, (x - 1.0,)]},
    "constants": lambda x: (x + 1.0, 3, None, True, 2.5),
    "the_same_twice": lambda x: (lambda y: (y, y, y[:1]))(x * 2.0),
    "an_input": lambda x: (x, x + 1.0),
    "an_input_alone": lambda x: x,
    "expanded": lambda x: (x * 2.0).unsqueeze(0).expand(3, -1, -1),
    "transposed": lambda x: (x * 2.0).t(),
    "a_constant_tensor": lambda x: (x, torch.ones(2)),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_any_structure_of_outputs(name):
    function = OUTPUTS[name]
    outputs = load(portable(function, X).buffer).forward(X)
    assert difference(leaves(function(X)), outputs, 1e-6) == ""


def test_topk_in_strict_mode():
    outputs = load(portable(OUTPUTS["topk"], X, strict=True).buffer).forward(X)
    assert difference(leaves(OUTPUTS["topk"](X)), outputs, 0) == ""


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.ones(1))
        self.register_buffer("table", torch.arange(4.0))

    def forward(self, x):
        self.n.add_(1)
        self.table[1] = self.table[1] * 2
        return x * 0 + self.n, self.table + 0.0


def test_mutated_buffers_start_with_their_values_and_keep_count():
    program = load(lower(Counter().eval(), (X,), backend="portable").buffer)
    eager = Counter()
    for _ in range(3):
        assert difference(leaves(eager(X)), program.forward(X), 0) == ""
    again = load(lower(Counter().eval(), (X,), backend="portable").buffer)
    assert again.forward(X)[0][0, 0] == 2  # a program of its own


def test_methods_of_their_own_module_and_inputs():
    both = {
        "encode": Method(Call(torch.sin), (X,)),
        "decode": Method(Call(lambda x, *, scale: x * scale), (X,), {"scale": torch.tensor(2.0)}),
    }
    lowered = lower(both, backend="portable")
    assert [(row.method, row.operator) for row in lowered.report] == [
        ("encode", "aten.sin.default"),
        ("decode", "aten.mul.Tensor"),
    ]
    program = load(lowered.buffer)
    assert sorted(program.methods) == ["decode", "encode"]
    assert torch.equal(program.method("decode")(X, scale=torch.tensor(2.0))[0], X * 2)
    assert torch.allclose(program.method("encode")(X)[0], X.sin())


def test_an_exported_program_is_lowered_and_not_changed():
    class Net(Counter):
        def forward(self, x):
            with torch.no_grad():
                y = x * 2
            return super().forward(x), torch.topk(y, 2), torch.arange(5) % -3

    exported = torch.export.export(Net().eval(), (X,))
    before = (exported.graph_module.code, str(exported.graph_signature))
    values = {key: value.clone() for key, value in exported.state_dict.items()}
    metas = [dict(node.meta) for node in exported.graph.nodes]
    outputs = load(lower(exported, backend="portable").buffer).forward(X)
    assert difference(leaves(Net()(X)), outputs, 1e-6) == ""
    assert (exported.graph_module.code, str(exported.graph_signature)) == before
    assert [dict(node.meta).keys() for node in exported.graph.nodes] == [m.keys() for m in metas]
    assert all(torch.equal(values[key], exported.state_dict[key]) for key in values)


def test_the_users_module_is_not_changed():
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), Counter()).eval()
    before = copy.deepcopy(module.state_dict())
    attributes = {name: set(vars(part)) for name, part in module.named_modules()}
    lower(module, (X,), backend="portable")
    after = module.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before) and len(before) == len(after)
    assert {name: set(vars(part)) for name, part in module.named_modules()} == attributes
    assert not module.training and module[0].weight.requires_grad
    assert torch.is_grad_enabled()


def test_the_same_input_gives_the_same_bytes():
    def model():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 300), nn.ReLU(), nn.Linear(300, 4), Counter()).eval()

    first, second = (lower(model(), (X,), backend="portable") for _ in range(2))
    assert first.buffer == second.buffer and first.report == second.report


def test_dynamic_shapes():
    rows = torch.export.Dim("rows", min=2, max=16)
    lowered = portable(
        lambda x: x.reshape(x.shape[0], -1) * 2.0,
        torch.ones(3, 2, 2),
        dynamic_shapes=(({0: rows},),),
    )
    program = load(lowered.buffer)
    for count in (2, 7, 16):
        assert program.forward(torch.ones(count, 2, 2))[0].shape == (count, 4)


def test_stages_are_announced_in_order():
    said = []
    portable(torch.sin, X, progress=said.append)
    assert said == ["export", "lower to portable", "emit the program"]


def test_save(tmp_path):
    lowered = portable(torch.sin, X)
    lowered.save(str(tmp_path / "model.pte"))
    assert (tmp_path / "model.pte").read_bytes() == lowered.buffer
    assert lowered.data is None and not (tmp_path / "model.ptd").exists()


def test_weights_outside_the_program(tmp_path):
    module = nn.Linear(4, 500).eval()
    lowered = lower(module, (X,), backend="portable", options={"external_weights": True})
    assert lowered.data is not None and len(lowered.data) > 8000 > len(lowered.buffer)
    lowered.save(tmp_path / "model.pte")
    program = load(tmp_path / "model.pte", data=tmp_path / "model.ptd")
    assert difference([module(X)], program.forward(X), 1e-5) == ""
    with pytest.raises(ExecutionError):
        load(tmp_path / "model.pte").forward(X)


# ---------------------------------------------------------------- what is refused


def refusal(*arguments, **rest):
    with pytest.raises(LoweringError) as caught:
        portable(*arguments, **rest)
    return caught.value


def two_without_a_kernel(x):
    a = torch.digamma(x)
    b = torch.i0(x)
    return a + b


def line_of(function, offset):
    return f"lowering_test.py:{function.__code__.co_firstlineno + offset}  "


def test_every_operator_without_a_kernel_is_named_with_its_line():
    rows = refusal(two_without_a_kernel, X).rows
    assert [(row.operator, row.node, row.source) for row in rows] == [
        (
            "aten.digamma.default",
            "aten_digamma_default",
            line_of(two_without_a_kernel, 1) + "a = torch.digamma(x)",
        ),
        (
            "aten.i0.default",
            "aten_i0_default",
            line_of(two_without_a_kernel, 2) + "b = torch.i0(x)",
        ),
    ]
    assert all(row.operator.split(".")[1] in row.reason and row.remedy for row in rows)


def test_an_operator_without_a_kernel_inside_a_body():
    error = refusal(
        lambda x: torch.cond(x.sum() > 0, lambda x: x.digamma(), lambda x: x.cos(), (x,)), X
    )
    assert [row.operator for row in error.rows] == ["aten.digamma.default"]


def test_a_custom_operator_without_a_kernel():
    with torch.library._scoped_library("lowering_test", "DEF") as library:
        library.define("fancy(Tensor x) -> Tensor")
        library.impl("fancy", lambda x: x + 1, "CompositeExplicitAutograd")
        torch.library.register_fake("lowering_test::fancy", torch.empty_like, lib=library)
        error = refusal(lambda x: torch.ops.lowering_test.fancy(x), X)
    assert [row.operator for row in error.rows] == ["lowering_test.fancy.default"]


def two_conditions_on_values(x):
    if x.sum() > 0:
        x = x + 1
    if x.max() > 3:
        x = x * 2
    return x


def test_every_data_dependent_place_is_named():
    error = refusal(two_conditions_on_values, X)
    assert [row.source for row in error.rows] == [
        line_of(two_conditions_on_values, 1) + "if x.sum() > 0:",
        line_of(two_conditions_on_values, 3) + "if x.max() > 3:",
    ]
    assert all("torch.cond" in row.remedy for row in error.rows)
    assert type(error.__cause__).__name__ == "GuardOnDataDependentSymNode"


def test_a_mistake_of_the_model_is_told_with_its_line():
    def mistaken(x):
        return x @ x

    error = refusal(mistaken, torch.ones(3, 2))
    (row,) = error.rows
    assert row.source == line_of(mistaken, 1) + "return x @ x"
    assert "same reduction dim" in row.reason
    assert isinstance(error.__cause__, RuntimeError)


class ScaledByRoot(torch.nn.Module):
    def forward(self, x):
        return x / math.sqrt(x.shape[0])


def test_a_size_that_became_a_number_is_told_with_a_remedy():
    rows = torch.export.Dim("rows", max=8)
    with pytest.raises(LoweringError) as caught:
        lower(ScaledByRoot(), (torch.ones(3),), backend="portable", dynamic_shapes=({0: rows},))
    (row,) = caught.value.rows
    assert "specialized it to be a constant (3)" in row.reason
    assert "n ** 0.5 for math.sqrt(n)" in row.remedy


def test_a_failure_inside_decomposition_names_the_operator():
    def complex_constant(x):
        return x * 2j

    (row,) = refusal(complex_constant, X).rows
    assert row.operator == "aten.mul.Tensor"
    assert row.source == line_of(complex_constant, 1) + "return x * 2j"
    assert "While executing" not in row.reason


def test_a_failure_in_emission_is_told(monkeypatch):
    def fail(*arguments):
        raise RuntimeError("no memory for aten.add.Tensor")

    monkeypatch.setattr(lowering.EdgeProgramManager, "to_executorch", fail)
    error = refusal(lambda x: x + 1, X)
    assert str(error).startswith("emitting the program failed")
    assert "no memory" in error.rows[0].reason


def test_unknown_backend_and_options():
    with pytest.raises(LoweringError, match=r"there are: .*portable"):
        lower(Call(torch.sin), (X,), backend="no-such-backend")
    assert "its options are: external_weights" in str(
        refusal(torch.sin, X, options={"device": "CPU"})
    )
    assert "True or False" in str(refusal(torch.sin, X, options={"external_weights": "yes"}))


@pytest.mark.parametrize(
    ("model", "inputs", "text"),
    [
        (Call(torch.sin), None, "needs example_inputs"),
        (Call(torch.sin), X, r"pass the tuple \(tensor,\)"),
        (torch.sin, (X,), "model is a builtin_function_or_method"),
        ({}, None, "dict of methods is empty"),
        ({"forward": Call(torch.sin)}, None, "method 'forward' is a Call"),
    ],
)
def test_what_is_no_model(model, inputs, text):
    with pytest.raises(TypeError, match=text):
        lower(model, inputs, backend="portable")


# ---------------------------------------------------------------- with a delegate


class NamesOfOperators(BackendDetails):
    @staticmethod
    def preprocess(edge_program, compile_specs):
        names = [str(n.target) for n in edge_program.graph.nodes if n.op == "call_function"]
        return PreprocessResult(processed_bytes="\n".join(["operators:", *names]).encode())


class Supported(OperatorSupportBase):
    def __init__(self, keep, diagnostics):
        self.keep, self.diagnostics = keep, diagnostics

    def is_node_supported(self, submodules, node):
        if node.op != "call_function":
            return False
        if node.target is operator.getitem:
            return True
        name = str(node.target._op)
        if name in self.keep:
            self.diagnostics.reject(node, "it is in `keep`", "take it out of `keep`")
        elif name == "aten.cos.default":
            self.diagnostics.reject(node, "the device has no cosine", "use sin")
        return name in TAKEN and name not in self.keep


TAKEN = {"aten.sin.default", "aten.mul.Tensor", "aten.remainder.Tensor", "aten.remainder.Scalar"}


class NamesPartitioner(Partitioner):
    def __init__(self, support):
        super().__init__()
        self.support = support

    def partition(self, exported_program):
        spec = DelegationSpec(NamesOfOperators.__name__, [])
        tags = {}
        for partition in generate_partitions_from_list_of_nodes(
            exported_program.graph_module, op_support=self.support
        ):
            tag = f"tag{partition.id}"
            tags[tag] = spec
            for node in partition.nodes:
                node.meta["delegation_tag"] = tag
        return PartitionResult(exported_program, tags)


@dataclasses.dataclass
class NamesBackend:
    name: str = "names"
    backend_id: str = NamesOfOperators.__name__
    transforms: tuple = ()

    def parse_options(self, options):
        return check_options(self.name, options, {})

    def partitioners(self, options, *, keep, method, diagnostics):
        return [NamesPartitioner(Supported(keep, diagnostics))]

    def edge_compile_config(self, options):
        return None

    def passes(self, options):
        return self.transforms

    def try_delegates(self, options, programs, example_inputs):
        pass

    def delegate_libraries(self):
        return ()


@pytest.fixture
def names(monkeypatch):
    backend = NamesBackend()
    find = registry.find
    monkeypatch.setattr(registry, "find", lambda n: backend if n == "names" else find(n))
    return backend


def on_names(function, *inputs, **rest):
    return lower(Call(function).eval(), inputs, backend="names", **rest)


def summary(lowered):
    return [(row.operator, row.delegated, row.backend, row.reason) for row in lowered.report]


def test_what_is_delegated_and_what_is_left_and_why(names):
    lowered = on_names(lambda x: (x.sin() * x).cos().exp(), X)
    assert summary(lowered) == [
        ("aten.sin.default", True, "names", ""),
        ("aten.mul.Tensor", True, "names", ""),
        ("aten.cos.default", False, "portable", "the device has no cosine"),
        ("aten.exp.default", False, "portable", ""),
    ]
    assert lowered.report[2].remedy == "use sin"
    assert all("(x.sin() * x).cos().exp()" in row.source for row in lowered.report)


def test_keep_leaves_an_operator_undelegated(names):
    lowered = on_names(lambda x: (x.sin() * x).cos(), X, keep=["aten.sin.default"])
    assert summary(lowered)[0] == ("aten.sin.default", False, "portable", "it is in `keep`")
    assert summary(lowered)[1] == ("aten.mul.Tensor", True, "names", "")


def test_the_delegates_data_lies_at_a_page(names):
    buffer = on_names(lambda x: (x.sin() * x).cos(), X).buffer
    at = buffer.find(b"operators:\n")
    assert at > 0 and at % 4096 == 0


def test_with_a_delegate_the_bytes_are_the_same_too(names):
    first, second = (on_names(lambda x: (x.sin() * x).cos() * x, X) for _ in range(2))
    assert first.buffer == second.buffer


def test_an_operator_that_the_backend_takes_stays_whole(names):
    lowered = on_names(lambda x: x % 3, torch.arange(5))
    assert ("aten.remainder.Scalar", True, "names", "") in summary(lowered)


def test_an_operator_that_it_leaves_is_written_with_others(names):
    kept = ["aten.remainder.Scalar", "aten.mul.Tensor"]
    lowered = on_names(lambda x: x % 3, torch.arange(-5, 5), keep=kept)
    assert not any("remainder" in row.operator or row.delegated for row in lowered.report)
    outputs = load(lowered.buffer).forward(torch.arange(-5, 5))
    assert torch.equal(outputs[0], torch.arange(-5, 5) % 3)


def test_an_error_of_a_pass_names_it(names):
    class BreakEverything:
        def __call__(self, program):
            raise KeyError("arg2_1")

    names.transforms = (BreakEverything(),)
    with pytest.raises(LoweringError, match="BreakEverything of 'forward' failed") as caught:
        on_names(torch.sin, X)
    assert "arg2_1" in caught.value.rows[0].reason
    assert isinstance(caught.value.__cause__, KeyError)


def test_passes_run_in_order_before_edge(names):
    seen = []

    def first(program):
        seen.append([str(n.target) for n in program.graph.nodes if n.op == "call_function"])
        return program

    names.transforms = (first, lambda program: seen.append("second") or program)
    on_names(lambda x: nn.functional.linear(x, X), X)
    assert seen == [["aten.linear.default"], "second"]


def test_an_operator_without_a_kernel_keeps_the_backends_reason(names, monkeypatch):
    reject = Supported.is_node_supported

    def supported(self, submodules, node):
        if "digamma" in str(node.target):
            self.diagnostics.reject(node, "the device has no digamma", "use lgamma")
        return reject(self, submodules, node)

    monkeypatch.setattr(Supported, "is_node_supported", supported)
    with pytest.raises(LoweringError) as caught:
        on_names(lambda x: torch.digamma(x), X)
    (row,) = caught.value.rows
    assert "aten::digamma.out" in row.reason and "the device has no digamma" in row.reason
    assert row.remedy == "use lgamma"


def test_a_name_in_keep_that_no_operator_has_is_refused_with_those_like_it():
    with pytest.raises(LoweringError, match="1 name in `keep`") as caught:
        portable(lambda x: x.relu().sin(), X, keep=["aten.rleu", "aten::sin"])
    (row,) = caught.value.rows
    assert row.operator == "aten.rleu" and row.remedy == "there is aten.relu.default"


def test_keep_is_a_list():
    with pytest.raises(TypeError, match=r"\['aten.relu'\]"):
        lower(torch.nn.ReLU(), (torch.ones(2),), backend="portable", keep="aten.relu")


def test_what_is_given_wrongly_is_named():
    with pytest.raises(TypeError, match="names of operators only"):
        lower(torch.nn.ReLU(), (torch.ones(2),), backend="portable", keep=[3])
    with pytest.raises(TypeError, match="options is a list"):
        lower(torch.nn.ReLU(), (torch.ones(2),), backend="portable", options=["nan"])


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def loop(x):
    def body(i, x):
        return i + 1, x * 2

    return torch._higher_order_ops.while_loop(lambda i, x: i < 3, body, (torch.tensor(0), x))


@pytest.mark.parametrize(
    ("function", "inputs", "operator", "remedy"),
    [
        (torch.linalg.inv, (torch.eye(3),), "aten.linalg_inv_ex.default", "outside"),
        (torch.bincount, (torch.tensor([1, 2, 3]),), "aten.bincount.default", "torch._check"),
        (
            lambda x, counts: x.repeat_interleave(counts),
            (torch.ones(3), torch.tensor([1, 2, 3])),
            "aten.repeat_interleave.Tensor",
            "torch._check",
        ),
        (loop, (torch.ones(3),), "while_loop", "one after the other"),
    ],
)
def test_what_no_program_can_say_is_named_with_a_remedy(function, inputs, operator, remedy):
    with pytest.raises(LoweringError, match="no place in a program") as caught:
        lower(Calls(function), inputs, backend="portable")
    (row,) = caught.value.rows
    assert row.operator == operator
    assert row.source.startswith("lowering_test.py:")
    assert remedy in row.remedy


def test_what_a_dynamic_size_is_needed_for_and_programs_cannot_compute_is_named():
    def attend(q):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q)

    head = torch.export.Dim("head", min=2, max=16)
    with pytest.raises(LoweringError, match="no place in a program") as caught:
        lower(
            *(Calls(attend), (torch.randn(1, 2, 5, 8),)),
            dynamic_shapes=(({3: head},),),
            backend="portable",
        )
    assert {row.operator for row in caught.value.rows} == {"pow"}
    assert all(row.source.startswith("lowering_test.py:") for row in caught.value.rows)
    assert all("0.5" in row.reason and "dynamic_shapes" in row.remedy for row in caught.value.rows)


@torch.library.custom_op("lowering_test::put", mutates_args=("x",))
def put(x: torch.Tensor, y: torch.Tensor) -> None:
    x.copy_(y)


@put.register_fake
def _(x, y):
    return None


def test_an_operator_that_writes_and_returns_nothing_is_refused_by_name():
    def function(x):
        y = x * 2
        put(y, x)
        return y + 1

    with pytest.raises(LoweringError, match="no place in a program") as caught:
        lower(Calls(function), (torch.randn(3),), backend="portable")
    (row,) = caught.value.rows
    assert row.operator == "lowering_test.put.default"
    assert row.source.startswith("lowering_test.py:")
    assert "returns nothing" in row.reason and "declare" in row.remedy


@pytest.mark.parametrize(
    ("remedy", "said"),
    [
        ("", "register a kernel"),
        ("leave it to the portable kernels with keep=['aten.det.default']", "register a kernel"),
        (
            "register a C shim, or leave it to the portable kernels with keep=['mylib.fancy']",
            "register a C shim, or register a kernel",
        ),
        ("take it out of `keep`", "take it out of `keep`"),
    ],
)
def test_no_operator_is_to_be_left_to_kernels_that_are_not_there(remedy, said):
    assert lowering._remedy_without_kernels(remedy, "register a kernel") == said


# ---------------------------------------------------------------- sizes that depend on values


def split(x, n):
    a, b = n.tolist()
    torch._check(a >= 0)
    torch._check(b >= 0)
    torch._check(a + b == x.shape[0])
    first, second = x.split([a, b])
    return first * 2, second.sum(0)


def filled(x, n):
    rows, columns = n.tolist()
    torch._check(rows >= 0)
    torch._check(rows <= 9)
    torch._check(columns >= 0)
    torch._check(columns <= 9)
    return torch.ones(rows, columns) * x[0, 0]


KNOWN = torch.arange(20.0).reshape(5, 4)


@pytest.mark.parametrize(
    ("function", "inputs", "others"),
    [
        (
            lambda x, m: x[:, m],
            (KNOWN, torch.tensor([True, False, True, True])),
            (KNOWN, torch.zeros(4, dtype=torch.bool)),
        ),
        (
            lambda x, m: (x[m] @ x[m].t(), x[m].softmax(-1), torch.cat([x[m], x])),
            (KNOWN, torch.tensor([True, False, True, True, False])),
            (KNOWN, torch.ones(5, dtype=torch.bool)),
        ),
        (
            lambda x: (x[x.nonzero()[:, 0]].sum(), x.nonzero().t()),
            (torch.tensor([1.0, 0.0, 2.0]),),
            (torch.zeros(3),),
        ),
        (filled, (KNOWN, torch.tensor([2, 3])), (KNOWN, torch.tensor([4, 1]))),
        (split, (KNOWN, torch.tensor([2, 3])), (KNOWN, torch.tensor([5, 0]))),
    ],
    ids=("columns_of_a_mask", "rows_of_a_mask", "places", "sizes_of_a_result", "sizes_of_parts"),
)
def test_results_whose_size_depends_on_values(function, inputs, others):
    program = load(portable(function, *inputs).buffer)
    for given in (inputs, others):
        assert difference(leaves(function(*given)), program.forward(*given), 1e-5) == ""


def test_a_program_may_return_numbers_alone():
    def function(x):
        return x.argmax().item(), x.max().item(), x.shape[0], True

    program = load(portable(function, X).buffer)
    assert program.forward(X) == [3, 4.0, 1, True]
    assert program.forward(-X) == [1, 2.0, 1, True]


# ---------------------------------------------------------------- dtypes


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32])
def test_bytes_of_a_rare_dtype_are_moved(dtype):
    def function(x):
        y = x.view(2, 2).unsqueeze(0)
        return y.expand(3, 2, 2), y[0, 1], x[1:], x[[0, 2]], x.clone()

    x = torch.tensor([1, 2, 3, 65000], dtype=dtype)
    outputs = load(portable(function, x).buffer).forward(x)
    assert all(map(torch.equal, outputs, function(x)))


@pytest.mark.parametrize(
    ("function", "operator"),
    [
        (lambda x: x.to(torch.uint16), "dim_order_ops._to_dim_order_copy.default"),
        (lambda x: x.to(torch.float8_e5m2), "dim_order_ops._to_dim_order_copy.default"),
    ],
)
def test_an_operator_of_a_dtype_that_its_kernel_lacks_is_refused(function, operator):
    with pytest.raises(LoweringError, match="no kernel for a dtype") as caught:
        portable(function, X)
    (row,) = caught.value.rows
    assert row.operator == operator and row.source.startswith("lowering_test.py:")
