"""Arrays of a size that varies, made in the function whose loops go through them."""

import numpy as np
import pytest
from differential import check

import pycompile

X = np.linspace(-1.0, 2.0, 100)


def zeros(n, x):
    out = np.zeros(n)
    for i in range(n):
        out[i] = x[i] * 2.0 + i
    return out


def empty(n, x):
    out = np.empty(n, dtype=np.float32)
    for i in range(n):
        out[i] = x[i] * 2.0
    return out


def ndarray(n, x):
    out = np.ndarray((n,), dtype=x.dtype)
    for i in range(n):
        out[i] = x[i] - 1
    return out


def ones(n, x):
    out, last = np.ones(n), 0.0
    for i in range(1, n):
        out[i] += out[i - 1] * x[i]
        last = out[i]
    return out, last


def full(n, x):
    out = np.full(n + 1, 0.5)
    for i in range(n):
        out[i] = out[i] + x[i]
    return out


def arange(n, x):
    parent = np.arange(n)
    for i in range(1, n):
        if x[i] > 0.5:
            parent[i] = parent[i - 1]
    return parent


def like(n, x):
    y = np.zeros(n)
    z = np.zeros_like(y)
    for i in range(n):
        y[i] = x[i]
        z[n - 1 - i] = y[i]
    return y, z


def half(n, x):
    out = np.zeros(n // 2, dtype=np.int64)
    for i in range(n // 2):
        out[i] = i * i
    return out


def table(n, x):
    d = np.zeros((n + 1, n), dtype=np.int64)
    for i in range(n + 1):
        for j in range(n):
            d[i, j] = i * j if i == 0 or j == 0 else d[i - 1, j - 1] + 1
    return d


def wide(n, x):
    d = np.zeros((n, 3))
    for i in range(n):
        for j in range(3):
            d[i, j] = x[i] * j
    return d


def only_read(n, x):
    y = np.full(n, 2.0)
    s = 0.0
    for i in range(n):
        s += y[i] * x[i]
    return s


def until(n, x):
    out = np.zeros(n)
    i = 0
    while i < n and x[i] < 1.0:
        out[i] = x[i]
        i += 1
    return out, i


def later(n, x):
    out = np.zeros(n)
    out += 1.0
    y = out * 2
    for i in range(n):
        out[i] = y[i] + x[i]
    return out, y


FUNCTIONS = [
    *(zeros, empty, ndarray, ones, full, arange, like),
    *(half, table, wide, only_read, until, later),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_plan_of_the_loop_serves_all_sizes(function):
    compiled = pycompile.compile(function)
    for n in range(10, 60, 3):
        got, wanted = compiled(n, X), function(n, X)
        got, wanted = (got, wanted) if isinstance(got, tuple) else ((got,), (wanted,))
        for a, b in zip(got, wanted):
            assert type(a) is type(b) and repr(a) == repr(b)
            assert not isinstance(a, np.ndarray) or (a.dtype, a.strides) == (b.dtype, b.strides)
    stats = compiled.stats()
    assert stats["compiles"] <= 8 and stats["deopts"] == 0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_all_that_can_be_seen(function):
    check(function, 10, X, also=[(n, X) for n in (20, 30, 40, 0, 1, 2, 50)])


def test_a_size_that_cannot_be_is_numpys_error():
    errors = [(n, X) for n in (-1, -5, 2**60, 2**62, 2**64, 101)]
    check(zeros, 10, X, also=[(20, X), (30, X), (40, X), *errors, (50, X)])


def test_the_break_says_that_the_loop_is_a_graph():
    compiled = pycompile.compile(zeros, fullgraph=True, dynamic=False)
    compiled(10, X)
    compiled(20, X)
    with pytest.raises(pycompile.GraphBreakError, match="'out'.*begins a graph of its own"):
        compiled(30, X)


def found(x):
    at = np.nonzero(x > 0.0)[0]
    s = 0.0
    for k in range(len(at)):
        s += x[at[k]] * k
    return s


def chosen(x):
    y = x[x > 0.0]
    for i in range(1, len(y)):
        y[i] = y[i] + y[i - 1]
    return y


def unique(x):
    values, counts = np.unique(np.round(x), return_counts=True)
    n = 0
    for i in range(len(values)):
        if counts[i] > 1:
            n += int(values[i]) * int(counts[i])
    return n


@pytest.mark.parametrize("function", [found, chosen, unique])
def test_loops_over_what_data_has_chosen(function):
    compiled = pycompile.compile(function)
    for k in range(1, 20):
        x = np.cos(np.arange(50.0) * k)
        assert repr(compiled(x)) == repr(function(x))
    stats = compiled.stats()
    assert stats["compiles"] <= 3 and stats["deopts"] == 0
    check(function, np.cos(np.arange(30.0)), also=[(np.cos(np.arange(40.0)),), (np.zeros(40),)])


def made_in_a_call(n, x):
    return zeros(n, x)[::2].sum() * 2


def twice(n, x):
    s = 0.0
    for k in range(3):
        out = np.zeros(n + k)
        for i in range(n):
            out[i] = x[i] * k
        s += out.sum()
    return s


@pytest.mark.parametrize("function", [made_in_a_call, twice])
def test_in_calls_and_in_other_loops(function):
    check(function, 10, X, also=[(n, X) for n in (20, 30, 40, 50)])
