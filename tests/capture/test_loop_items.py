"""Kept loops over arrays, `enumerate`, `zip`, and ranges and arrays backwards."""

import numpy as np
import pytest

import pycompile
from tests.differential import MANY, check

RNG = np.random.default_rng(11)


def vector(n, dtype=np.float64):
    return (RNG.standard_normal(n) * 9).astype(dtype)


def squares(x, y, s):
    for v in x:
        s += v * v
    return s


def written_ahead(x, y, s):
    """Elements are read when their turn comes."""
    i = 0
    for v in x:
        i += 1
        if i < len(x):
            x[i] = v + 1
    return i


def numbered(x, y, s):
    for i, v in enumerate(x):
        y[i] = v + i
    for k, v in enumerate(x, -2):
        s += v * k
    return s, k


def side_by_side(x, y, s):
    for i, (v, w) in enumerate(zip(x, y)):
        if v < w:
            x[i] = w
        elif v > 8:
            break
    return i


def with_a_range(x, y, s):
    for v, i in zip(x, range(len(y))):
        y[i] -= v
    else:
        s += 1
    return s


def nested(x, y, s):
    for i in range(len(y)):
        for v in x:
            y[i] += v
        for k, (a, b) in enumerate(zip(x, y)):
            if a > b:
                y[k] = a - s
    return i


def backwards(x, y, s):
    for i in reversed(range(len(x) - 1)):
        x[i] += x[i + 1]
    for i in reversed(range(3, len(y), 1)):
        y[i] -= y[i - 3]
    for i in reversed(range(len(x) - 1, 2, -1)):
        x[i] += x[i - 1]
        for j in reversed(range(i)):
            s += x[j]
    return s


def from_the_end(x, y, s):
    for v in reversed(x):
        s = s * 0.5 + v
    return s


def from_both_ends(x, y, s):
    """Elements backwards are read when their turn comes, too."""
    for i, (v, w) in enumerate(zip(reversed(x), y)):
        y[i] = v
        x[i] += 1
        for u in reversed(y):
            s += u
        if w > 9:
            break
    return s


FUNCTIONS = [squares, written_ahead, numbered, side_by_side, with_a_range, nested, backwards]
FUNCTIONS += [from_the_end, from_both_ends]


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_a_loop_goes_over(function, dtype):
    s = dtype(0)
    args = lambda n, m: (vector(n, dtype), vector(m, dtype), s)
    also = [args(n, m) for n, m in ((40, 40), (30, 50), (5, 9), (9, 5), (2, 1), (1, 2), (0, 4))]
    also += [(vector(60, dtype)[::2], vector(60, dtype)[::-2], s)]
    x = vector(20, dtype)
    also += [(x, x, s), (x[1:], x[:-1], s)]
    check(function, *args(30, 30), also=also, captured=False, options=MANY)


@pytest.mark.parametrize(
    "function",
    [squares, written_ahead, numbered, with_a_range, nested, backwards, from_the_end],
)
def test_they_stay_loops(function):
    compiled = pycompile.compile(function, fullgraph=True)
    for n in (300, 400, 500):
        compiled(vector(n), vector(n), np.float64(0))
    stats = compiled.stats()
    assert stats["compiles"] == 1 and stats["plan_runs"] == 3, stats


def rows_from_the_end(x, y, s):
    """Unrolled."""
    rows = x[: len(x) // 3 * 3].reshape(3, -1)
    backwards = reversed(rows)
    first = next(backwards)
    return [first + y[0], type(backwards), *backwards, *backwards, list(reversed(rows[0, :3]))]


def half_way_from_the_end(x, y, s):
    """The iterator leaves a plan between two items."""
    backwards = reversed(x[:5] + y[:5])
    first, second = next(backwards), next(backwards)
    return backwards, list(backwards)[:1], x[:2] + first * second, next(backwards, None)


@pytest.mark.parametrize("function", [rows_from_the_end, half_way_from_the_end])
def test_arrays_backwards_outside_of_kept_loops(function):
    args = lambda n: (vector(n), vector(n), np.float64(0))
    check(function, *args(300), also=[args(n) for n in (30, 9, 5)], options=MANY)


def test_no_axes_are_no_sequence_backwards():
    def function(x):
        y = x + 1.0
        return [v * 2 for v in reversed(y.sum())]

    check(function, vector(30), captured=False)


def test_ints_of_more_than_64_bits_beside_an_array():
    def function(x):
        s, last = 0.0, 0
        for i, v in zip(range(2**70, 2**71), x):
            s += v
            last = i
        return s, last

    check(function, vector(7), captured=False)


def test_an_exhausted_iterator_leaves_as_one():
    def function(x, y):
        forwards, rest = iter(x[:2] + y[:2]), iter(x[:2] * 2.0)
        list(forwards), list(rest)
        return forwards, next(rest, None)

    check(function, vector(300), vector(300), options=MANY)


def test_an_iterator_in_a_variable_is_seen_afterwards():
    def over_a_range(x, n):
        rest = iter(range(n))
        for i in rest:
            x[i] += 1.0
            if x[i] > 5:
                break
        return list(rest)[:3]

    def over_an_array(x, n):
        rest = [iter(x)]
        for i, v in enumerate(rest[0]):
            x[i] = v + 1.0
            if v > 5:
                break
        return sum(1 for _ in rest[0])

    def in_a_pair(x, n):
        rest = iter(range(n))
        for v, i in zip(x, rest):
            x[i] = v * 2
        return next(rest, None)

    for function in (over_a_range, over_an_array, in_a_pair):
        check(function, np.arange(9.0), 9, also=((np.arange(9.0), 20),), captured=False)
