"""Iterators over arrays that are alive where a graph ends: CPython goes on with real ones."""

import functools

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


# ---- iterators that go through a kept loop, and that the program holds ----


class Holder:
    pass


def one_twice(x):
    out, k = np.zeros(len(x)), 0
    for a, b in zip(*[iter(x)] * 2):  # noqa: B905
        out[k] = a - b
        k += 1
    return out, k


def by_an_attribute(x):
    holder, total = Holder(), 0.0
    holder.it = iter(x)
    for v in holder.it:
        total += v
    return total, list(holder.it)


def of_an_argument(x, holder):
    total = 0.0
    holder.it = iter(x)
    for v in holder.it:
        total += v
    return total, list(holder.it)


def by_a_closure(x):
    it = iter(x)

    def get():
        return it

    total = 0.0
    for v in get():
        total += v
    return total, list(it)


def by_a_partial(x):
    step, total = functools.partial(next, iter(x)), 0.0
    for v in step.args[0]:
        total += v
    return total, list(step.args[0])


def deep_inside(x):
    box, total = [[[[[[iter(x)]]]]]], 0.0
    for v in box[0][0][0][0][0][0]:
        total += v
    return total, list(box[0][0][0][0][0][0])


def by_a_global(x):
    global HELD
    HELD = iter(x)
    total = 0.0
    for v in HELD:
        total += v
    return total, list(HELD)


def behind_enumerate(x):
    it, total = iter(x), 0.0
    for i, v in enumerate(it):
        total += i * v
    return total, list(it)


@pytest.mark.parametrize(
    "function",
    [
        *(one_twice, by_an_attribute, by_a_closure, by_a_partial, deep_inside, by_a_global),
        behind_enumerate,
    ],
)
def test_iterators_that_the_program_holds(function):
    check(function, np.linspace(-2, 2, 40), captured=False)


def test_an_iterator_that_an_argument_holds():
    x = np.linspace(-2, 2, 40)
    compiled = pycompile.compile(of_an_argument)
    for _ in range(3):
        assert compiled(x, Holder()) == of_an_argument(x, Holder())


def over_parts(x):
    total = 0.0
    for v in x:
        total += v
    for i, (a, b) in enumerate(zip(x, x)):  # noqa: B905
        total += a * b - i
    return total


def test_iterators_that_nobody_holds_keep_their_loop():
    report = pycompile.explain(over_parts, fullgraph=True)(np.linspace(-2, 2, 9000))
    assert report.error is None
