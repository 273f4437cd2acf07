"""A tridiagonal solver over the rows of a square, once a call: two loops of whole-row statements."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (100, 130)


@compiled
def solve(lower, diagonal, upper, right):
    n = len(diagonal)
    c = np.zeros_like(right)
    d = np.zeros_like(right)
    c[0] = upper[0] / diagonal[0]
    d[0] = right[0] / diagonal[0]
    for i in range(1, n):
        m = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / m
        d[i] = (right[i] - lower[i] * d[i - 1]) / m
    x = np.zeros_like(right)
    x[-1] = d[-1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


@compiled
def residual(lower, diagonal, upper, x, right):
    product = diagonal * x
    product[1:] += lower[1:] * x[:-1]
    product[:-1] += upper[:-1] * x[1:]
    return np.abs(product - right).max()


def main(rng, size):
    shape = (size, size)
    lower, upper = rng.uniform(-1, 0, shape), rng.uniform(-1, 0, shape)
    diagonal = rng.uniform(2.5, 3.5, shape)
    right = rng.normal(size=shape)
    x = solve(lower, diagonal, upper, right)
    return x[size // 2], residual(lower, diagonal, upper, x, right) < 1e-9
