"""The integers of a quantized part: what stands between operators becomes a note on each value.

QNN's tensors bear their encoding: scale, zero point, range. PyTorch writes it between operators.
"""

from typing import Any, cast

from executorch.backends.qualcomm.utils.constants import QCOM_ENCODING, QCOM_QUANT_ATTRS
from executorch.exir.dialects._ops import ops
from torch import fx

from qualcomm_backend import operators
from qualcomm_backend.part import Part
from qualcomm_backend.stock import QnnError

_DEQUANTIZE = ops.edge.quantized_decomposed.dequantize_per_tensor.default


def note_encodings(part: Part) -> None:
    """
    Given:  y = quantize(relu(dequantize(x, s, 0)), t, 0); z = dequantize(y, t, 0)
    Result: z = relu(x)      with notes (s, 0) on x and (t, 0) on z

    Where floats come in or go out, or an operator computes in floats, the operator that quantizes
    or dequantizes stays. QnnError where a value would have two encodings.
    """
    if any(operators.name_of(node) in operators.QUANTIZES for node in part.results):
        raise QnnError("its integers leave the part")
    for node in list(part.graph.nodes):
        name = operators.name_of(node)
        if name in operators.DEQUANTIZES:
            _dequantize(part, node)
        elif name in operators.QUANTIZES:
            _quantize(part, node)
        elif name in _SINGLE | {"getitem"} and encoding_of(node) is None:
            carry(_source(node), node)
    for node in list(part.graph.nodes):
        if node.op == "call_function" and encoding_of(node) is None:
            _read_floats(part, node)
    _return_floats(part)
    _check(part)
    part.graph.eliminate_dead_code()
    part.graph.lint()
    part.graph_module.recompile()


def encoding_of(node: fx.Node) -> dict[str, Any] | None:
    return cast(dict[str, Any] | None, node.meta.get(QCOM_QUANT_ATTRS))


def carry(source: fx.Node, made: fx.Node) -> None:
    """What moves a value's elements leaves its encoding."""
    if encoding := encoding_of(source):
        made.meta[QCOM_QUANT_ATTRS] = encoding


def encode_number(constant: fx.Node, number: float, *, like: fx.Node) -> None:
    """The encoding in which a number is exact, for an operator that computes in integers."""
    if encoding := encoding_of(like):
        least, most = encoding["quant_min"], encoding["quant_max"]
        levels = most - least
        constant.meta[QCOM_QUANT_ATTRS] = encoding | {
            "scale": abs(number) / levels or 1.0,
            "zero_point": least if number >= 0 else most,
        }


def _written(part: Part, node: fx.Node) -> dict[str, Any]:
    """The encoding that a quantizing or dequantizing operator names."""
    found: dict[str, Any] = {QCOM_ENCODING: node.target}
    names = [each.name for each in cast(Any, node.target)._schema.arguments][1:]
    for name, value in zip(names, node.args[1:], strict=False):
        found[name] = part.state_dict[value.name] if isinstance(value, fx.Node) else value
    return found


_COMPARED = ("scale", "zero_point", "quant_min", "quant_max", "dtype")


def _note(node: fx.Node, encoding: dict[str, Any]) -> None:
    known = encoding_of(node)
    if known is not None and any(known.get(key) != encoding.get(key) for key in _COMPARED):
        raise QnnError(f"{node.name} has two encodings")
    node.meta[QCOM_QUANT_ATTRS] = encoding


def _source(node: fx.Node) -> fx.Node:
    return cast(fx.Node, node.args[0])


def _dequantize(part: Part, node: fx.Node) -> None:
    source = _source(node)
    _note(source, _written(part, node))
    node.replace_all_uses_with(source)
    part.graph.erase_node(node)


def _quantize(part: Part, node: fx.Node) -> None:
    """It goes where the operator before it computes in integers, which then makes this value."""
    encoding = _written(part, node)
    chain = [_source(node)]
    while operators.name_of(chain[-1]) in _SINGLE and len(chain[-1].users) == 1:
        chain.append(_source(chain[-1]))
    maker = chain[-1]
    computed = _source(maker) if operators.name_of(maker) == "getitem" else maker
    if encoding_of(maker) is None and not _reads_integers(computed):
        _note(node, encoding)
        return
    for each in dict.fromkeys((*chain, computed)):
        if encoding_of(each) is None or each is _source(node):
            _note(each, encoding)
    node.replace_all_uses_with(_source(node))
    part.graph.erase_node(node)


def _reads_integers(node: fx.Node) -> bool:
    return node.op == "call_function" and all(map(encoding_of, operators.tensors(node)))


_SINGLE = operators.MOVES - {"aten.cat.default", "getitem"}


def _read_floats(part: Part, node: fx.Node) -> None:
    for operand in node.all_input_nodes:
        if encoding_of(operand) is not None:
            node.replace_input_with(operand, _decoded(part, operand, node))


def _return_floats(part: Part) -> None:
    """Each result by an operator of its own: the same integers may be returned more than once."""
    output = part.graph.output_node()
    results = [_decoded(part, node, output) if encoding_of(node) else node for node in part.results]
    output.args = (tuple(results),)
    for spec, node in zip(part.graph_signature.output_specs, results, strict=True):
        spec.arg.name = node.name  # type: ignore[union-attr]


def _decoded(part: Part, operand: fx.Node, reader: fx.Node) -> fx.Node:
    encoding = encoding_of(operand) or {}
    if any(key not in encoding for key in _COMPARED):
        raise QnnError(f"{reader.name} computes in floats, with weights in integers")
    with part.graph.inserting_before(reader):
        arguments = (operand, *(encoding[key] for key in _COMPARED))
        made = part.graph.call_function(_DEQUANTIZE, arguments)
    made.meta["val"] = operand.meta["val"]
    return made


def _check(part: Part) -> None:
    """QnnError where an operator that makes integers reads floats."""
    edges = operators.QUANTIZES | operators.DEQUANTIZES
    for node in part.graph.nodes:
        if node.op != "call_function" or operators.name_of(node) in edges:
            continue
        floats = [each for each in operators.tensors(node) if encoding_of(each) is None]
        if encoding_of(node) is not None and floats:
            raise QnnError(f"it makes integers of the floats {floats[0].name}")
