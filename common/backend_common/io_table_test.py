"""The table of inputs and outputs, byte for byte."""

import struct

import torch

from backend_common.io_table import SCALAR_TYPES, Alias, Interface, Value, io_section


def test_a_tensor_has_dtype_bounds_and_dim_order():
    value = Value(torch.float32, ((2, 16), (8, 8)), (1, 0))
    table = io_section(Interface([value], []))
    assert table == struct.pack("<III", 2, 1, 0) + struct.pack(
        "<IIII4qII", 6, 2, 1, 0, 2, 16, 8, 8, 1, 0
    )


def test_a_symbolic_integer_is_no_tensor():
    table = io_section(Interface([Value(None, ())], []))
    assert table == struct.pack("<III4I", 2, 1, 0, 255, 0, 0, 0)


def test_outputs_that_are_no_values_of_their_own_say_whose_they_are():
    value = Value(torch.float32, ())
    aliases = {1: Alias(False, 0), 2: Alias(True, 1)}
    table = io_section(Interface([value] * 2, [value] * 3, aliases))
    assert table[12 + 2 * 16 :] == struct.pack("<12I", 6, 0, 0, 0, 6, 0, 4, 0, 6, 0, 2, 1)


def test_dtypes_are_executorchs():
    from executorch.exir.scalar_type import ScalarType

    own_names = {
        "UINT8": "BYTE",
        "INT8": "CHAR",
        "INT16": "SHORT",
        "INT32": "INT",
        "INT64": "LONG",
        "FLOAT16": "HALF",
        "FLOAT32": "FLOAT",
        "FLOAT64": "DOUBLE",
    }
    for dtype, number in SCALAR_TYPES.items():
        name = str(dtype).removeprefix("torch.").upper()
        assert ScalarType[own_names.get(name, name)] == number, dtype
