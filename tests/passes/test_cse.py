"""cse: equal computations are done once, and only those whose bits and identity are the same."""

import pytest
from passes.rewritten import graph, ops


def both(first, second, outputs="%4"):
    """%2 and %3, joined by a multiplication that keeps both alive."""
    return graph(
        "f64[4] = input(0)",
        "f64[4] = input(1)",
        f"f64[4] = {first}",
        f"f64[4] = {second}",
        "f64[4] = multiply(%2, %3)",
        outputs=outputs,
    )


@pytest.mark.parametrize(
    ("first", "second", "op", "left"),
    [
        ("add(%0, %1)", "add(%0, %1)", "add", 1),
        ("add(%0, %1)", "add(%1, %0)", "add", 2),  # of two NaNs the other one comes out
        ("subtract(%0, %1)", "subtract(%1, %0)", "subtract", 2),
        ("sqrt(%0)", "sqrt(%1)", "sqrt", 2),
        ("ufunc(%0, object=numpy.exp)", "ufunc(%0, object=numpy.exp)", "ufunc", 1),
        ("ufunc(%0, object=numpy.exp)", "ufunc(%0, object=numpy.tanh)", "ufunc", 2),
        ("extern(%0, object=numpy.sort)", "extern(%0, object=numpy.sort)", "extern", 2),
        ("copy(%0)", "copy(%0)", "copy", 2),
    ],
)
def test_computed_twice(first, second, op, left):
    assert ops(both(first, second), "cse").count(op) == left


def test_integers_commute():
    text = graph(
        "i64[4] = input(0)",
        "i64[4] = input(1)",
        "i64[4] = add(%0, %1)",
        "i64[4] = add(%1, %0)",
        "i64[4] = multiply(%2, %3)",
        outputs="%4",
    )
    assert ops(text, "cse") == ["add", "multiply"]


def test_two_results_stay_two_arrays():
    assert ops(both("sqrt(%0)", "sqrt(%0)", outputs="%2, %3, %4"), "cse").count("sqrt") == 2


def test_constants_are_equal_by_their_bits():
    text = graph(
        "f64[4] = input(0)",
        "f64 = const(0.0)",
        "f64 = const(0.0)",
        "f64 = const(-0.0)",
        "f64[4] = add(%0, %1)",
        "f64[4] = add(%4, %2)",
        "f64[4] = add(%5, %3)",
        outputs="%6",
    )
    assert ops(text, "cse").count("const") == 2
