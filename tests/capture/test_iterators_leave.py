"""Iterators over arrays that are alive where a graph ends: CPython goes on with real ones."""

import numpy as np
import pytest
from differential import check

import pycompile

X = np.array([[1.0, -2.0], [3.0, 0.5], [-4.0, 2.0]])


def walk(x):
    log = []
    for row in x * 2:
        log.append(row.sum())
        pycompile.graph_break()
    return log


def walk_what_is_written(x):
    log = []
    for row in x:
        x += 1
        log.append(row.copy())
        pycompile.graph_break()
    return log, x


def zipped(x):
    log = []
    for i, (a, b) in enumerate(zip(x, x[::-1] + 1, strict=True)):
        log.append((i, a @ b))
        if i == 1:
            pycompile.graph_break()
    return log


def half_way(x):
    rows = iter(x + 1)
    first = next(rows)
    pycompile.graph_break()
    second = next(rows)
    return first, second, type(rows).__name__, list(rows)


def at_the_end(x):
    rows = iter(x + 1)
    all_ = list(rows)
    pycompile.graph_break()
    return all_, next(rows, "over"), list(rows)


def leaves(x):
    rows = iter(x - 1)
    next(rows)
    next(rows)
    return rows


def walk_backwards(x):
    log = []
    for value in reversed(x[:, 0] * 3):
        log.append(value)
        pycompile.graph_break()
    return log


@pytest.mark.parametrize(
    "function",
    [walk, walk_what_is_written, zipped, half_way, at_the_end, walk_backwards],
    ids=lambda function: function.__name__,
)
def test_a_break_while_an_array_is_walked(function):
    check(function, X, captured=False)


def test_an_iterator_that_is_returned():
    plain, compiled = leaves(X), pycompile.compile(leaves)(X)
    assert type(compiled) is type(plain)
    assert [row.tolist() for row in compiled] == [row.tolist() for row in plain]
    assert next(compiled, None) is None


def sort_by_values(x):
    return sorted((value, i) for i, value in enumerate(x[:, 0]))


def test_the_reason_is_told_once_and_where_it_is():
    found = pycompile.explain(sort_by_values)(X)
    assert 0 < len(found.breaks) < 4
    assert {each["line"] for each in found.breaks} == {sort_by_values.__code__.co_firstlineno + 1}


def centres(x):
    return [x[x[:, 0] == i].mean() if (x[:, 0] == i).any() else x[i] * 2 for i in range(3)]


def doubles(x):
    return [(pycompile.graph_break(), x[i] * 2)[1] for i in range(3)]


@pytest.mark.parametrize("function", [centres, doubles], ids=lambda function: function.__name__)
def test_a_list_goes_on_growing_after_a_break(function):
    check(function, X, captured=False)
    codes = [each["code"] for each in pycompile.explain(function)(X).breaks]
    assert "PC0001" not in codes and ("PC0005" in codes) == (function is doubles)
