"""IR: constants that move, names that do not depend on the process."""

import numpy
import pytest

from openvino_backend import ir


@pytest.fixture
def model():
    import openvino
    from openvino import opset13

    x = opset13.parameter([2, 3], numpy.float32)
    first = opset13.constant(numpy.arange(3, dtype=numpy.float32))
    second = opset13.constant(numpy.full((2, 3), 7.0, numpy.float32))
    return openvino.Model([opset13.multiply(opset13.add(x, first), second)], [x], "made here")


def test_constants_are_the_models(model):
    found = [bytes(constant) for constant in ir.serialize(model).constants.values()]
    assert numpy.arange(3, dtype=numpy.float32).tobytes() in found
    assert numpy.full((2, 3), 7.0, numpy.float32).tobytes() in found


def test_a_model_with_moved_constants_computes_the_same(model):
    import openvino

    store = bytearray(b"something else")

    def place(constant):
        store.extend(bytes(-len(store) % 64))
        store.extend(constant)
        return len(store) - len(constant)

    xml = ir.serialize(model).placed(place)
    tensor = openvino.Tensor(numpy.frombuffer(bytes(store), numpy.uint8))
    moved = openvino.Core().compile_model(openvino.Core().read_model(xml.encode(), tensor), "CPU")
    x = numpy.ones((2, 3), numpy.float32)
    expected = openvino.Core().compile_model(model, "CPU")(x)[0]
    assert numpy.array_equal(moved(x)[0], expected)


def test_names_are_counted_in_the_model(model):
    from openvino import opset13

    first = ir.serialize(model).xml
    assert "made here" not in first
    opset13.constant(1.0)  # the process counts on
    assert ir.serialize(model.clone()).xml == first


def test_bodies_have_constants_of_their_own():
    import openvino
    from openvino import opset13

    def body(value):
        inner = opset13.parameter([2], numpy.float32)
        added = opset13.add(inner, opset13.constant(numpy.full(2, value, numpy.float32)))
        return inner, openvino.Model([added], [inner], "body")

    condition, x = opset13.parameter([], numpy.bool_), opset13.parameter([2], numpy.float32)
    choice = opset13.if_op(condition.output(0))
    (one, then), (other, otherwise) = body(1.0), body(2.0)
    choice.set_then_body(then)
    choice.set_else_body(otherwise)
    choice.set_input(x.output(0), one, other)
    result = choice.set_output(then.results[0], otherwise.results[0])
    written = ir.serialize(openvino.Model([result], [condition, x], "both"))
    held = {bytes(constant) for constant in written.constants.values()}
    assert {numpy.full(2, value, numpy.float32).tobytes() for value in (1.0, 2.0)} <= held
