"""Functions of math, and round, of numbers in kept loops."""

import math

import numpy as np
import pytest

from tests.differential import check

RNG = np.random.default_rng(3)
X = np.concatenate([RNG.standard_normal(40) * 10, np.arange(-8, 8) / 2, [0.125, 2.675, -0.0]])
I = RNG.integers(-(10**6), 10**6, len(X))


def distances(x, n):
    s = 0.0
    for i in range(1, n):
        s += math.hypot(x[i], x[i - 1]) + math.hypot(i, x[i])
    return s


def divisors(h, n):
    s = 0
    for i in range(1, n):
        s += (
            math.gcd(int(h[i]), i)
            + math.gcd(h[i], h[i - 1])
            + math.gcd(i, 4, 6)
            + math.gcd(int(h[i]))
        )
    return s


def roots(h, n):
    s = 0
    for i in range(n):
        s += math.isqrt(i * i + 1) + math.isqrt(int(h[i])) + math.isqrt(h[i])
    return s


def rounded(x, n):
    s, out = 0, np.zeros((n, 4))
    for i in range(n):
        y = float(x[i])
        s += round(x[i]) + round(y) + round(y, None) + round(i) + math.trunc(y)
        out[i, 0] = round(y, 1)
        out[i, 1] = round(y, i % 4)
        out[i, 2] = round(y * 3.7, 2)
        out[i, 3] = round(x[i], 2)
    return s, out


def to_ticks(price, tick, out):
    for i in range(len(price)):
        out[i] = round(price[i] / tick) * tick
    return out


def in_arms(price, tick, out):
    s = 0
    for i in range(len(price)):
        if price[i] > tick:
            s += round(price[i] * tick)
            out[round(price[i]) % 9] += float(round(price[i])) / 2
        else:
            out[i] = round(price[i]) * tick + float(round(-price[i] / 3))
    return s


def test_rounded_elements_are_stored_side_by_side():
    out = np.zeros_like(X)
    check(in_arms, X, 0.25, out, also=((X * 1e18, 0.25, out), (X[:0], 0.25, out)))
    check(to_ticks, X, 0.25, out, whole=True, also=((X[:1], 0.25, out), (X[:0], 0.25, out)))
    odd = np.tile(X, (6, 1))
    odd[:, 7] = np.nan, np.inf, -0.0, 2.0**62, -(2.0**61), 1e300
    also = [(y, tick, out) for y in odd for tick in (0.25, 1)]
    check(to_ticks, X, 0.5, out, also=(*also, (X, 0.0, out), (X, 0.25, out[:9])))


@pytest.mark.parametrize("function", [distances, rounded])
def test_of_floats(function):
    check(function, X, len(X), whole=True, also=((X[:1], 1), (X, 0)))
    check(function, X.astype("f4"), len(X))
    for odd in (np.inf, np.nan, 1e300, 5e-324, 2.0**53):
        y = X.copy()
        y[7] = odd
        check(function, y, len(X), also=((-y, len(X)),), captured=False)


def test_of_ints():
    check(divisors, I, len(I), whole=True, also=((I[:1], 1), (I * 2**40, len(I))))
    check(roots, abs(I), len(I), whole=True, also=((I, len(I)), (abs(I) * 2**43, len(I))))
    check(divisors, I.astype("i4"), len(I), also=((np.full(len(I), -(2**63)), len(I)),))
    check(roots, abs(I).astype("u2"), len(I), also=((X, 5),))


def test_of_other_numbers():
    def wrong(x, n):
        s = 0
        for i in range(n):
            s += math.gcd(x[i], 2)
        return s

    check(wrong, X, 5, captured=False)
    check(rounded, (X > 0).astype("i8"), len(X), captured=False)
