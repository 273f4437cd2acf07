"""Stochastic gradient descent, one row at a time, and recursive least squares beside it."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (20, 600)


@compiled
def sgd(x, y, rate):
    weights = np.zeros(x.shape[1])
    for i in range(len(x)):
        row = x[i]
        error = (weights * row).sum() - y[i]
        weights -= rate / (1 + 0.01 * i) * error * row
    return weights


@compiled
def recursive_least_squares(x, y, forget):
    n = x.shape[1]
    p = np.eye(n) * 100.0
    weights = np.zeros(n)
    for row, target in zip(x, y):
        gain = p @ row
        gain = gain / (forget + row @ gain)
        weights = weights + gain * (target - row @ weights)
        p = (p - gain[:, None] * (row @ p)[None, :]) / forget
    return weights


def main(rng, size):
    x = rng.normal(size=(size, 6))
    truth = np.arange(6.0)
    y = x @ truth + rng.normal(scale=0.1, size=size)
    return sgd(x, y, 0.05), recursive_least_squares(x, y, 0.99)
