"""Let float16 overflow where it does in PyTorch.

OpenVINO's CPU device computes a float16 model in float32, and what lies between two operators
keeps the range of that: `x * x / 300` of 300 is 300, and infinity in PyTorch.
"""

import math

import torch
from torch import fx

from openvino_backend import operators
from openvino_backend.half_precision import SUMS
from openvino_backend.passes.builder import Builder

aten = torch.ops.aten

# Each can make what float16 cannot hold out of what it can.
_GROWING = frozenset(
    {
        *SUMS,
        *(f"aten.{name}.{kind}" for name in ("mul", "div") for kind in ("Tensor", "Scalar")),
        *(f"aten.pow.{kind}" for kind in ("Tensor_Scalar", "Tensor_Tensor", "Scalar")),
        *(
            f"aten.{name}.default"
            for name in (
                *("exp", "expm1", "sinh", "cosh", "tan", "reciprocal", "rsqrt", "cumsum"),
                *("mm", "bmm", "addmm", "baddbmm", "convolution"),
                *("linalg_vector_norm", "scatter_add", "index_put"),
            )
        ),
        "aten.sum.dim_IntList",
        "aten.var.correction",
    }
)

_GREATEST = 65504.0
_LEAST_GREAT = 32768.0
_STEP = 32.0  # between the numbers from there on


def let_half_overflow(graph: fx.Graph) -> None:
    """
    Given:  y = aten.mul(x, x)    of float16, which another operator reads
    Result: y = aten.where(aten.abs(y) - 65504 < 16, y, y * inf)

    What is less than half a step beyond the greatest number is rounded to it, and float16 holds
    both numbers, which it does not 65520. A sum is rounded there, too: what a mask of -65504 is
    added to is all the same in PyTorch. What leaves the model is rounded anyway.
    """
    for node in list(graph.nodes):
        name = operators.name_of(node)
        if name not in _GROWING or node.meta["val"].dtype != torch.float16:
            continue
        readers = [user for user in node.users if user.op != "output"]
        if not readers:
            continue
        with graph.inserting_before(node.next):
            build = Builder(node)
            build.like = node.meta["val"]
            result = _overflowing(build, node)
            if name in SUMS:
                result = _with_great_ones_rounded(build, result)
        for reader in readers:
            reader.replace_input_with(node, result)


def _overflowing(build: Builder, y: fx.Node) -> fx.Node:
    beyond = build.call(aten.sub.Tensor, build.call(aten.abs.default, y), build.number(_GREATEST))
    holds = build.less(beyond, build.number(_STEP / 2))
    return build.where(holds, y, build.call(aten.mul.Tensor, y, build.number(math.inf)))


def _with_great_ones_rounded(build: Builder, y: fx.Node) -> fx.Node:
    small = build.less(build.call(aten.abs.default, y), build.number(_LEAST_GREAT))
    steps = build.call(aten.mul.Tensor, y, build.number(1 / _STEP))
    rounded = build.call(aten.round.default, steps)
    return build.where(small, y, build.call(aten.mul.Tensor, rounded, build.number(_STEP)))
