"""Numbers of each class, as arguments and behind graph breaks: a plan takes the value of none for granted
that depends on what is differentiated.  Python's functions of numbers, and lists of them."""

from __future__ import annotations

import io
import math
import re

import numpy as np
import pytest
from differences import check

import pycompile
from pycompile import DerivativeError, grad

X = np.array([0.6, 0.9, 0.35])


def repeated(a):
    x = a
    for _ in range(3):
        x = math.cos(x) * a
    return x


def converged(a):
    x = a
    for _ in range(60):
        d = (x - 0.3 * math.sin(x) - a) / (1 - 0.3 * math.cos(x))
        x = x - d
        if abs(d) < 1e-14:
            break
    return math.cos(x)


def within(a):
    x = 0.6
    for _ in range(80):
        n = math.cos(x) * a
        if abs(n - x) < 1e-12:
            return n
        x = n
    return x


OF_A_NUMBER = {
    "sin": lambda a: math.sin(a) * 2 + a,
    "pow": lambda a: math.pow(a, 3) * math.exp(2 * math.log(a)),
    "repeated": repeated,
    "converged": converged,
    "within": within,
    "complex": lambda a: (complex(a * 3) * 1j * complex(2.0, a * a)).real,
    "float": lambda a: float(a) ** 2,
    "rounded": lambda a: round(a * 1.7, 1) * a + a,
    "nested": lambda a: grad(lambda b: math.sin(b) * a)(a),
}


@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_a_number(name):
    f = OF_A_NUMBER[name]
    for kind in (float, np.float64, np.asarray):
        check(f, kind(0.6), h=0.01, tolerance=1e-7)
    expected = grad(f)(0.6)
    for kind, tolerance in ((np.float32, 1e-5), (np.float16, 2e-2)):
        gradient = grad(f)(kind(0.6))
        assert type(gradient) is kind and abs(gradient - expected) < tolerance * (1 + abs(expected))


def in_a_container(p):
    return math.sin(p["a"]) * 2


def behind_a_break(x):
    s = x.sum()
    eval("1")
    return math.sin(s) * x[0]


def behind_a_print(x):
    s = x[0] * x[1]
    print(s, file=io.StringIO())
    return math.exp(s) + s


def as_a_float(x):
    s = float(x.sum())
    eval("1")
    return math.exp(s) * x.sum()


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_behind_a_break(dtype):
    for f in (behind_a_break, behind_a_print, as_a_float):
        gradient = grad(f)(X.astype(dtype))
        steps = np.eye(3) * 1e-6
        expected = [(f(X + step) - f(X - step)) / 2e-6 for step in steps]
        assert np.allclose(gradient, expected, atol=1e-5 if dtype == "f4" else 1e-8)
    a = np.dtype(dtype).type(0.6)
    assert abs(grad(in_a_container)({"a": a})["a"] - 2 * math.cos(0.6)) < 1e-6


def test_a_text_of_a_number_raises():
    def f(x):
        s = str(x.sum())
        eval("1")
        return float(s) * x.sum()

    for dtype in ("f8", "f4"):
        with pytest.raises(DerivativeError, match="granted|no graph"):
            grad(f)(X.astype(dtype))


def hinge(x):
    total = 0.0
    for v in x:
        total += max(0.0, v - 0.4) ** 2
    return total


def sizes_of_steps(x):
    t, y, h = 0.0, x[1], 0.1
    while t < 1.0:
        h = min(h * (1 + x[0] * x[0]), 1.0 - t)
        y = y + h * y * x[0]
        t = t + h
    return y


def of_rows(x):
    rows = np.outer(x, x + 1).tolist()
    return sum(rows[i][0] * rows[i][1] for i in range(len(rows))) + x.tolist()[2]


def in_order(x):
    a, b, c = sorted([x[0], x[2], x[1] * 2])
    d, e = sorted([x[0] * 2, x[1]], reverse=True)
    return a * b**2 * c**3 * d * e**2


LISTS = {
    "min and max": lambda x: min(x.sum(), 1.0) * x[0] * max(0.1, x[1], min(x[2], 2)),
    "of Python's": lambda x: max(0.0, float(x[0]) - 0.1) ** 2 * max([x[0], x[1]]),
    "hinge": hinge,
    "generator": lambda x: sum(max(0.0, v - 0.4) ** 2 for v in x),
    "steps": sizes_of_steps,
    "rows": of_rows,
    "no axis": lambda x: (x[:1].reshape(()) * 1).tolist() * x[1],
    "in order": in_order,
    "differences": lambda x: np.diff(x, prepend=x[-1:], append=x[:1]) ** 2,
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_numbers(name):
    check(LISTS[name], X, h=0.01, tolerance=1e-7)


@pytest.mark.parametrize("order", [1, -1])
def test_of_equal_numbers_the_first_counts(order):
    def f(x):
        return max([x[0], 0.6][::order]) + min([x[1], 0.9][::order])

    assert grad(f)(X).tolist() == ([1.0, 1.0, 0.0] if order == 1 else [0.0, 0.0, 0.0])
    assert pycompile.value_and_grad(f)(X)[0] == f(X)


def test_texts_of_numbers_are_refused():
    for f in (
        lambda x: float(re.match(".*", str(float(x[0]))).group()) * 2,
        lambda x: float(np.array2string(x.sum())) * 2,
    ):
        for dtype in ("f8", "f4"):
            with pytest.raises(DerivativeError, match="no graph follows|granted|text of a number"):
                grad(f)(X.astype(dtype))
