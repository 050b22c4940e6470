"""Constants of 4 bits: which are found, and that they hold the same numbers."""

import numpy
import pytest

import openvino
from openvino import opset13
from openvino_backend.narrowing import narrow_constants


def model_of(values, read_as=numpy.float32):
    """x + the constant, read as another type."""
    constant = opset13.constant(values)
    x = opset13.parameter(values.shape, read_as)
    return openvino.Model([opset13.add(x, opset13.convert(constant, read_as))], [x])


def constants(model):
    return {
        node.get_element_type().get_type_name()
        for node in model.get_ops()
        if node.get_type_name() == "Constant"
    }


def result(model, shape):
    return openvino.Core().compile_model(model, "CPU")(numpy.zeros(shape, numpy.float32))[0]


@pytest.mark.parametrize(
    ("dtype", "low", "high", "found"),
    [
        (numpy.int8, -8, 7, "i4"),
        (numpy.int8, 0, 15, "u4"),
        (numpy.uint8, 0, 15, "u4"),
        (numpy.int8, -9, 7, "i8"),
        (numpy.int8, -1, 8, "i8"),
        (numpy.uint8, 0, 16, "u8"),
    ],
)
@pytest.mark.parametrize("shape", [(4, 8), (2, 3, 6)])
def test_what_fits_becomes_four_bits_and_keeps_its_values(dtype, low, high, found, shape):
    values = numpy.resize(numpy.arange(low, high + 1), shape).astype(dtype)
    model = model_of(values)
    narrow_constants(model)
    assert constants(model) == {found}
    assert (result(model, shape) == values).all()


def test_an_odd_number_of_values_stays():
    model = model_of(numpy.ones((3, 3), numpy.int8))
    narrow_constants(model)
    assert constants(model) == {"i8"}


def test_integers_that_stay_integers_stay():
    model = model_of(numpy.ones((4, 4), numpy.int8), numpy.int32)
    narrow_constants(model)
    assert constants(model) == {"i8"}
    assert not model.has_rt_info(["runtime_options"])


def test_beside_narrow_weights_the_device_is_told_to_keep_activations():
    model = model_of(numpy.full((4, 4), 100, numpy.int8))
    narrow_constants(model)
    assert model.get_rt_info(["runtime_options", "DYNAMIC_QUANTIZATION_GROUP_SIZE"]).value == "0"


def product_of(weights, scale, zero_point, transpose, to_shape):
    """(model of x @ weights, x, what it must give)."""
    x = numpy.random.default_rng(1).standard_normal((4, to_shape[1 if transpose else 0]))
    x = x.astype(numpy.float32)
    made = opset13.convert(opset13.constant(weights), numpy.float32)
    value = weights.astype(numpy.float32)
    if zero_point is not None:
        made, value = opset13.subtract(made, opset13.constant(zero_point)), value - zero_point
    made, value = opset13.multiply(made, opset13.constant(scale)), value * scale
    made = opset13.reshape(made, opset13.constant(list(to_shape)), False)
    value = value.reshape(to_shape)
    parameter = opset13.parameter(x.shape, numpy.float32)
    model = openvino.Model([opset13.matmul(parameter, made, False, transpose)], [parameter])
    return model, x, x @ (value.T if transpose else value)


@pytest.mark.parametrize("with_zero_point", [False, True])
@pytest.mark.parametrize("dtype", [numpy.int8, numpy.uint8])
@pytest.mark.parametrize(
    ("shape", "scale", "transpose", "to_shape"),
    [
        ((6, 8), (6, 1), True, (6, 8)),
        ((6, 8), (1, 8), True, (6, 8)),
        ((6, 8), (6, 8), True, (6, 8)),
        ((6, 8), (1, 1), True, (6, 8)),
        ((6, 8), (6, 1), False, (6, 8)),
        ((6, 8), (1, 8), False, (6, 8)),
        ((6, 4, 8), (6, 4, 1), True, (6, 32)),
        ((6, 4, 8), (1, 4, 1), True, (6, 32)),
        ((6, 4, 8), (6, 1, 1), True, (6, 32)),
        ((6, 4, 8), (1, 1, 8), True, (6, 32)),
        ((6, 4, 8), (1, 1, 1), True, (6, 32)),
        ((6, 1, 32), (6, 1, 1), True, (6, 32)),
        ((4, 8, 6), (4, 1, 6), False, (32, 6)),
        ((4, 8, 6), (4, 8, 1), False, (32, 6)),
        ((4, 8, 6), (1, 1, 6), False, (32, 6)),
    ],
)
def test_a_scale_means_what_it_says(shape, scale, transpose, to_shape, dtype, with_zero_point):
    rng = numpy.random.default_rng(0)
    weights = rng.integers(-100 if dtype == numpy.int8 else 0, 100, shape).astype(dtype)
    factors = rng.random(scale).astype(numpy.float32)
    zero_point = rng.integers(1, 9, scale).astype(numpy.float32) if with_zero_point else None
    model, x, wanted = product_of(weights, factors, zero_point, transpose, to_shape)
    narrow_constants(model)
    settings = {"INFERENCE_PRECISION_HINT": "f32"}
    found = openvino.Core().compile_model(model, "CPU", settings)(x)[0]
    numpy.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-2)
