"""fold: operations on constants are NumPy's and Python's own results; what would tell something stays."""

import numpy as np
import pytest
from passes.rewritten import graph, ops

from pycompile._C import graph_pass


@pytest.mark.parametrize(
    ("op", "a", "b"),
    [("add", 100, 100), ("multiply", -128, 3), ("floor_divide", -7, 2), ("remainder", -7, 3)],
)
def test_integers_wrap_as_numpys(op, a, b):
    text = graph(f"i8 = const({a})", f"i8 = const({b})", f"i8 = {op}(%0, %1)", outputs="%2")
    with np.errstate(all="ignore"):
        wanted = getattr(np, op)(np.int8(a), np.int8(b))
    assert f"i8 = const({wanted})" in str(graph_pass(text, "fold"))


@pytest.mark.parametrize(
    "lines",
    [
        ("f64 = const(1.0)", "f64 = const(0.0)", "f64 = divide(%0, %1)"),
        ("f64 = const(1e308)", "f64 = const(1e308)", "f64 = add(%0, %1)"),
        ("i64 = const(1)", "i64 = const(0)", "i64 = floor_divide(%0, %1)"),
        ("int = const(1)", "int = const(0)", "float = py_div(%0, %1)"),
        ("int = const(9223372036854775807)", "int = const(1)", "int = py_add(%0, %1)"),
        ("float = const(1e308)", "int = const(10)", "float = py_pow(%0, %1)"),
    ],
    ids=lambda lines: lines[2].partition("= ")[2],
)
def test_what_warns_raises_or_grows_beyond_an_int_stays(lines):
    op = lines[2].partition("= ")[2].partition("(")[0]
    assert op in ops(graph(*lines, outputs="%2"), "fold")


def test_a_returned_array_is_new_in_each_call():
    array = "f32[3] = const([1.0, 2.0, 3.0])"
    given = graph(array, "f32[3] = multiply(%0, %0)", outputs="%1")
    read = graph(array, "f32[3] = multiply(%0, %0)", "f32 = sum(%1, axes=[0])", outputs="%2")
    assert ops(given, "fold") == ["const", "multiply"]
    assert ops(read, "fold") == ["const", "sum"]


def test_long_arrays_are_not_kept_twice():
    lines = ["f64 = const(2.0)", "f64[{n}] = const({text})", "f64[{n}] = multiply(%1, %0)"]
    lines += ["f64 = sum(%2, axes=[0])"]
    for n, expected in ((4096, ["const", "sum"]), (4097, ["const", "const", "multiply", "sum"])):
        text = str([1.0] * n)
        made = graph(*(line.format(n=n, text=text) for line in lines), outputs="%3")
        assert ops(made, "fold") == expected
