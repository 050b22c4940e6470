"""Weights of 8 and 4 bits in an `openvino.Model`.

PyTorch holds 4-bit constants as int8, OpenVINO two to a byte.
"""

from typing import Any

SIGNED = (-8, 7)
UNSIGNED = (0, 15)


def narrow_constants(model: Any) -> None:
    """
    Given:  Constant(i8 or u8) -> Convert to floating point, all values within 4 bits
    Result: Constant(i4 or u4) -> Convert

    Exact, whatever the constant is for; OpenVINO multiplies such weights inside matrix products.
    Beside such weights the CPU device would round the activations to 8 bits on its own account
    (41 dB, measured); the model asks it not to.
    """
    for node in model.get_ordered_ops():
        if node.get_type_name() == "MatMul":
            _spread_scales(node)
    narrow = [node for node in model.get_ordered_ops() if _is_widened(node)]
    for node in narrow:
        if four := _four_bits(node):
            for port in node.output(0).get_target_inputs():
                port.replace_source_output(four.output(0))
    if narrow:
        model.set_rt_info("0", ["runtime_options", "DYNAMIC_QUANTIZATION_GROUP_SIZE"])


def _is_widened(node: Any) -> bool:
    """Whether it is a constant of 8 bits that is read as floating point alone."""
    if node.get_type_name() != "Constant":
        return False
    if node.get_element_type().get_type_name() not in ("i8", "u8"):
        return False
    readers = [port.get_node() for port in node.output(0).get_target_inputs()]
    return bool(readers) and all(
        reader.get_type_name() == "Convert" and reader.get_element_type().is_real()
        for reader in readers
    )


def _four_bits(node: Any) -> Any | None:
    """The constant in 4 bits, or None where they do not hold it."""
    import numpy

    import openvino

    values = node.get_data()
    low, high = int(values.min()), int(values.max())
    if low >= UNSIGNED[0] and high <= UNSIGNED[1]:
        element_type = openvino.Type.u4
    elif low >= SIGNED[0] and high <= SIGNED[1]:
        element_type = openvino.Type.i4
    else:
        return None
    if values.ndim < 2 or values.size % 2:
        return None
    # The first of two values is in the low bits.
    pairs = values.reshape(-1, 2).astype(numpy.uint8) & 0xF
    packed = pairs[:, 0] | (pairs[:, 1] << 4)
    tensor = openvino.Tensor(packed, node.get_output_shape(0), element_type)
    return openvino.op.Constant(tensor, shared_memory=False)


def _spread_scales(product: Any) -> None:
    """
    Given:  MatMul(x, Convert(q [6, 8]) * s [1, 8], transpose_b=True)
    Result: the same with s [6, 8]

    Why: where q is a constant of 8 or 4 bits, the CPU device takes a scale or a zero point that
    is the same for all outputs for one that differs between them.
    """
    import openvino
    from openvino import opset13

    source = product.input_value(1)
    axis = -2 if product.get_attributes()["transpose_b"] else -1
    if source.get_partial_shape().is_dynamic or len(source.get_shape()) != 2:
        return
    axis += 2
    while source.get_node().get_type_name() in ("Transpose", "Reshape", "Convert"):
        node = source.get_node()
        source = node.input_value(0)
        if source.get_partial_shape().is_dynamic:
            return
        if node.get_type_name() == "Transpose":
            axis = int(node.input_value(1).get_node().get_data()[axis])
        elif node.get_type_name() == "Reshape":
            # Groups of inputs: the outputs stay first or last.
            axis = 0 if axis == 0 else len(source.get_shape()) - 1
    chain = []
    while source.get_node().get_type_name() in ("Multiply", "Subtract"):
        chain.append(source.get_node())
        source = source.get_node().input_value(0)
    if not chain or not _is_narrow_constant(source.get_node()):
        return
    whole = list(source.get_shape())
    for node in chain:
        operand = node.input_value(1)
        if operand.get_partial_shape().is_dynamic:
            return
        scale = [1] * (len(whole) - len(operand.get_shape())) + list(operand.get_shape())
        wanted = _known_scale(whole, scale, axis)
        if wanted is None:
            _widen(source)
            return
        if wanted != scale:
            shape = opset13.constant(wanted, openvino.Type.i64)
            node.input(1).replace_source_output(opset13.broadcast(operand, shape).output(0))


def _known_scale(whole: list[int], scale: list[int], outputs: int) -> list[int] | None:
    """The shape in which the device takes a scale rightly; None where there is none.

    Without groups: one number, one for each output, or one for each weight; with groups, one for
    each group of each output.
    """
    if len(whole) == 2:
        same = max(scale) > 1 and scale[outputs] == 1 < whole[outputs]
        return whole if same else scale
    inner = len(whole) - (1 if outputs == 0 else 2)
    if scale[inner] > 1:
        return None
    return [1 if axis == inner else size for axis, size in enumerate(whole)]


def _widen(conversion: Any) -> None:
    """Replaces the conversion of a constant by what it converts to."""
    from openvino import opset13

    values = conversion.get_node().input_value(0).get_node().get_data()
    wide = opset13.constant(values, conversion.get_element_type())
    for port in conversion.get_target_inputs():
        port.replace_source_output(wide.output(0))


def _is_narrow_constant(node: Any) -> bool:
    """Whether it is the conversion of an integer constant to floating point."""
    if node.get_type_name() != "Convert" or not node.get_element_type().is_real():
        return False
    source = node.input_value(0)
    integral = bool(source.get_element_type().is_integral())
    return integral and source.get_node().get_type_name() == "Constant"
