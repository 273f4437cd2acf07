"""Loops over elements and over whole arrays, in reverse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from differences import check

import pycompile

rng = np.random.default_rng(1)
X = rng.random((4, 5)) + 0.1
V = np.sort(rng.random(6)) + 0.2
PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


@program
def scalar_sum(x, v):
    s = 0.0
    for i in range(len(v)):
        s += v[i] * v[i] * math.sin(v[i])
    return s


@program
def recurrence(x, v):
    y = np.zeros(len(v))
    y[0] = v[0]
    for i in range(1, len(v)):
        y[i] = np.tanh(y[i - 1] * v[i]) + v[i]
    return y


@program
def breaks(x, v):
    s = 0.0
    for i in range(len(v)):
        s += v[i] ** 2
        if s > 0.9:
            break
    return s, i


@program
def comprehension(x, v):
    squares = [a**2 for a in v]
    return sum(squares), max([a * b for a, b in zip(v, v[1:], strict=False)])


@program
def appended(x, v):
    pairs = []
    for row in x:
        for a in row:
            pairs.append((a, a * v[0]))
    return np.array(pairs)


@program
def nested(x, v):
    out = np.zeros((4, 4))
    for i in range(4):
        for j in range(i + 1):
            t = 0.0
            for k in range(5):
                t += x[i, k] * x[j, k]
            out[i, j] = t * v[j]
    return out


@program
def softmin(x, v):
    n, m = x.shape
    D = np.full((n + 1, m + 1), 10.0)
    D[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a = D[i - 1, j]
            b = D[i, j - 1]
            c = D[i - 1, j - 1]
            D[i, j] = x[i - 1, j - 1] - 0.5 * np.log(
                np.exp(-a / 0.5) + np.exp(-b / 0.5) + np.exp(-c / 0.5)
            )
    return D[n, m]


@program
def newton(x, v):
    r = v[0]
    n = 0
    while abs(r * r - v[1]) > 1e-12:
        r = 0.5 * (r + v[1] / r)
        n += 1
    return r


@program
def branchy(x, v):
    s = 0.0
    for i in range(len(v)):
        if v[i] > 0.5:
            s += v[i] * v[i]
        else:
            s = s * 0.9 - v[i]
    return s


@program
def inplace(x, v):
    for i in range(1, len(v)):
        v[i] = v[i] * v[i - 1]
    return v.sum()


@program
def relu_store(x, v):
    y = v.copy()
    for i in range(len(v)):
        if y[i] < 0.6:
            y[i] = y[i] ** 2
    return y


@program
def rows(x, v):
    a = x.copy()
    for i in range(1, 4):
        a[i, :] = a[i, :] - 0.3 * a[i - 1, :] * v[0]
    return a


@program
def lu(x, v):
    a = x[:, :4] @ x[:, :4].T + np.eye(4)
    n = 4
    for k in range(n):
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k] = f
            a[i, k + 1 :] -= f * a[k, k + 1 :]
    return a


@program
def conv(x, v):
    y = v
    while np.abs(y).max() > 0.1:
        y = y * 0.5 + 0.1 * np.sin(y) * y
    return y


@program
def rnn(x, v):
    h = np.zeros(4)
    for t in range(20):
        h = np.tanh(x[:, :4] @ h + v[:4])
    return h


@program
def cholesky_loops(x, v):
    a = x @ x.T + 2 * np.eye(4)
    n = 4
    L = np.zeros((n, n))
    for j in range(n):
        s = 0.0
        for k in range(j):
            s += L[j, k] * L[j, k]
        L[j, j] = math.sqrt(a[j, j] - s)
        for i in range(j + 1, n):
            t = 0.0
            for k in range(j):
                t += L[i, k] * L[j, k]
            L[i, j] = (a[i, j] - t) / L[j, j]
    return L


@program
def dotloop(x, v):
    b = v.copy()
    for i in range(1, 6):
        b[i] = (v[i] - x[0, :i] @ v[:i]) / v[i]
    return b


@program
def cond_arrays(x, v):
    y = v * 2
    if y.sum() > 1:
        y = np.sin(y) * x[0, 0]
    else:
        y = y * 3
    return y


@program
def carried2(x, v):
    a, b = 1.0, v[0]
    for i in range(1, len(v)):
        a, b = b * v[i], a + b
    return a * b


@program
def sums(x, v):
    y = np.zeros(4)
    for i in range(4):
        y[i] = (x[i, :] * x[i, :]).sum()
    return y


# What a turn has read may be in the array when the loop is done, or not any more.


@program
def read_before_all(x, v):
    y, z = v.copy(), x.copy()
    for i in range(len(v) - 2, -1, -1):
        y[i] = v[i] * y[i + 1] + y[i + 1] ** 2
    for i in range(1, x.shape[0]):
        for j in range(1, x.shape[1]):
            z[i, j] = z[i - 1, j] * z[i, j - 1] + np.exp(-z[i - 1, j - 1] * z[0, 0])
    y[1] = y[0] * 2
    return y, z


@program
def read_and_written_later(x, v):
    y, z, w = v.copy(), x.copy(), v * 2
    for i in range(1, len(v) - 1):
        y[i] = y[i - 1] * y[i + 1]
    for _ in range(2):
        for i in range(1, x.shape[0]):
            for j in range(1, x.shape[1]):
                z[i, j] = z[i - 1, j] * z[i, j - 1]
    for i in range(1, len(v)):
        w[i] = w[i - 1] * v[i]
        w[0] = w[i] * 0.5
    return y, z, w


@program
def read_from_the_end(x, v):
    y, z = v.copy(), v.copy()
    for i in range(3):
        y[i] = y[i - 6] * v[i] * y[i - 6]
    for i in range(-5, -2):
        z[i] = z[i - 1] * z[i + 5]
    return y, z


@program
def written_at_times(x, v):
    y, total = v.copy(), 0.0
    for i in range(1, len(v)):
        if v[i] > 0.5:
            y[i] = y[i - 1] * np.sin(y[i - 1])
        total += y[i - 1] * y[0]
    return y, total


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_loop(f):
    check(f, X.copy(), V.copy(), h=0.01)


SQUARE = rng.uniform(0.1, 0.5, (25, 25))  # so many turns that loops stay loops
ROWS = []


@ROWS.append
def factor(a, b):
    n, a, y = 25, a @ a.T + 5 * np.eye(25), np.zeros((25, 25))
    for i in range(n):
        for j in range(i + 1):
            s = y[i, :j] @ y[j, :j]
            if i == j:
                y[i, j] = np.sqrt(a[i, i] - s)
            else:
                y[i, j] = (a[i, j] - s) / y[j, j]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - y[i, i + 1 :] @ x[i + 1 :] + (b * y[i]).sum()) / y[i, i]
    return x


@ROWS.append
def written_rows(a, b):
    y, t, s = b.copy(), np.zeros(25), 0.0
    for k in range(3, 25):
        t[k] = 0.1 * k
        s += y[k - 3 : k].sum() * 0.3 + t[:k] @ b[:k]
        y[k - 1] = s * b[k]
        if y[k - 1] > 0.4:
            y[k] = math.sin(y[k - 3 : k] @ b[k - 3 : k]) + s
        y[k - 2] *= 0.5 * np.dot(b[k - 3 : k : 2], a[k, 1:3])
        if s > 40.0:
            break
    return y, s


@ROWS.append
def turned(a, b):
    y = b.copy()
    for k in range(4, 25):
        s = a[0, 4 - k % 2 : k] @ y[4 - k % 2 : k] if k > 9 else y[0]
        y[k] = s * 0.1 + b[:4] @ y[k - 4 : k][::-1] + np.sum(-(a[:, k] * b) / 3.0 - a[k])
    return y


@pytest.mark.parametrize("f", ROWS, ids=lambda f: f.__name__)
def test_rows_in_loops_over_elements(f):
    check(f, SQUARE, np.linspace(0.1, 0.5, 25), h=0.01)


def test_the_derivative_of_a_pullback_through_rows():
    def f(a, b):
        s = 0.0
        for i in range(len(a)):
            s += math.tanh(a[i] @ b)
        return s

    b = np.linspace(0.1, 0.5, 25)
    _, found = pycompile.jvp(f, (SQUARE, b), (SQUARE[::-1], b[::-1]))
    by = (SQUARE @ b, SQUARE[::-1] @ b + SQUARE @ b[::-1])
    assert found == pytest.approx(((1 - np.tanh(by[0]) ** 2) * by[1]).sum(), 1e-12)


def test_other_lengths():
    f = next(f for f in PROGRAMS if f.__name__ == "recurrence")
    for n in (1, 2, 3, 40):
        check(f, X, np.linspace(0.1, 0.9, n), argnums=(1,), h=0.01)


def test_float32():
    f = next(f for f in PROGRAMS if f.__name__ == "recurrence")
    check(lambda v: f(None, v), V.astype("f4"), tolerance=5e-3, h=0.02)


def test_two_loops_share_an_array():
    def f(v):
        y = np.zeros(6)
        for i in range(6):
            y[i] = v[i] * v[i]
        z = np.zeros(6)
        for i in range(1, 6):
            z[i] = y[i] * y[i - 1] + z[i - 1] * v[i]
            y[i] = z[i] + 1.0
        return y, z

    check(f, V.copy(), h=0.01)


def test_a_loop_that_raises():
    def f(v):
        s = 0.0
        for i in range(len(v)):
            if v[i] < 0:
                raise ValueError(i)
            s += v[i] * v[i]
        return s

    assert np.array_equal(pycompile.grad(f)(V), 2 * V)
    with pytest.raises(ValueError, match="3"):
        pycompile.grad(f)(np.array([1.0, 2, 3, -1]))


def test_no_turns():
    def f(v, n):
        s = v[0]
        for i in range(n):
            s += v[i] * v[i]
        return s

    assert np.array_equal(pycompile.grad(f)(V, 0), [1, 0, 0, 0, 0, 0])
