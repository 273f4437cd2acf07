"""Gaussian elimination with pivots, Cholesky by loops and conjugate gradients, on one system."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (3, 50)


@compiled
def eliminate(a, b):
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n):
        p = k + int(np.abs(a[k:, k]).argmax())
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[[k, p]] = b[[p, k]]
        factor = a[k + 1 :, k] / a[k, k]
        a[k + 1 :] -= factor[:, None] * a[k]
        b[k + 1 :] -= factor * b[k]
    x = np.zeros(n)
    for k in range(n - 1, -1, -1):
        x[k] = (b[k] - (a[k, k + 1 :] * x[k + 1 :]).sum()) / a[k, k]
    return x


@compiled
def cholesky(a):
    n = len(a)
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= low[i, k] * low[j, k]
            low[i, j] = total**0.5 if i == j else total / low[j, j]
    return low


@compiled
def conjugate_gradients(a, b, most):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r
    rr = r @ r
    for turn in range(most):
        ap = a @ p
        alpha = rr / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        if new < 1e-16:
            break
        p = r + new / rr * p
        rr = new
    return x, turn


def main(rng, size):
    half = rng.normal(size=(size, size))
    a = half @ half.T + size * np.eye(size)
    b = rng.normal(size=size)
    x, turns = conjugate_gradients(a, b, 40)
    return eliminate(a, b), cholesky(a)[-1], x, turns
