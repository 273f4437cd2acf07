"""Kept loops with a side of a branch that is not followed: they are left there, CPython does that side,
and the loop is entered again at the next turn."""

import gc
import logging
import sys
import warnings

import numpy as np
import pytest

import pycompile
from tests.differential import check

RNG = np.random.default_rng(5)
X = RNG.standard_normal(600).round(3)
X[[0, 41, 42, 300, 599]] = 9.0  # the first, neighbours, the last
W = RNG.integers(0, 40, 600)


@pycompile.disable
def opaque(log, *values):
    log.append(values)


class Plain:
    pass


class Store:
    """An object with a setter, which counts."""

    def __init__(self):
        self.count = 0

    @property
    def last(self):
        return self.count

    @last.setter
    def last(self, value):
        self.count += value


def prints(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 4:
            print("large", i, x[i], s)
        s += x[i] * 0.5
    return s, i


def prints_last(x, y):
    for i in range(1, len(x)):
        y[i] = y[i - 1] * 0.5 + x[i]
        if y[i] > 4:
            print("large", i, y[i], file=sys.stderr)
    return i


def calls(x, log):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 4:
            opaque(log, i, s)
            s = s * 0.5
        s += x[i]
    return s


def calls_else(x, log):
    s = 0
    for i in range(0, len(x), 3):
        if x[i] <= 4:
            s += x[i]
        else:
            opaque(log, i, s)
    return s, i


def calls_backwards(x, log):
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        if x[i] > 4:
            opaque(log, i)
            continue
        s = s * 0.75 + x[i]
    return s, i


def calls_with_the_array(x, y, log):
    for i in range(len(x)):
        y[i] = x[i] * 2
        if x[i] > 4:
            opaque(log, y.sum(), y[i])
            y[i] = -1
    return y.sum()


def writes_the_array(x, y):
    def change():
        y[:] = y[::-1].copy()

    change = pycompile.disable(change)
    for i in range(len(x)):
        y[i] += x[i]
        if x[i] > 4:
            change()
    return y.sum()


def counts_in_a_dict(x):
    seen = {}
    s = 0.0
    for i in range(len(x)):
        if x[i] > 1.5:
            key = int(x[i] * 4)
            seen[key] = seen.get(key, 0) + 1
        s += x[i]
    return s, seen


def adds_to_a_set(x):
    seen = set()
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        if x[i] > 2:
            seen.add(round(float(x[i]), 1))
    return s, sorted(seen)


def makes_text(x):
    s, text = 0.0, ""
    for i in range(len(x)):
        if x[i] > 4:
            text = f"{text}, {i}: {s:.3f}"
        s += x[i]
    return s, text


def appends_text(x):
    s, log = 0.0, []
    for i in range(len(x)):
        if x[i] > 4:
            log.append(f"large {i}")
        s += x[i]
    return s, log


def logs(x):
    logger = logging.getLogger("pycompile.test.sides")
    s = 0.0
    for i in range(len(x)):
        if x[i] > 4:
            logger.warning("large %d %r", i, x[i])
        s += x[i]
    return s


def warns(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 4:
            warnings.warn(f"large {i}", stacklevel=1)
        s += x[i]
    return s


def raises_in_the_loop(x):
    s, bad = 0.0, 0
    for i in range(len(x)):
        try:
            if x[i] > 4:
                raise ValueError(i)
            s += x[i]
        except ValueError as error:
            bad += error.args[0]
    return s, bad


def raises_around_the_loop(x):
    s = 0.0
    try:
        for i in range(len(x)):
            if x[i] > 4 and i > 100:
                raise ValueError(i, s)
            s += x[i]
    except ValueError as error:
        return error.args, i
    return s


def raises_out(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 4 and i > 100:
            raise ValueError(i, s)
        s += x[i]
    return s


def finally_(x, log):
    s = 0.0
    for i in range(len(x)):
        try:
            if x[i] > 4:
                opaque(log, i)
                if i == 41:
                    continue
            s += x[i]
        finally:
            s *= 0.5
    return s


def stores_attributes(x, plain):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 4:
            plain.last = i
        s += x[i]
    return s, plain.last


def in_a_while(x, log):
    i, s = 0, 0.0
    while i < len(x):
        if x[i] > 4:
            opaque(log, i, s)
        s += x[i]
        i += 1
    return s, i


def in_a_while_that_continues(x, log):
    i, s = -1, 0.0
    while i < len(x) - 1:
        i += 1
        if x[i] > 4:
            opaque(log, i, s)
            continue
        s += x[i]
    else:
        s += 1
    return s, i


def in_an_endless_while(x, log):
    i, s = 0, 0.0
    while True:
        if i >= len(x):
            break
        if x[i] > 4:
            opaque(log, i, s)
        s += x[i]
        i += 1
    return s, i


def left_by_a_break(x, log):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 4:
            opaque(log, i)
        if s > 12:
            s = -s
            break
        s += abs(x[i])
    else:
        s += 1000
    return s, i


def left_by_a_return(x, log):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 4:
            opaque(log, i)
            if i > 100:
                return "side", i
        if s < -40:
            return s, i
        s += x[i]
    return s


def breaks_in_the_side(x, log):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 4:
            opaque(log, i)
            if i == 300:
                break
        s += x[i]
    else:
        s += 1000
    return s, i


def nested(x, log):
    total = 0.0
    for i in range(len(x) // 20):
        s = 0.0
        for j in range(20):
            if x[i * 20 + j] > 4:
                opaque(log, i, j, s)
            s += x[i * 20 + j]
        total = total * 0.5 + s
    return total, i, j


def nested_thrice(x, log, y):
    total = 0.0
    for i in range(3):
        for j in range(2, len(x) // 20):
            s = 0
            for k in range(19, -1, -1):
                if x[j * 20 + k] > 4 and i != 1:
                    opaque(log, i, j, k, s)
                s += x[j * 20 + k]
            y[j] += s
        total = total * 0.5 + y[i]
    return total, i, j, k


def nested_in_the_outer(x, log):
    total = 0.0
    for i in range(len(x) // 20):
        s = 0.0
        for j in range(20):
            s += x[i * 20 + j]
        if s > 10:
            opaque(log, i, s)
        total = total * 0.5 + s
    return total


def nested_while(x, log):
    i, total = 0, 0.0
    while i < len(x):
        for j in range(20):
            if x[i + j] > 4:
                opaque(log, i, j)
            total += x[i + j]
        i += 20
    return total, i


def two_sides(x, log):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 4:
            opaque(log, i)
        elif x[i] < -2:
            print(i)
        s += x[i]
        if s < -30:
            log.append("low")
            s = 0
    return s


def side_with_a_loop(x, log):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 4:
            for k in range(3):
                opaque(log, k)
            while s > 1:
                opaque(log, s)
                s -= 1
        s += x[i]
    return s


def over_elements(x, log):
    s = 0.0
    for v in x:
        if v > 4:
            opaque(log, v, s)
        s += v * 0.5
    return s, v


def enumerated(x, log):
    s = 0.0
    for i, v in enumerate(x):
        if v > 4:
            opaque(log, i, v)
            if i == 300:
                continue
        s = s * 0.5 + v
    return s, i


def enumerated_from(x, log):
    s = 0.0
    for i, v in enumerate(x, len(x)):
        if v > 4:
            log.append(f"{i}: {v}")
        s += v * i
    else:
        s += 1
    return s


def over_rows(x, log):
    a = x[: len(x) // 20 * 20].reshape(-1, 20)
    s = 0.0
    for i, row in enumerate(a):
        for j in range(len(row)):
            if row[j] > 4:
                opaque(log, i, j)
            s += row[j] * 0.5
    return s


def zipped(x, log):
    s = 0.0
    for u, v in zip(x, x[::-1]):
        if u > 4:
            opaque(log, v)
        s += u * v
    return s


def backwards(x, log):
    s = 0.0
    for v in reversed(x):
        if v > 4:
            opaque(log, v)
        s = s * 0.5 + v
    return s


def writes_what_it_goes_over(x, log):
    for i, v in enumerate(x):
        x[(i + 1) % len(x)] += v * 0.25
        if v > 4:
            opaque(log, i, v, x[i])
            x[-1] += 1
    return x.sum()


def holds_the_iterator(x, log):
    items, s = iter(range(len(x))), 0.0
    for i in items:
        if x[i] > 4:
            opaque(log, i, next(items, -1))
        s += x[i]
    return s


def holds_a_loop_that_always_returns(x, log):
    for i in range(len(x)):
        if x[i] > 4:
            opaque(log, i)
        elif x[i] > 2.5:
            for j, q in enumerate((0.5, 2)):
                k = 0
                while True:
                    if k > q + x[i]:
                        return i, j, k
                    k += 1
    return i


def alternates(a, b):
    """An edit distance, with a new row in each turn."""
    before = np.arange(len(b) + 1)
    for i in range(len(a)):
        row = np.empty_like(before)
        row[0] = i + 1
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            row[j + 1] = min(row[j] + 1, before[j + 1] + 1, before[j] + cost)
        before = row
    return before[-1]


def of_numbers(n):
    x, s, log = 12345, 0, []
    for _ in range(n):
        x = (x * 1103515245 + 12345) % 2147483648
        if x < 20000000:
            log.append(str(x))
        s += x & 7
    return s, log


def keeps_what_it_appends(x, log):
    large = []
    for i in range(len(x)):
        if x[i] > 1:
            large.append(i)
        if x[i] > 4:
            opaque(log, len(large), large[-1])
    return large


def changes_the_type(x, log):
    s = 0
    for i in range(len(x)):
        if x[i] > 4:
            opaque(log, type(s).__name__)
            s = int(s)
        s += x[i]
    return s


def rebinds_the_array(x, log):
    s, other = 0.0, x * 2
    for i in range(len(x)):
        if x[i] > 4:
            opaque(log, i)
            x, other = other, x
        s += x[i]
    return s


def reads_frame_locals(x, log):
    t = s = 0.0
    for i in range(len(x)):
        t = x[i] * 2
        if t > 8:
            opaque(log, sorted(locals()))
        s += t
    return s


@pytest.mark.parametrize(
    "function",
    [prints, counts_in_a_dict, adds_to_a_set, makes_text, appends_text, logs, warns,
     raises_in_the_loop, raises_around_the_loop],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_of_one_array(function):
    check(function, X, also=((X[1:40],), (X[:1],), (X[:0],), (X[::-1],), (X[:350],)))


@pytest.mark.parametrize(
    "function",
    [calls, calls_else, calls_backwards, in_a_while, in_a_while_that_continues, in_an_endless_while,
     left_by_a_break, left_by_a_return, breaks_in_the_side, nested, nested_in_the_outer,
     nested_while, two_sides, side_with_a_loop, finally_, keeps_what_it_appends, changes_the_type,
     rebinds_the_array, over_elements,
     holds_a_loop_that_always_returns, enumerated, enumerated_from, over_rows],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_of_an_array_and_a_list(function):
    check(function, X, [], also=((X[1:41], []), (X[:20], []), (X[:0], []), (X[::-1], [])))


@pytest.mark.parametrize("function", [zipped, backwards, holds_the_iterator])
def test_iterators_that_are_not_entered_again(function):
    check(function, X, [], captured=False, also=((X[1:41], []), (X[:0], [])))


def test_the_array_that_is_gone_over_is_written():
    check(writes_what_it_goes_over, X, [], also=((X[1:41], []), (X[:2], [])))


@pytest.mark.slow
def test_other_iterators_at_the_same_place():
    """A plan for one kind of iterator is none for another."""

    def over(items, x, log):
        s = 0.0
        for i in items:
            if x[int(i)] > 4:
                opaque(log, i)
            s += x[int(i)]
        return s

    ints = np.arange(600)
    check(
        over, range(600), X, [], also=((ints, X, []), (range(2, 300, 3), X, []), (ints[::2], X, []))
    )


@pytest.mark.slow
def test_an_edit_distance_with_a_new_row_in_each_turn():
    a, b = W[:70], W[40:100]
    check(alternates, a, b)
    pycompile.reset()
    compiled = pycompile.compile(alternates)
    assert compiled(a, b) == alternates(a, b)
    assert compiled.stats()["plan_runs"] == 1


def test_variables_that_are_looked_at_by_name():
    check(reads_frame_locals, X, [], captured=False)


@pytest.mark.slow
def test_writes_before_the_side_are_done_once():
    check(prints_last, X, np.zeros(600), also=((X, np.ones(600)), (X[:0], np.zeros(1))))
    check(calls_with_the_array, X, np.zeros(600), [])
    check(nested_thrice, X, [], np.zeros(30))


def test_the_side_may_write_the_array():
    check(writes_the_array, X, np.zeros(600), captured=False)


def test_sides_store_attributes():
    check(stores_attributes, X, Plain())
    check(stores_attributes, X, Store())


def test_a_raise_that_leaves_the_function():
    check(raises_out, X, captured=False, also=((X[:200],),))


def test_loops_over_numbers():
    check(of_numbers, 3000, also=((0,), (1,), (5000,)))


def test_what_kept_the_loop_is_told():
    report = pycompile.explain(calls)(X, [])
    assert report.breaks[0]["code"] == "PC0052"
    assert "'opaque'" in report.breaks[0]["detail"]


def test_rare_sides_run_few_plans_and_many_give_up():
    pycompile.reset()
    compiled = pycompile.compile(calls)
    log = []
    assert compiled(X, log) == calls(X, []) and len(log) == 5
    runs = compiled.stats()["plan_runs"]
    assert 5 <= runs <= 8
    often = np.full(5000, 9.0)
    assert compiled(often, []) == calls(often, [])
    assert compiled.stats()["plan_runs"] < 200


@pytest.mark.slow
def test_iterators_are_not_kept():
    pycompile.reset()
    compiled = pycompile.compile(calls)
    compiled(X, [])
    gc.collect()
    before = sum(type(o).__name__ == "range_iterator" for o in gc.get_objects())
    for _ in range(50):
        compiled(X, [])
    gc.collect()
    assert sum(type(o).__name__ == "range_iterator" for o in gc.get_objects()) <= before


def returns_from_within(x, log, n, k):
    """A `return` drops two iterators, the side further out needs one."""
    for i in range(-n, n):
        for j in range(0, n, 2):
            if j >= k:
                opaque(log, n)
                return n
        if x[i * i] > 4:
            opaque(log, i)


def returns_from_deeper(x, log, n, k):
    for i in range(-n, n):
        if x[i * i] > 4:
            opaque(log, i)
        for j in range(n):
            for m in range(0, n, 2):
                if m + j >= k:
                    opaque(log, n)
                    return n


@pytest.mark.parametrize("function", [returns_from_within, returns_from_deeper])
def test_a_return_from_a_loop_inside_one_with_a_side(function):
    check(function, X, [], 20, 0, also=((X, [], 20, 10), (X, [], 20, 99), (X, [], 0, 0)))
