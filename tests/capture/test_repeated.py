"""Sequences times numbers of NumPy's."""

import numpy as np
import pytest
from differential import check
from numpy_cases import function

X = np.array([3, 1, 2])
CALLS = [
    "(1, 2) * x[0]",
    "x[0] * (1, 2)",
    "[0] * x[0]",
    "x.shape * x[0]",
    "(slice(None),) * x.max() + (0,)",
    "np.zeros((2,) * x[0]).shape",
    "[x] * x[2]",
    "[1] + [2] * x[2] + [3]",
    "tuple(x) * x[2].astype('u1')",
    "np.broadcast_shapes((1,) * x[0], (2,))",
    "(1, 2) * (x[0] > 0)",
    "[1, 2] * (x[0] * 1.0)",
    "'ab' * x[0]",
    "b'ab' * x[0]",
]


@pytest.mark.parametrize("text", CALLS)
def test_by_a_number_of_an_array(text):
    check(function(text, "x + 1"), X, 0, captured=False)


COUNTS = [2, 0, np.int64(2), np.int8(-1), np.float64(2), np.True_, np.array(2), X[2]]


@pytest.mark.parametrize("count", COUNTS, ids=repr)
def test_by_an_argument(count):
    check(function("(1, 2) * y", "y * [1, 2]", "x + 1"), X, count, captured=False)


@pytest.mark.parametrize("count", COUNTS, ids=repr)
def test_in_place(count):
    def twice(x, y):
        a = b = [1, 2]
        a *= y
        return a, b, a is b, x + 1

    check(twice, X, count, captured=False)


def test_in_place_by_a_number_of_an_array():
    def more(x):
        a = b = [1, 2]
        a *= x[0]
        t = (1,)
        t *= x[0]
        return a, b, a is b, t, x + 1

    check(more, X, captured=False)
