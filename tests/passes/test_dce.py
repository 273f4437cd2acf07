"""dce: what nobody uses goes, unless the program would have been told something."""

import pytest
from passes.rewritten import graph, ops


@pytest.mark.parametrize(
    ("dtype", "call", "stays"),
    [
        ("i64[4]", "add(%0, %0)", False),
        ("f64[4]", "negative(%1)", False),
        ("bool[4]", "isnan(%1)", False),
        ("f64[2]", "slice(%1)", False),
        ("f64[4]", "copy(%1)", False),
        ("f64[4]", "sqrt(%1)", True),  # of a negative number: NumPy warns
        ("f64[4]", "add(%1, %1)", True),  # overflow
        ("i64[4]", "floor_divide(%0, %0)", True),  # by zero
        ("int", "py_add(%2, %2)", True),  # beyond int64: a deopt
        ("f64[4]", "extern(%1, object=numpy.sort)", True),
    ],
)
def test_what_is_not_used(dtype, call, stays):
    text = graph(
        "i64[4] = input(0)",
        "f64[4] = input(1)",
        "int = input(2)",
        f"{dtype} = {call}",
        "f64[4] = negative(%1)",
        outputs="%4",
    )
    assert (call.partition("(")[0] in ops(text)[:-1]) is stays


def test_a_view_keeps_its_storage():
    text = graph("f64[4] = input(0)", "f64[4] = sqrt(%0)", "f64[2] = slice(%1)", outputs="%2")
    assert ops(text) == ["sqrt", "slice"]
