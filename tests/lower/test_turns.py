"""Loops over statements of arrays, whose places and lengths change from turn to turn: each is one loop
of a plan's steps (control/repeat.c, core/measured.c, lower/measure.c)."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from differential import check, differences, observe

import pycompile
from pycompile import _C
from pycompile._C import Graph, graph_pass
from pycompile._eager import run

# Few turns are unrolled, so that the loops of small arrays are tried as loops, too.
LOOPS = {"options": {"unroll": 24, "plan_always": True}}
RNG = np.random.default_rng(7)


def is_one_plan(function, *args, also=()):
    check(function, *args, also=also, whole=True, exits=["return"], options=LOOPS)


def like(function, *args, also=()):
    """What a plan leaves to Python is as in Python."""
    check(function, *args, also=also, captured=False, options=LOOPS)


# ---- a column of each ----


def columns(w, c, d, g):
    for k in range(1, w.shape[2]):
        c[:, :, k] = g * (w[1:, :, k] + w[:-1, :, k])
        d[:, :, k] -= d[:, :, k - 1] * c[:, :, k]
    return d


@pytest.mark.parametrize("n", [2, 3, 40])
def test_columns(n):
    w, c, d = RNG.random((4, 3, n)), RNG.random((3, 3, n)), RNG.random((3, 3, n))
    is_one_plan(columns, w, c, d, 0.3)
    like(columns, w[..., :1], c[..., :1], d[..., :1], 0.3)
    like(columns, w, w[1:], d, 0.3)  # it reads what it writes
    like(columns, np.asfortranarray(w), c[::-1], d, 0.3)
    w[0, 0, n // 2] = np.nan
    is_one_plan(columns, w, c, d, 0.3)


# ---- all pairs ----


def shortest(d):
    for k in range(d.shape[0]):
        d[:] = np.minimum(d, np.add.outer(d[:, k], d[k]))
    return d


@pytest.mark.parametrize("n", [1, 2, 30])
def test_shortest_paths(n):
    d = RNG.random((n, n)) * 9
    is_one_plan(shortest, d)
    is_one_plan(shortest, d.astype(int))
    d[0, -1] = np.inf
    d[-1, 0] = np.nan
    is_one_plan(shortest, d)
    like(shortest, np.zeros((0, 0)))


# ---- windows ----


def convolved(x, w, out):
    size = w.shape[0]
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            window = x[:, i : i + size, j : j + size, :, None]
            out[:, i, j, :] = np.sum(window * w[None], axis=(1, 2, 3))
    return out


def test_windows():
    x, w = RNG.random((2, 9, 8, 3)), RNG.random((3, 3, 3, 4))
    is_one_plan(convolved, x, w, np.zeros((2, 7, 6, 4)))
    is_one_plan(convolved, x, w, np.zeros((2, 1, 1, 4)))
    like(convolved, x, w, np.zeros((2, 9, 8, 4)))  # a window that is too small
    like(convolved, x, w, np.zeros((2, 0, 6, 4)))


# ---- masks ----


def counted(z, c, n, turns):
    for k in range(turns):
        m = abs(z) < 2
        n[m] = k
        z[m] = z[m] ** 2 + c[m]
    return n


def test_masks():
    c = RNG.random((5, 6)) * 3 - 1.5
    is_one_plan(counted, np.zeros((5, 6)), c, np.zeros((5, 6), int), 12)
    is_one_plan(counted, np.full((5, 6), 9.0), c, np.zeros((5, 6), int), 12)  # it selects nothing
    is_one_plan(counted, np.full((5, 6), np.nan), c, np.zeros((5, 6), int), 12)
    for turns in (0, 1, 2):
        like(counted, np.zeros((5, 6)), c, np.zeros((5, 6), int), turns)


def means(data, r, edges, res):
    for k in range(len(res)):
        lo = edges[k]
        hi = edges[k + 1]
        v = data[(lo <= r) & (r < hi)]
        res[k] = v.mean()
    return res


def test_selections():
    data, r = RNG.random(200), np.arange(200) / 200
    is_one_plan(means, data, r, np.linspace(0, 1, 11), np.zeros(10))
    is_one_plan(means, data.astype(int), r, np.linspace(0, 1, 41), np.zeros(40))
    like(means, data, r, np.linspace(0, 3, 11), np.zeros(10))  # "Mean of empty slice"
    like(means, data, r, np.linspace(0, 1, 9), np.zeros(10))  # an index out of bounds


def selected(x, t):
    s = np.float64(0)
    for k in range(x.shape[0]):
        v = x[k][x[k] > t]
        s += v.sum() * len(v)
    return s


def test_selections_of_rows():
    x = RNG.random((30, 11))
    for t in (0.5, 2.0, -1.0, float("nan")):
        is_one_plan(selected, x, t)


# ---- what is left of a matrix ----


def reflected(r):
    for k in range(r.shape[0] - 1):
        v = r[k:, k].copy()
        v /= np.sqrt(v @ v)
        r[k:, k:] -= 2 * np.outer(v, v @ r[k:, k:])
    return r


def cholesky(a):
    for j in range(a.shape[0]):
        a[j, j] = np.sqrt(a[j, j] - a[j, :j] @ a[j, :j])
        a[j + 1 :, j] = (a[j + 1 :, j] - a[j + 1 :, :j] @ a[j, :j]) / a[j, j]
    return a


@pytest.mark.parametrize("n", [2, 3, 30])
def test_matrices(n):
    a = RNG.random((n, n))
    is_one_plan(reflected, a)
    is_one_plan(reflected, np.asfortranarray(a))
    is_one_plan(cholesky, a @ a.T + n * np.eye(n))
    a[-1, -1] = np.nan
    is_one_plan(reflected, a)
    like(cholesky, -a @ a.T)  # a square root of what is negative


def levinson(r, y):
    for k in range(1, len(r)):
        a = np.dot(np.flip(r[:k]), y[:k])
        y[:k] += a * np.flip(y[:k])
        y[k] = a
    return y


@pytest.mark.parametrize("n", [2, 3, 30])
def test_recursions(n):
    r, y = RNG.random(n) / n, RNG.random(n) / n
    is_one_plan(levinson, r, y)
    is_one_plan(levinson, r[::-1], y)
    like(levinson, r, y[:-1])  # an index out of bounds, at the end
    like(levinson, y, y)


# ---- arrays that turns make ----


def rows(s, t):
    n = len(t)
    prev, row = np.arange(n + 1.0), np.empty(n + 1)
    for i in range(len(s)):
        row[0] = i + 1
        row[1:] = np.minimum(prev[1:] + 1, prev[:-1] + (t != s[i]))
        prev, row = row, np.empty(n + 1)
    return prev


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_rows_made_anew(n):
    like(rows, RNG.integers(0, 3, n), RNG.integers(0, 3, 12))


def states(n, dt):
    s, r, b = 10.0, 28.0, 8 / 3
    p = np.array([1.0, 1.0, 1.0])
    out = np.empty((n, 3))
    for i in range(n):
        x, y, z = p
        p = p + dt * np.array([s * (y - x), x * (r - z) - y, x * y - b * z])
        out[i] = p
    return out


@pytest.mark.parametrize("n", [1, 2, 60])
def test_states(n):
    like(states, n, 0.01)
    like(states, n, np.float32(0.01))


# ---- small calls of NumPy: products, selections, places of extremes ----


def products(a, v, w):
    for k in range(len(v)):
        w[k] = np.dot(v[k::-2], w[k::-2]) + np.dot(v[:k], v[::-1][:k])
        w[k:] += a[k:, : k + 1] @ v[: k + 1]
        w[: k + 1] -= v[k:] @ a[k:, : k + 1]
        a[k:, k:] *= (a[k:, :2] @ a[:2, k:]) > a[k, k]
    return w


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.complex128])
def test_products(dtype):
    for n in (1, 2, 3, 29):
        a, v = RNG.random((n, n)) * 9 / n, RNG.random(n)
        like(products, a.astype(dtype), v.astype(dtype), np.ones(n, dtype))
    like(products, np.asfortranarray(a)[::-1], v[::-1], np.ones(n))
    like(products, a, np.where(np.arange(n) > 9, 1e300, v), np.ones(n))  # it overflows
    like(products, a, np.where(np.arange(n) == 9, np.nan, v), np.ones(n))


def extremes(x, r):
    for k in range(len(r)):
        r[k] = x[k:].argmax() + 3 * np.argmin(x[: k + 1]) + x[::-1][:: k + 1].argmax()
    return r


def test_places_of_extremes():
    for x in (RNG.random(30), RNG.integers(0, 5, 30), RNG.random(30) > 0.5, np.full(30, np.nan)):
        is_one_plan(extremes, x, np.zeros(30))
        is_one_plan(extremes, x.astype(np.float32), np.zeros(30))
    like(extremes, RNG.random(20), np.zeros(30))  # of an empty array, in the middle


def picked(x, marks, r):
    for k in range(len(r)):
        v = x[marks]
        r[k] = v.sum() * len(v) + k
    return r


def test_masks_of_other_bytes():
    x = RNG.random(40)
    for dtype in (np.float64, np.int8, np.complex128, np.float16):
        is_one_plan(picked, (x * 9).astype(dtype), x > 0.5, np.zeros(30, dtype))
    like(picked, x, np.arange(40, dtype=np.uint8).view(bool), np.zeros(30))


def of_numbers(x, r):
    s = 0.0
    for k in range(len(r)):
        a, b = x[k], x[-k - 1]
        r[k] = np.array([a, s, 2, b]).sum() + np.array([[a, b], [b, 0.5]]).max()
        s = s * 0.5 + np.array([k, k + 1]).sum()
    return r


def test_arrays_of_numbers():
    for x in (RNG.random(30), RNG.integers(0, 9, 30), RNG.random(30).astype(np.float32)):
        like(of_numbers, x, np.zeros(30))


# ---- what ends a turn ----


def overflowing(x, t):
    for k in range(len(x)):
        t = t * 17
        x[k:] += t % 7
    return x, t


def raised_in(x):
    for k in range(len(x)):
        with np.errstate(divide="ignore"):
            x[k] = x[k - 1] / (x[k] - x[k])
        x[k:] = np.sqrt(x[k:] - k)
    return x


def test_ends_in_the_middle():
    like(overflowing, np.zeros(30), 3)
    like(raised_in, np.arange(1.0, 31.0))
    with np.errstate(all="ignore"):
        like(raised_in, np.arange(1.0, 31.0))
    with np.errstate(invalid="raise"):
        like(raised_in, np.arange(1.0, 31.0))


def rows_and_all(x, r):
    for k in range(len(r)):
        for j in range(k % 3):
            x[j, k:] += x[k, k:] * r[j]
        r[k] = x.sum() + x[k].sum()
    return x, r


def test_loops_in_loops():
    """Short and long kernels: for a few elements, and for threads."""
    like(rows_and_all, RNG.random((30, 40)), np.zeros(30))
    like(rows_and_all, RNG.random((30, 20_000)), np.zeros(6))


def exchanged(a, rows):
    for k in range(len(rows)):
        p = rows[k]
        if p != k:
            t = a[k].copy()
            a[k] = a[p] * 2
            a[p] = t
            a[p, :k] = a[p, 1 : k + 1]
        a[k] += a[p]
    return a


def test_exchanges_in_branches():
    like(exchanged, RNG.random((9, 9)), RNG.integers(0, 9, 9))
    like(exchanged, RNG.random((9, 9)), RNG.integers(-9, 9, 9))
    like(exchanged, RNG.random((9, 9)), RNG.integers(0, 12, 9))  # out of bounds


# ---- slices and indices ----


def sliced(x, r):
    n = x.shape[0]
    for k in range(n):
        r[-k - 1] = x[k - n :, 0].sum() + x[-k, 1] + x[::-1][k, 2]
        r[k] += x[k : k - n : -2, 3].sum() + x[2 * k : k + 7 : 3, 1].sum()
        r[k // 2 : k % 5] *= 0.5
        r[k:] += x[: n - k, k % 4]
        r[n - k - 1 : n - k + 3][::-1] -= 1
    return r


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_slices(n):
    is_one_plan(sliced, RNG.random((n, 4)), np.zeros(n))
    is_one_plan(sliced, RNG.integers(0, 9, (n, 4)).astype(float), np.zeros(n))


def counting_down(x, r):
    for k in range(len(x) - 1, -1, -1):
        r[k] = x[k:].sum() + x[:k].sum()
        r[:k] -= x[: len(x) - k][-k:].mean()
    return r


def test_other_ranges():
    like(counting_down, RNG.random(25), np.zeros(25))


def while_loop(x, r):
    k = 0
    while k < len(x):
        r[k:] += x[k] * x[k:]
        k += 2
    return r, k


def test_while():
    for n in (1, 2, 30):
        is_one_plan(while_loop, RNG.random(n), np.zeros(n))


def out_of_bounds(x, stop):
    for k in range(stop):
        x[k, :] = x[k - 1, :] * 0.5 + np.sqrt(x[k].sum())
    return x


def unequal(x, y):
    for k in range(len(x)):
        y[k:] = np.cos(x[: len(x) - k]) + y[:-k]
    return y


def test_errors_in_the_middle():
    for stop in (0, 1, 20, 21, 30):
        like(out_of_bounds, RNG.random((20, 3)), stop)
    like(unequal, RNG.random(20), RNG.random(20))


def rows_with_an_error(a, at):
    row = np.zeros(len(a) + 1, int)
    for i in range(len(a)):
        new = np.empty_like(row)
        new[0] = i
        for j in range(len(a)):
            new[j + 1] = min(new[j] + a[j], row[j] + 1)
        a[i] += row[at[i]] % 3
        row = new
    return row


def test_own_memory_of_turns():
    """What the loops of earlier turns have logged is given up, what the program sees is not."""
    a = RNG.integers(0, 9, 12)
    at = np.arange(12)
    like(rows_with_an_error, a, at)
    for turn in (0, 5, 11):
        wrong = at.copy()
        wrong[turn] = 99
        like(rows_with_an_error, a.copy(), wrong)
    big = a.copy()
    big[7] = 2**63 - 5
    like(rows_with_an_error, big, at)


def aliases(x):
    y = x[1:]
    for k in range(len(y)):
        x[k:] = x[k:] * 0.5 + np.abs(y[k])
        y[:k] += x[0] * y[:k]
    return x, y


def test_views_from_before():
    for n in (2, 3, 30):
        is_one_plan(aliases, RNG.random(n))


def fresh(n):
    d, s = np.zeros((n, n)), np.float64(0)
    for k in range(n):
        d[k, : k + 1] = np.arange(float(n))[: k + 1] + s
        s += d[:, k].sum()
    d[0] = s
    return d, s


def test_arrays_of_the_plan():
    for n in (1, 2, 30):
        like(fresh, n)


def summed(x):
    s = 0.0
    for k in range(x.shape[0]):
        s += x[k:, k].sum() * x[k].max()
    return s, k


def test_numbers_that_become_numpys():
    for n in (1, 2, 30):
        like(summed, RNG.random((n, n)))


# ---- signals ----


def long(x, turns):
    for k in range(turns):
        x[k % 50 :] = np.sqrt(x[: 100 - k % 50 - 50 + 50][: 100 - k % 50] + 1)
    return x


class Stop(Exception):
    pass


def test_a_signal():
    """It ends the loop as if nothing had been done by the plan, and CPython sees it."""

    def stop(*_):
        raise Stop

    compiled = pycompile.compile(long, options={"unroll": 24, "plan_always": True})
    x = np.ones(100)
    compiled(x.copy(), 100)
    before = signal.signal(signal.SIGUSR1, stop)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        timer.start()
        with pytest.raises(Stop):
            for _ in range(10_000):
                compiled(x, 100_000)
        timer.join()
        time.sleep(0)
    finally:
        signal.signal(signal.SIGUSR1, before)


# ---- the graph ----

TEXT = """%0: f64[50] = input(0)
%1: int = const(0)
%2: int = const(50)
%3: int = const(1)
%4: object = repeat(%1, %2, %3, %1, %0, leaves=[0], versions=1) {
  params %5: int, %6: int, %7: f64[50]
  %8: object = measure(%5)
  %9: f64[((-1*n8=24:0:49) + 50)]{8}+(8*n8) = as_strided(%7)
  %10: f64 = sum(%9, axes=[0])
  %11: f64[50] = scatter(%7, %10, view=[]+(8*n8))
  %12: int = const(0)
  results %12, %11
}
%13: f64[50] = result(%4, index=1)
outputs %13
"""


def test_text():
    graph = Graph.parse(TEXT)
    assert str(Graph.parse(str(graph))) == str(graph)
    laid = str(graph_pass(TEXT, "arms"))
    assert str(Graph.parse(laid)) == laid
    (made,) = run(graph, [np.arange(50.0)])
    x = np.arange(50.0)
    for k in range(50):
        x[k] = x[k:].sum()
    assert (made == x).all()


def doubled(d, e):
    for k in range(len(e) + 1):
        d[2 * k :, ::-1] += np.add.outer(d[2 * k :, 0], np.where(e[::-1] > 0.4, d[::-1, 0], 0))
    return d


def test_lengths_that_are_likely_none():
    for n in (1, 3, 8, 30):
        is_one_plan(doubled, RNG.random((n, n)), RNG.random(n))


def pivoted(a):
    for k in range(a.shape[0]):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            t = a[k].copy()
            a[k] = a[p]
            a[p] = t
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def test_writes_in_branches():
    for n in (2, 3, 30):
        like(pivoted, RNG.random((n, n)))
    like(pivoted, np.zeros((4, 4)))


def swept(x, y, t):
    for k in range(1, len(x)):
        x[k] = x[k] * t + x[k - 1]
        y[:k] = y[k : 2 * k] + y[:k] * 2
        x[k, 1:] -= x[k, :-1]
        x[-k] = x[k - 1] - x[-k]
    return x, y


def test_parts_that_are_apart():
    """What a turn writes is computed in place where it reads nothing else of there."""
    for n in (1, 2, 3, 30):
        like(swept, RNG.random((n, 7)), RNG.random(2 * n), 0.5)


# ---- what only a turn computes, as an index: nothing reads there before it is known ----


def nearest_first(w, start):
    dist = np.full(len(w), np.inf)
    seen = np.zeros(len(w), bool)
    dist[start] = 0.0
    for _ in range(len(w)):
        i = np.argmin(np.where(seen, np.inf, dist))
        seen[i] = True
        dist = np.minimum(dist, dist[i] + w[i])
    return dist


@pytest.mark.parametrize("n", [1, 2, 40])
def test_index_that_the_turn_finds(n):
    is_one_plan(nearest_first, RNG.random((n, n)), 0)


# ---- flags of kernels that are parts of the loop ----


def python_floats_between(x, scale, out):
    """Python's product may overflow, and nobody is told; NumPy's may not."""
    for k in range(1, out.size):
        scale = scale * 10.0
        out[:k] += np.flip(x[:k]) * 0.5
    return scale


def unused_products(x, out):
    for k in range(1, out.size):
        x[k] * x[k]
        out[:k] += np.flip(x[:k] * 0.5)


def one_turn_in_many(x, out):
    for k in range(1, out.size):
        out[:k] += np.flip(x[:k]) / x[k]


@pytest.mark.parametrize("at", [1, 64, 65, 100, 149])
def test_flags_are_seen_in_whichever_turn(at):
    """They are looked at once in so many turns, and behind the last."""
    x, out = np.ones(150), np.zeros(150)
    x[at] = 0.0
    assert check(one_turn_in_many, x, out, captured=False, options=LOOPS).warned
    x[at] = 1e200
    assert check(unused_products, x, out, captured=False, options=LOOPS).warned


def test_flags_of_pythons_floats_are_not():
    is_one_plan(python_floats_between, np.ones(400), 2.0, np.zeros(400))


def divides_until(a, b, t, n):
    a = a.copy()
    b = b.copy()
    x = a * 1
    y = x + 1
    z = b * 2
    k, i, same = 0, 0, None
    while a.sum() < 2.5:
        i += 1
        if i > 9:
            break
        z = (b * 0.5) / n
        if np.abs(x * a).mean() < t:
            x = x / n
            break
        z = np.where(x > 0.3, x, y) * x
    same = x is y or x is a
    return x, k


def test_a_division_by_zero_in_a_turn_that_the_plan_does():
    compiled = pycompile.compile(divides_until, dynamic=True, options={"plan_always": True})
    _C.report_begin()  # why a run was undone is told
    try:
        for n in (2, 1):
            args = (np.linspace(1.0, 2.0, n), np.ones(n), np.nan, 0)
            assert differences(observe(divides_until, args, {}), observe(compiled, args, {})) == []
    finally:
        _C.report_end()
