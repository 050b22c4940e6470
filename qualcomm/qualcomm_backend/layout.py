"""QNN's images have their channels last; only transposes that are needed are written.

A node that computes on channels last bears `AXIS_ORDER`, by which builders permute every shape
that it reads or makes. Values keep PyTorch's shapes in `meta`; the transposes that lead there and
back bear `INSERTED_PERMUTE`.
"""

from executorch.exir.dialects._ops import ops
from torch import fx

from qualcomm_backend import operators
from qualcomm_backend.part import Part
from qualcomm_backend.stock import AXIS_ORDER, INSERTED_PERMUTE
from qualcomm_backend.tensor_encodings import carry

_CHANNELS_LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
_CHANNELS_FIRST = {4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}
_TRANSPOSE = ops.edge.aten.permute_copy.default


def put_channels_last(part: Part) -> None:
    """
    Given:  y = convolution(x); z = relu(y); w = convolution(z)
    Result: x' = permute(x); y' = convolution(x'); z' = relu(y'); w' = convolution(z')
            w = permute(w')

    Elementwise operators follow where all that they read is there already.
    """
    last: dict[fx.Node, fx.Node] = {}  # PyTorch's value: the node that makes it channels last
    for node in list(part.graph.nodes):
        name = operators.name_of(node)
        if name in operators.IMAGES:
            _turn(part, node, last, images=[node.args[0]])
        elif name in operators.ELEMENTWISE and _follows(node, last):
            _turn(part, node, last, images=operators.tensors(node))
        elif name == "getitem" and node.args[0] in last:
            node.meta[AXIS_ORDER] = _CHANNELS_LAST[node.meta["val"].dim()]
            _give_back(part, node, last)
    part.graph.eliminate_dead_code()
    part.graph.lint()
    part.graph_module.recompile()


def _follows(node: fx.Node, last: dict[fx.Node, fx.Node]) -> bool:
    """Whether it reads values of its own shape that are there with channels last, and no other."""
    shape = node.meta["val"].shape
    read = operators.tensors(node)
    return bool(read) and all(
        operand in last and operand.meta["val"].shape == shape for operand in read
    )


def _turn(part: Part, node: fx.Node, last: dict[fx.Node, fx.Node], images: list[fx.Node]) -> None:
    for image in dict.fromkeys(images):
        if image not in last:
            with part.graph.inserting_before(node):
                last[image] = _transpose(part, image, _CHANNELS_LAST[image.meta["val"].dim()])
        node.replace_input_with(image, last[image])
    value = node.meta["val"]
    single = value[0] if isinstance(value, (tuple, list)) else value
    node.meta[AXIS_ORDER] = _CHANNELS_LAST[single.dim()]
    if isinstance(value, (tuple, list)):
        last[node] = node  # its items are turned back, one by one
    else:
        _give_back(part, node, last)


def _give_back(part: Part, node: fx.Node, last: dict[fx.Node, fx.Node]) -> None:
    """Everyone reads the value as PyTorch has it; `last` has the other, for those who take it."""
    readers = list(node.users)
    with part.graph.inserting_after(node):
        first = _transpose(part, node, _CHANNELS_FIRST[node.meta["val"].dim()])
    for reader in readers:
        reader.replace_input_with(node, first)
    last[first] = node


def _transpose(part: Part, node: fx.Node, order: tuple[int, ...]) -> fx.Node:
    made = part.graph.call_function(_TRANSPOSE, (node, list(order)))
    made.meta = {"val": node.meta["val"], INSERTED_PERMUTE: True}
    carry(node, made)
    return made
