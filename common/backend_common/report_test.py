"""Rows as JSON, as a table, as the lines of an error."""

import json

from backend_common.errors import LoweringError
from backend_common.report import Row, table, undelegated

ADD = Row("forward", "aten.add.Tensor", "add", "policy.py:3  x + y", True, "openvino", "", "")
LEFT = Row(
    *("forward", "aten.cummax.default", "cummax", "policy.py:41  torch.cummax(x, 1)"),
    *(False, "portable", "no OpenVINO operator", "use torch.sort"),
)


def test_json():
    assert Row(**json.loads(json.dumps(LEFT.as_dict()))) == LEFT


def test_table_is_aligned():
    header, first, second = table([ADD, LEFT]).splitlines()
    for word, row, cell in (
        ("operator", first, "aten.add.Tensor"),
        ("where it runs", second, "portable"),
        ("source", second, "policy.py:41"),
        ("reason", second, "no OpenVINO"),
    ):
        assert row.index(cell) == header.index(word)
    assert first == first.rstrip()


def test_table_of_nothing_is_its_header():
    assert table([]).split() == ["method", "operator", "where", "it", "runs", "source", "reason"]


def test_an_error_has_a_line_for_every_row():
    error = LoweringError("2 causes:", [LEFT, ADD])
    assert error.rows == (LEFT, ADD)
    assert str(error).splitlines() == [
        "2 causes:",
        "  aten.cummax.default   policy.py:41  torch.cummax(x, 1)   no OpenVINO operator   "
        "use torch.sort",
        "  aten.add.Tensor   policy.py:3  x + y",
    ]


def test_undelegated():
    assert undelegated([ADD, LEFT]) == [LEFT]
