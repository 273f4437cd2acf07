"""A stream watched: Welford's variance, rolling means by two methods, and readings that are out of line."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (30, 6000)


@compiled
def welford(values):
    mean = squares = 0.0
    for n, value in enumerate(values, 1):
        delta = value - mean
        mean += delta / n
        squares += delta * (value - mean)
    return mean, squares / (n - 1)


@compiled
def rolling_mean(x, width):
    sums = np.cumsum(np.concatenate([[0.0], x]))
    return (sums[width:] - sums[:-width]) / width


@compiled
def rolling_max(x, width):
    out = np.empty(len(x) - width + 1)
    for i in range(len(out)):
        out[i] = x[i : i + width].max()
    return out


@compiled
def outliers(x, means, width, limit):
    recent = x[width - 1 :]
    spread = np.abs(recent - means)
    return np.flatnonzero(spread > limit * spread.mean())


def main(rng, size):
    x = rng.normal(size=size) + np.sin(np.arange(size) / 50)
    means = rolling_mean(x, 10)
    return welford(x.tolist()), rolling_max(x[:500], 10), outliers(x, means, 10, 3.0)
