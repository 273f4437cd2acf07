"""Lengths that the program declares: one plan from the first call on, no guards but those that were
declared, and errors where the code decides by them."""

from __future__ import annotations

import numpy as np
import pytest

import pycompile
from pycompile import Array, Dim, DimensionError

PLANS = {"plan_always": True}
LENGTH = Dim("length", min=2, max=4096, divisor=8)
DECLARED = {"x": {0: "batch", 1: LENGTH}, "y": {0: "batch"}}


def row_sums(x, y):
    return (x + y[:, None]).sum(axis=1), x.reshape(-1, 8) * 2


def arguments(n, m):
    return np.arange(1.0, n * m + 1).reshape(n, m), np.arange(float(n))


def agrees(function, compiled, *args):
    for ours, wanted in zip(compiled(*args), function(*args)):
        assert ours.tobytes() == wanted.tobytes() and ours.shape == wanted.shape


def test_one_plan_within_what_is_declared_and_another_beyond():
    compiled = pycompile.compile(row_sums, dynamic=DECLARED, options=PLANS)
    for n, m in ((3, 8), (5, 16), (7, 800), (1, 8)):
        agrees(row_sums, compiled, *arguments(n, m))
    assert compiled.stats()["plans"] == 1
    agrees(row_sums, compiled, *arguments(2, 12 * 1024))  # beyond max
    assert compiled.stats()["plans"] == 2


def test_guards_are_what_is_declared():
    told = pycompile.explain(row_sums, dynamic=DECLARED, options=PLANS)(*arguments(3, 8)).guards
    assert [text.partition(" (")[0] for text in told] == [
        "x: float64[1…, 8…] C-contiguous",
        "y: float64[1…] C-contiguous",
        "y.shape[0] == x.shape[0]",
        "x.shape[1] <= 4096",
        "(x.shape[1] % 8) == 0",
    ]


def by_length(x, y):
    return x * 2 if len(x) > 50 else x + 1


def by_number(x, y):
    return x * (3 if len(x) == 10 else 2)


def by_index(x, y):
    return x[3] + x


def of_five(x, y):
    return x.reshape(5, -1) + 1


def together(x, y):
    return x + y


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            by_length,
            "'n' (1 or more) decides a branch, by which it would be 50 or less; change the",
        ),
        (by_number, "'n' (1 or more) is needed as a number, 10 in this call: "),
        (by_index, "'n' (1 or more) has to be 4 or more (a `Dim` says so); change the code"),
        (of_five, "'n' (1 or more) has to be related to others"),
        (together, "'m' (1 or more) has to be equal to 'n' (1 or more); give both one name"),
    ],
)
def test_a_decision_of_the_code_is_an_error_with_its_line(function, text):
    compiled = pycompile.compile(function, dynamic={"x": {0: "n"}, "y": {0: "m"}}, options=PLANS)
    with pytest.raises(DimensionError) as raised:
        compiled(np.ones(10), np.ones(10))
    assert text in str(raised.value)
    assert f"{__file__}:{function.__code__.co_firstlineno + 1}: " in str(raised.value)
    known = pycompile.compile(function, options=PLANS)
    assert np.array_equal(known(np.ones(10), np.ones(10)), function(np.ones(10), np.ones(10)))


def total(x, y):
    sum_ = 0.0
    for value in x:
        sum_ += value
    return sum_ + y


@pytest.mark.parametrize("function", [together, total])
def test_an_axis_that_the_array_has_not(function):
    compiled = pycompile.compile(function, dynamic={"x": {0: "n", 1: "m"}}, options=PLANS)
    told = "`dynamic` names axis 1 of 'x', an array of 1 dimensions"
    for _ in range(2):
        with pytest.raises(DimensionError, match=told):
            compiled(np.ones(3), 1.0)


def test_a_marked_array():
    def doubled(x):
        return x * 2 + 1

    compiled, x = pycompile.compile(doubled, options=PLANS), np.ones((6, 7))
    pycompile.mark_dynamic(x, -2)
    for n in (6, 9, 1):
        compiled(x if n == 6 else np.ones((n, 7)))
    assert compiled.stats()["plans"] == 1


def test_arrays_with_names_are_compiled_ahead():
    def layer(x, w, b):
        return np.tanh(x @ w) + b

    compiled = pycompile.compile(layer)
    assert compiled.precompile(Array(("n", 32)), Array((32, "m")), Array("m"))
    with pycompile.set_stance("fail_on_recompile"):
        for n in (5, 70, 33):
            args = np.ones((n, 32)), np.ones((32, n + 1)), np.ones(n + 1)
            assert np.array_equal(compiled(*args), layer(*args))
    assert compiled.stats()["plan_runs"] == 3


def test_what_is_no_declaration():
    for wrong in ({"x": 1}, {1: {0: "n"}}, {"x": {0: 1}}, {"X": {0: "n"}}):
        with pytest.raises(TypeError):
            pycompile.compile(together, dynamic=wrong)
    bounds = {"x": {0: Dim("n", max=8)}, "y": {0: Dim("n", max=9)}}
    for wrong in ({"x": {-1: "n"}}, {"x": {64: "n"}}, {"x": {0: ""}}, bounds):
        with pytest.raises(ValueError):
            pycompile.compile(together, dynamic=wrong)
    for bounds in ({"min": 0}, {"min": 9, "max": 8}, {"max": 7, "divisor": 8}, {"max": 1 << 70}):
        with pytest.raises(ValueError):
            Dim("n", **bounds)
    with pytest.raises(ValueError, match="axis 2"):
        pycompile.mark_dynamic(np.ones((2, 2)), 2)
    with pytest.raises(TypeError):
        pycompile.mark_dynamic([1.0], 0)
