"""Which nodes are delegated, what is said about the others, and that nothing aborts."""

import backend_common
import pytest
import torch
import torch.nn.functional as F
from backend_common import payload
from executorch.exir import to_edge_transform_and_lower

from openvino_backend import compilation, conversion, operators, preprocess, support
from openvino_backend.conftest import lower
from openvino_backend.partitioner import OpenvinoPartitioner


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def rows_of(function, *inputs, **options):
    return {row.operator: row for row in lower(Function(function), *inputs, **options).report}


def test_a_plain_model_is_delegated_whole(two_layers):
    assert all(row.delegated for row in two_layers.lowered.report)


@pytest.mark.parametrize(
    ("function", "inputs", "operator", "reason"),
    [
        (lambda x: x + 1, (torch.tensor([2**40]),), "aten.add.Tensor", "int64 in 32 bits"),
        (lambda x: x * x, (torch.tensor([3], dtype=torch.uint8),), "aten.mul.Tensor", "wrap"),
        (
            lambda x: x.sum(dtype=torch.int8),
            (torch.tensor([200, 100], dtype=torch.uint8),),
            "aten.sum",
            "wrap",
        ),
        (torch.exp, (torch.ones(2, dtype=torch.float64),), "aten.exp.default", "float64"),
        (lambda x: x.int(), (torch.ones(3),), "dim_order_ops._to_dim_order_copy", "saturates"),
    ],
)
def test_what_openvino_computes_otherwise_is_left_with_a_reason(function, inputs, operator, reason):
    rows = rows_of(function, *inputs)
    (row,) = [row for name, row in rows.items() if name.startswith(operator)]
    assert not row.delegated
    assert reason in row.reason


HALF = torch.randn(16, 8, generator=torch.Generator().manual_seed(0)).bfloat16()


@pytest.mark.parametrize(
    ("function", "operator"),
    [
        (lambda x: (x * 3).argmax(1), "aten.argmax.default"),
        (lambda x: (x * 3).max(1), "aten.max.dim"),
        (lambda x: (x * 127).round(), "aten.round.default"),
        (lambda x: (x / 3).floor().relu(), "aten.floor.default"),
        (lambda x: (x * 3 > x + 1).sum(), "aten.gt.Tensor"),
        (lambda x: (x + 256) - 256, "aten.sub.Tensor"),
    ],
)
def test_what_rounding_to_half_precision_decides_is_left(function, operator):
    lowered = lower(Function(function), HALF)
    (row,) = [row for row in lowered.report if row.operator == operator]
    assert not row.delegated and "does not round to bfloat16" in row.reason
    (expected, *_) = torch.utils._pytree.tree_leaves(function(HALF))
    assert torch.equal(backend_common.load(lowered.buffer).forward(HALF)[0], expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.t().relu().argmax(1),
        lambda x: x.round() + x.floor(),
        lambda x: (x > 0) & (x[:, :1] < x),
        lambda x: torch.nn.functional.hardshrink(x * 3),
        lambda x: x + x.sin() + x.cos() - x.exp(),
    ],
)
def test_what_rounding_decides_nothing_of_is_delegated(function):
    assert all(row.delegated for row in lower(Function(function), HALF).report)


def test_keep_leaves_an_operator():
    rows = rows_of(lambda x: torch.relu(x.exp()), torch.ones(3), keep=["aten.relu"])
    assert rows["aten.exp.default"].delegated
    assert not rows["aten.relu.default"].delegated
    assert "keep" in rows["aten.relu.default"].reason


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sin() + torch.as_strided(x * 2, (1, 1), (3, 1), 1),
        lambda x: torch.ops.aten.index_put(x + 1, [None, torch.tensor([0, 2])], x[:, :2]),
        lambda x: torch.nn.functional.fold(
            x.unsqueeze(1).expand(-1, 4, -1)[..., :4], (3, 3), (2, 2)
        ),
    ],
    ids=["strides", "writes behind a dimension", "fold"],
)
def test_a_size_that_is_not_known_stays_unknown(function):
    """Conversions would fix it, and torch's fake copies of views."""
    sizes = (({0: torch.export.Dim("n", min=3, max=16)},),)
    module = Function(function)
    lowered = lower(module, torch.randn(3, 4), dynamic_shapes=sizes)
    x = torch.randn(7, 4)
    (output,) = backend_common.load(lowered.buffer).forward(x)
    torch.testing.assert_close(output, module(x))


def test_data_that_only_moves_is_left_alone():
    rows = rows_of(lambda x: x.permute(1, 0), torch.ones(2, 3))
    assert "moves data" in rows["aten.permute_copy.default"].reason


def test_an_index_needs_no_proof_but_data_does():
    table = torch.randn(10, 4)
    rows = rows_of(lambda i: torch.nn.functional.embedding(i, table) * 2, torch.tensor([3]))
    assert rows["aten.embedding.default"].delegated


def _rotary(x, positions):
    angles = positions[:, None] / 10000 ** (torch.arange(0, 8, 2) / 8)
    cosine, sine = (torch.cat([f, f], -1) for f in (angles.cos(), angles.sin()))
    return x * cosine + torch.cat([-x[..., 4:], x[..., :4]], -1) * sine


def _complex_rotary(x):
    angles = torch.outer(torch.arange(5.0), 10000 ** (torch.arange(4) / -4))
    turned = torch.view_as_complex(x.unflatten(-1, (4, 2))) * torch.polar(angles * 0 + 1, angles)
    return torch.view_as_real(turned).flatten(-2)


def _write(x, value):
    x = x * 2
    x[:, 1:, ::2] = value.sin()
    x[..., torch.tensor([0, -1])] = 1.0
    return x + 1


HEADS = torch.randn(1, 2, 5, 8, generator=torch.Generator().manual_seed(0))
IMAGES = HEADS.reshape(2, 2, 5, 4)
INTERPOLATE = torch.nn.functional.interpolate
WHOLE = {
    "causal_attention": (
        lambda x: torch.nn.functional.scaled_dot_product_attention(x * 2, x, x, is_causal=True),
        HEADS,
    ),
    "rotary": (_rotary, HEADS, torch.arange(5.0)),
    "complex_rotary": (_complex_rotary, HEADS),
    "layer_norm": (lambda x: torch.nn.functional.layer_norm(x.sin(), [8]).cos(), HEADS),
    "instance_norm": (lambda x: torch.nn.functional.instance_norm(x.sin()).cos(), IMAGES),
    "writes": (_write, HEADS[0], HEADS[0, :, 1:, ::2]),
    "windows": (lambda x: x.sin().unfold(-1, 4, 2).sum(-1), HEADS),
    "grid_sample": (
        lambda x, grid: torch.nn.functional.grid_sample(x.sin(), grid, align_corners=False) + 1,
        *(IMAGES, IMAGES[:, :, :4, :2]),
    ),
    **{
        mode: (lambda x, m=mode: INTERPOLATE(x.sin(), scale_factor=1.7, mode=m).cos(), IMAGES)
        for mode in ("bilinear", "bicubic", "nearest-exact")
    },
    "linear": (lambda x: INTERPOLATE(x.sin(), size=9, mode="linear").cos(), IMAGES[0]),
    "trilinear": (
        lambda x: INTERPOLATE(x.sin(), size=6, mode="trilinear", align_corners=True).cos(),
        IMAGES[None],
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_ends_in_one_delegate(name):
    function, *inputs = WHOLE[name]
    lowered = lower(Function(function), *inputs)
    assert [row for row in lowered.report if not row.delegated] == []
    assert lowered.buffer.count(payload.MAGIC) == 1
    (output,) = backend_common.load(lowered.buffer).forward(*inputs)
    torch.testing.assert_close(output, function(*inputs), rtol=1e-3, atol=1e-3)


def test_a_conversion_that_fails_leaves_that_node_alone(monkeypatch):
    original = preprocess.to_model

    def fails_on_sin(module, options):
        if any(operators.name_of(node) == "aten.sin.default" for node in module.graph.nodes):
            raise conversion.ConversionError("no sine today")
        return original(module, options)

    monkeypatch.setattr(preprocess, "to_model", fails_on_sin)
    x = torch.randn(3)
    module = Function(lambda x: (x.exp() + 1).sin().cos() * 2)
    lowered = lower(module, x)
    rows = {row.operator: row for row in lowered.report}
    assert "no sine today" in rows["aten.sin.default"].reason
    for name in ("aten.exp.default", "aten.add.Tensor", "aten.cos.default", "aten.mul.Tensor"):
        assert rows[name].delegated
    (output,) = backend_common.load(lowered.buffer).forward(x)
    torch.testing.assert_close(output, module(x), rtol=1e-3, atol=1e-3)


def test_a_node_that_the_compiler_refuses_is_one_error_for_who_uses_the_partitioner(monkeypatch):
    def refuses(model, device):
        raise conversion.ConversionError("no code for it")

    monkeypatch.setattr(compilation, "compile_model", refuses)
    program = torch.export.export(Function(torch.exp), (torch.ones(3),))
    with pytest.raises(backend_common.LoweringError, match=r"1 operator for CPU.*\n.*no code"):
        to_edge_transform_and_lower(program, partitioner=[OpenvinoPartitioner()])


def test_it_is_an_ordinary_partitioner():
    program = torch.export.export(Function(torch.exp), (torch.ones(3),))
    edge = to_edge_transform_and_lower(program, partitioner=[OpenvinoPartitioner()])
    (node,) = [n for n in edge.exported_program().graph.nodes if n.op == "get_attr"]
    lowered = getattr(edge.exported_program().graph_module, node.target)
    assert lowered.backend_id == "OpenvinoBackend"


def test_what_another_partitioner_tagged_stays_its_own():
    program = torch.export.export(Function(lambda x: x.exp().cos()), (torch.ones(3),))
    edge = to_edge_transform_and_lower(program, partitioner=[]).exported_program()
    for node in edge.graph.nodes:
        if "cos" in node.name:
            node.meta["delegation_tag"] = "other"
    tagged = OpenvinoPartitioner().partition(edge).tagged_exported_program
    tags = {n.name: n.meta.get("delegation_tag") for n in tagged.graph.nodes}
    assert tags["aten_cos_default"] == "other"
    assert tags["aten_exp_default"] == "openvino_0"


def test_every_rule_is_for_an_operator_that_exists():
    for name in support.NAMES:
        namespace, _, rest = name.partition(".")
        if not rest:
            continue  # getitem
        packet, _, overload = rest.rpartition(".")
        if namespace == "aten":
            assert hasattr(getattr(torch.ops.aten, packet), overload), name


def test_a_parameter_that_is_returned_stays_outside_of_the_delegate():
    class Returned(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))

        def forward(self, x):
            return self.weight, torch.relu(x * self.weight)

    x = torch.tensor([-1.0, 1.0])
    lowered = lower(Returned(), x)
    assert any(row.delegated for row in lowered.report)
    weight, product = backend_common.load(lowered.buffer).forward(x)
    assert weight.tolist() == [1.0, 2.0] and product.tolist() == [0.0, 2.0]


def test_what_the_devices_compiler_refuses_goes_to_other_kernels(monkeypatch):
    """Only tanh, though its partition has more."""
    compile_model = compilation.compile_model

    def refuse_tanh(model, device):
        if any(node.get_type_name() == "Tanh" for node in model.get_ops()):
            raise conversion.ConversionError("there is no tanh today")
        return compile_model(model, device)

    monkeypatch.setattr(compilation, "compile_model", refuse_tanh)
    function, x = Function(lambda x: torch.tanh(x.sin()).cos()), torch.ones(3)
    lowered = lower(function, x)
    rows = {row.operator: row for row in lowered.report}
    assert "cannot compile it: there is no tanh today" in rows["aten.tanh.default"].reason
    assert rows["aten.sin.default"].delegated and rows["aten.cos.default"].delegated
    (output,) = backend_common.load(lowered.buffer).forward(x)
    torch.testing.assert_close(output, function(x))


ROWS = torch.export.Dim("rows", min=0, max=8)
SOME_ROWS = torch.export.Dim("rows", min=1, max=8)
IMAGES = torch.randn(3, 2, 8, 8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("function", "operator"),
    [
        (lambda x: x.relu().mean(0), "aten.mean.dim"),
        (lambda x: x.relu().mean(), "aten.mean"),
        (lambda x: (x - 1).std(0), "aten.var.correction"),
        (lambda x: F.mse_loss(x, x * 2), "aten.mean"),
        (lambda x: F.max_pool2d(x.relu(), 2), "aten.max_pool2d_with_indices"),
        (lambda x: F.max_pool1d(x.relu()[..., 0], 2), "aten.max_pool2d_with_indices"),
        (lambda x: F.avg_pool1d(x.relu()[..., 0], 2), "aten.avg_pool2d"),
        (lambda x: F.interpolate(x.relu(), scale_factor=2, mode="bilinear"), "aten.upsample"),
    ],
)
@pytest.mark.parametrize(("rows", "delegated"), [(ROWS, False), (SOME_ROWS, True)])
def test_what_differs_for_tensors_without_elements_is_left_if_there_may_be_one(
    function, operator, rows, delegated
):
    lowered = lower(Function(function), IMAGES, dynamic_shapes=(({0: rows},),))
    left = {row.operator: row.delegated for row in lowered.report}
    assert [each for name, each in left.items() if name.startswith(operator)] == [delegated]
    program = backend_common.load(lowered.buffer)
    for images in (IMAGES, IMAGES.repeat(2, 1, 1, 1), IMAGES[: 0 if rows is ROWS else 1]):
        torch.testing.assert_close(
            program.forward(images)[0], function(images), equal_nan=True, rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("taken", [slice(-2, None), slice(None, 2), slice(-2, -1)])
def test_a_slice_that_is_longer_than_the_size_may_be_is_no_wrong_result(taken):
    def function(x):
        return x[taken] * 2

    lowered = lower(Function(function), IMAGES, dynamic_shapes=(({0: SOME_ROWS},),))
    program = backend_common.load(lowered.buffer)
    torch.testing.assert_close(program.forward(IMAGES)[0], function(IMAGES))
    with pytest.raises(backend_common.ExecutionError):
        program.forward(IMAGES[:1])


class Cache(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, 2, 16, 4))

    def forward(self, x, position):
        self.cache[:, :, position] = x
        return self.cache * 1


def test_a_cache_of_one_takes_any_number_of_positions():
    count = torch.export.Dim("count", min=2, max=8)
    lowered = lower(
        Cache(),
        *(torch.randn(1, 2, 4, 4), torch.arange(4)),
        dynamic_shapes=({2: count}, {0: count}),
    )
    (put,) = [row for row in lowered.report if row.operator == "aten.index_put.default"]
    assert put.delegated
    program, eager = backend_common.load(lowered.buffer), Cache()
    for size in (4, 6, 2, 8):
        inputs = (torch.randn(1, 2, size, 4), torch.arange(size) + 5)
        torch.testing.assert_close(program.forward(*inputs)[0], eager(*inputs))
