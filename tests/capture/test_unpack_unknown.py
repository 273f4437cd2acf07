"""Unpacking arrays whose length is known only when the code runs, or that lie at a place that is."""

import numpy as np
import pytest

from tests.differential import check
from tests.reports import breaks

NODES = np.random.default_rng(0).normal(size=(50, 2))
CUBE = np.arange(60.0).reshape(5, 3, 4)
ENDS = np.array([4, 1, 3, 2])
X = np.linspace(-1.0, 1.0, 300)


def edge(nodes, ends):
    x, y = nodes[ends[0]] - nodes[ends[1]]
    return np.sqrt(x * x + y * y), nodes + x


def node(nodes, ends):
    x, y = nodes[ends[0]]
    return x * y


def two_that_are_largest(x, limit):
    first, second = x[x > limit]
    return first * second, x + second


def columns(nodes, limit):
    x, y = nodes[nodes[:, 0] > limit].T
    return x * y + 1


def rows(cube, ends):
    a, b, c = cube[ends[0]]
    return a * b + c, np.sqrt(np.abs(a))


def rows_that_are_written(cube, ends):
    a, b, c = cube[ends[0]]
    a += b
    return a, c, cube


def rows_of_what_is_written(cube, ends):
    cube[1] = 7
    a, b, c = cube[ends[1]]
    cube[2] = a
    return a + c, b


def kept_rows(cube, ends):
    a, *_ = cube[ends[0]]
    b, c, d = cube[ends[0]]
    return a, b, c, d


def integers(x):
    (where,) = np.nonzero(x > 0.99)
    i, j = where
    return i + j, x[i], type(i)


def flags(x):
    a, b = (x > 0)[x > 0.99]
    return a & b, type(a)


def counted_twice(x, limit):
    y = x + 1
    first, second = y[x > limit]
    y[0] = first
    return y, second


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (edge, (NODES, ENDS)),
        (node, (NODES, ENDS)),
        (two_that_are_largest, (X, X[-3])),
        (columns, (NODES, 0.5)),
        (rows, (CUBE, ENDS)),
        (integers, (X,)),
        (flags, (X,)),
        (counted_twice, (X, X[-3])),
    ],
)
def test_items_of_an_array_of_unknown_length(function, args):
    check(function, *args, whole=True)


@pytest.mark.parametrize("function", [rows_that_are_written, rows_of_what_is_written, kept_rows])
def test_rows_at_an_unknown_place_are_views(function):
    check(function, CUBE, ENDS)


def test_another_number_of_items():
    others = [(X, X[-2]), (X, X[-4]), (X, 2.0), (X, X[-3])]
    check(two_that_are_largest, X, X[-3], also=others)
    check(two_that_are_largest, X, 2.0)


def catches(x, limit):
    try:
        first, second = x[x > limit]
    except ValueError as error:
        return str(error), x + 1
    return first * second, x * 2


@pytest.mark.parametrize("limit", [X[-3], X[-2], X[-4], 2.0])
def test_another_number_of_items_is_caught(limit):
    check(catches, X, limit, also=[(X, X[-3]), (X, X[-5])])


def goes_over_a_place(nodes, ends):
    total = nodes * 2
    for v in nodes[ends[0]]:
        total = total + v
    return total


def test_iteration_over_a_place_is_not_told_as_an_unknown_length():
    item = breaks(goes_over_a_place, NODES, ENDS)[0]
    assert item["code"] == "PC0050" and "x[[k]][0] to read" in item["hint"], item
    check(goes_over_a_place, NODES, ENDS)
