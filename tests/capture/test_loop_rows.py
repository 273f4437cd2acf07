"""Rows of arrays in kept loops, and loops over few items, which are unrolled in them."""

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.differential import MANY, check, check_whole

RNG = np.random.default_rng(31)
A, B = RNG.random((9, 7)), RNG.random((7, 9))


def product(a, b):
    c = np.zeros((len(a), len(b[0])))
    for i in range(len(a)):
        for j in range(len(b[0])):
            for k in range(len(b)):
                c[i][j] += a[i][k] * b[k][j]
    return c


def largest(a, b):
    out = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        row = a[i]
        m = row[0]
        for v in row:
            if v > m:
                m = v
        out[i] = m
    return out


def squares(a, b):
    t = 0.0
    for row in a:
        for v in row:
            t += v * v
    return t


def numbered(a, b):
    for i, row in enumerate(a):
        for j, v in enumerate(row):
            b[j][i] = v + i * len(row) + j
    return b


def side_by_side(a, b):
    t = 0.0
    for i, (u, v) in enumerate(zip(a, b)):
        for p, q in zip(u, v):
            t += p * q - i
    return t


def written_through(a, b):
    for i in range(len(a)):
        row = a[-i]
        row[i % len(row)] = i
        row[0] += a[i, 0] + row[-1]
        other = row
        other[1] = a[-i][0]
    return a


def backwards(a, b):
    t = 0.0
    for i in range(len(a)):
        row = a[i]
        for v in reversed(row):
            t = t * 0.5 + v
        for j, w in enumerate(reversed(b[i % len(b)])):
            t += j * w
    return t


def best(row):
    m = -np.inf
    for v in row:
        if v > m:
            m = v
    return m


def fill(row, v):
    for j in range(len(row)):
        row[j] = v
        v += 1


def given_to_functions(a, b):
    out = np.zeros(len(a))
    for i in range(len(a)):
        out[i] = best(a[i])
        fill(a[i], out[i])
        if i < len(b):
            fill(row=b[i], v=best(b[i]) * 2)
    return out, a, b


def chosen(a, b):
    t = 0.0
    for i in range(min(len(a), len(b))):
        if a[i][0] > 0.5:
            u = a[i]
            t += u[1]
        else:
            u = b[i]
            t -= u[2]
    return t


@pytest.mark.slow
@pytest.mark.parametrize(
    "function",
    [
        product,
        largest,
        squares,
        numbered,
        side_by_side,
        written_through,
        backwards,
        given_to_functions,
        chosen,
    ],
)
def test_rows(function):
    narrow = A.astype(np.float32)
    thin, none = np.ones((9, 1)), np.ones((3, 0))
    also = ((A.T, B.T), (narrow, B), (A[::2], B), (A[:0], B), (A, thin), (none, B), (A, A))
    check_whole(function, A, B, also=also)


def cubes(x, n):
    t = 0.0
    for i in range(n):
        plane = x[i]
        for j in range(len(plane)):
            line = plane[j]
            for k in range(len(line)):
                t += line[k] * plane[j, k] + x[i, j][k]
            line[0] = t
    return t, x


def test_rows_backwards_stay_loops():
    compiled = pycompile.compile(backwards, fullgraph=True)
    for n in (3, 40, 300):
        a, b = RNG.random((n, n + 1)), RNG.random((2, n))
        assert compiled(a, b) == backwards(a, b)
    assert compiled.stats()["compiles"] == 1


def test_parts_of_more_axes():
    x = RNG.random((3, 4, 5))
    check_whole(cubes, x, 3, also=((x, 4), (x.T, 5), (x[:, :0], 3), (x[:, :, :0], 3)))


# ---- what Python tells ----


def not_used(a, n):
    t = 0
    for i in range(n):
        row = a[i]
        t += 1
        a[0, 0] = t
    return t, len(row)


def used_at_times(a, n):
    t = 0.0
    for i in range(n):
        row = a[i]
        if i % 3 == 0:
            t += row[0]
        a[0, 0] = t
    return t


def gone_through(a, n):
    t = 0.0
    for i in range(n):
        for v in a[i]:
            t += v
            a[0, 0] = t
    return t


def only_its_length(a, n):
    t = 0
    for i in range(n):
        t += len(a[i])
        a[0][0] = t
    return t


def unpacked(a, n):
    t = 0.0
    for i in range(n):
        p, q = a[i]
        t += p * q
        a[0][0] = t
    return t


def unpacked_from(a, n):
    t = 0.0
    for p, q in a:
        t += p - q
        a[0, 1] = t
    return t


@pytest.mark.parametrize(
    "function", [not_used, used_at_times, gone_through, only_its_length, unpacked, unpacked_from]
)
def test_an_index_is_checked_where_the_row_is_made(function):
    pairs = RNG.random((5, 2))
    also = tuple((pairs, n) for n in (0, 4, 6)) + tuple(
        (RNG.random((5, k)), n) for k in (0, 1, 3) for n in (1, 5, 7)
    )
    check(function, pairs, 5, also=also, captured=False, options=MANY)
    if function is not not_used:
        check_whole(function, pairs, 5)


def dimensions(row):
    try:
        return row.ndim
    except AttributeError:
        return 7


def asks_for_attributes(a, n):
    t = 0
    for i in range(n):
        t += dimensions(a[i])
        a[0, 0] = t
    return t


def same_row(a, n):
    t = 0
    for i in range(n):
        u, v = a[i], a[i]
        w = u
        t += (u is v) + 2 * (u is w) + 4 * (u is None)
        a[0, 0] = t
    return t


def kept_for_later(a, n):
    for i in range(n):
        row = a[i]
        row[0] = i
    return row


def whole_rows(a, n):
    t = np.zeros(a.shape[1])
    for i in range(n):
        t += a[i]
        a[i] = 0
    return t, a


def lasts(a, n):
    row = a[0]
    for i in range(n):
        row[0] += a[i][1]
        row = a[i]
    return a


@pytest.mark.parametrize(
    "function", [asks_for_attributes, same_row, kept_for_later, whole_rows, lasts]
)
def test_what_is_done_with_whole_rows(function):
    check(function, A, 5, also=((A, 9), (A, 10), (A, 0)), captured=False, options=MANY)


def told(function, *args):
    found = _explain_text.found_breaks(pycompile.explain(function)(*args))
    return " | ".join(item["detail"] or "" for item in found)


def rows_with_methods(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        row = a[i]
        for j in range(len(row)):
            out[i] += row[j]
        out[i] /= row.std()  # here
    return out


@pytest.mark.slow
def test_what_a_row_cannot_is_a_step():
    assert told(rows_with_methods, RNG.random((300, 40))) == ""


# ---- few items ----

STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
LISTS = [(0, 1), (1, 0), (0, -1), (-1, 0)]


def neighbours(g, n):
    out = np.zeros_like(g)
    for i in range(g.shape[0]):
        for j in range(g.shape[1]):
            for di, dj in STEPS:
                p, q = i + di, j + dj
                if 0 <= p < g.shape[0] and 0 <= q < g.shape[1]:
                    out[i, j] += g[p, q]
    return out


def neighbours_of_a_list(g, n):
    steps = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    t = 0
    for i in range(1, n):
        for k, (di, dj) in enumerate(steps):
            if g[i + di][i + dj] == 0:
                continue
            t += k
    return t


def neighbours_of_a_global_list(g, n):
    t = 0
    for i in range(n):
        for di, dj in LISTS:
            t += g[i + di, i + dj]
    return t


def around(g, i, j):
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            if (di or dj) and g[i + di, j + dj] > 0:
                yield_ = di * 3 + dj
                g[i, j] += yield_
    return g[i, j]


def in_functions(g, n):
    t = 0
    for i in range(1, n):
        t += around(g, i, i)
    return t


def numbers(g, n):
    t = 0.0
    for i in range(n):
        for v in (t, i, 0.5, g[i, i]):
            t += v * 0.25
        for a, b in zip((1, 2), (0.5, t)):
            t -= a * b
    return t


def left(g, n):
    t = 0
    for i in range(n):
        for d in (0, 1, 2):
            if g[i, d] > 0:
                t += d
                break
        else:
            t -= 1
    return t


@pytest.mark.parametrize(
    "function",
    [neighbours, neighbours_of_a_list, neighbours_of_a_global_list, in_functions, numbers, left],
)
def test_loops_over_few_items(function):
    g = RNG.integers(0, 3, (8, 8))
    check(function, g, 7, also=((g, 8), (g, 9), (g, 0), (g.T, 3)), options=MANY)
    if function is not left:
        check_whole(function, g, 7)


def grows(g, n):
    steps = [1, 2]
    t = 0
    for i in range(n):
        for d in steps:
            t += g[i, d]
        if i == 3:
            steps.append(0)
    return t


def shared_iterator(g, n):
    """It goes on where the turn before has left it."""
    items = iter((1, 2, 3, 4, 5))
    t = 0
    for i in range(n):
        for d in items:
            t += g[i, d] * i
    return t


def many_items(g, n):
    t = 0
    for i in range(n):
        for d in (0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 1, 2):
            t += g[i, d] * i
    return t


@pytest.mark.parametrize("function", [grows, shared_iterator, many_items])
def test_what_is_not_unrolled(function):
    g = RNG.integers(0, 3, (8, 8))
    check(function, g, 7, also=((g, 8), (g, 9), (g, 0)), captured=False, options=MANY)
