"""Kept loops that are left from inside: while, break, else, return."""

import signal

import numpy as np
import pytest

import pycompile
from benchmarks import loop_programs as loops
from tests.differential import check

RNG = np.random.default_rng(7)


def vector(n, dtype=np.float64):
    return RNG.standard_normal(n).astype(dtype)


def doubled_until(x, y, low):
    i = 0
    while i < len(x) and x[i] > low:
        y[i] = x[i] * 2
        i += 1
    return i


def first_above(x, y, low):
    for i in range(len(x)):
        if x[i] > low:
            return i
        y[i] = x[i]
    return -1


def copied_until(x, y, low):
    for i in range(len(x)):
        if x[i] > low:
            break
        y[i] = x[i]
    return i


def ranks(x, y, low):
    for i in range(len(x)):
        for j in range(len(y)):
            if x[j] > x[i] + low:
                break
            y[j] += 1
        else:
            y[i] -= 100


def skips(x, y, low):
    i = -1
    while i < len(x) - 1:
        i += 1
        if x[i] < low:
            continue
        if x[i] > low + 2:
            break
        y[i] = i


def endless(x, y, low):
    i = 0
    while True:
        y[i] += 1
        i += 1
        if x[i] > low:
            break
        if i > 10 or x[i] < -2:
            continue
        y[i] = 7
    return i


def several_ways(x, y, low):
    """Out of both loops, by three ways, one of which raises."""
    n = len(x)
    for i in range(n):
        k = i
        while not x[k] > low or y[i] == 3:
            k += 1
            if k == 7:
                return k
            if k > 20:
                raise ValueError("far")
            y[k] = i + k
        if x[i] == 0.5:
            break
    else:
        return -n
    return i


def either_test(x, y, low):
    i = 0
    while i < 3 or x[i] < low:
        i += 1
        while (v := x[i]) > low and not (y[i] > 5 or v == 2):
            y[i] += abs(v) + 0.1


def roots(parent, out):
    for k in range(len(out)):
        x = out[k]
        while parent[x] != x:
            x = parent[x]
        out[k] = x


LEFT = [doubled_until, first_above, copied_until, ranks, skips, endless, several_ways, either_test]


@pytest.mark.parametrize("function", LEFT, ids=lambda function: function.__name__)
def test_loops_that_are_left(function):
    """Each is one plan; also where it goes on to an index out of bounds, or makes no turn."""
    x = np.cumsum(vector(40)) * 0.3
    args = lambda low: (x.copy(), vector(40), low)
    tight = (np.full(40, 3.0), np.full(40, 3.0), 1.0)
    also = [args(low) for low in (-9.0, 0.3, 1.5, 99.0)]
    check(function, *args(0.5), also=(*also, tight, (x[::2], vector(20), 0.5)))


def test_union_find_stays_one_loop():
    parent = np.maximum(np.arange(50) - RNG.integers(0, 4, 50), 0)
    check(roots, parent, RNG.integers(0, 50, 30), whole=True)
    check(loops.union_find, np.arange(50), *RNG.integers(0, 50, (2, 40)), whole=True)


def test_householder_stays_one_loop():
    check(loops.householder, vector(60 * 40).reshape(60, 40), np.zeros(40), whole=True)


def test_a_variable_that_only_some_exits_read():
    def found(x, v):
        for i in range(len(x)):
            if x[i] == v:
                return i
        return -1

    x = vector(20)
    check(found, x, x[7], also=((x, 9.0), (x[:0], 9.0)), whole=True)


def test_what_is_unbound_stays_unbound():
    def last(x, v):
        for i in range(len(x)):
            if x[i] > v:
                break
            seen = x[i]
        return seen

    check(last, vector(20), 9.0, also=((vector(20), -9.0), (vector(0), 0.0)), captured=False)


def test_more_variables_than_a_type_has_digits():
    """C's names of variables are not those of types: u8, f64."""

    def many(x, h):
        a = b = c = d = e = f = g = k = 0
        for i in range(len(x)):
            if x[i] > 0:
                a, b, c, d, e, f, g = b + 1, c + 1, d + 1, e + 1, f + 1, g + 1, k + 1
            if h[i] > 3:
                k = k + 1
                x[i] = k
        return a, b, c, d, e, f, g, k

    check(many, vector(30), RNG.integers(0, 9, 30).astype("u1"), whole=True)


@pytest.mark.parametrize("step", [0, 1])
def test_a_loop_without_end_sees_signals(step):
    def turns(x, step):
        i = 0
        while x[0] > -1:
            i = (i + step) % len(x)
            x[i] = x[i - 1] * 0.5 + 1.0

    def stop(number, frame):
        raise KeyboardInterrupt

    compiled = pycompile.compile(turns)
    x = np.ones(4)
    x[0] = -2.0
    compiled(x, step)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            compiled(np.ones(4), step)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
