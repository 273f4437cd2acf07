"""Principal components by power iteration with deflation."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (10, 1000)


@compiled
def covariance(x):
    centred = x - x.mean(axis=0)
    return centred.T @ centred / (len(x) - 1)


@compiled
def dominant(matrix, start, turns):
    v = start
    for _ in range(turns):
        w = matrix @ v
        w = w / np.sqrt((w * w).sum())
        if np.abs(w - v).max() < 1e-9:
            v = w
            break
        v = w
    return v @ matrix @ v, v


@compiled
def deflate(matrix, value, v):
    return matrix - value * v[:, None] * v[None, :]


def components(x, count, start):
    matrix = covariance(x)
    found = []
    for _ in range(count):
        value, v = dominant(matrix, start, 60)
        matrix = deflate(matrix, value, v)
        found.append((value, v))
    return found


def main(rng, size):
    x = rng.normal(size=(size, 8)) * np.arange(8, 0, -1)
    found = components(x, 3, np.ones(8) / 8**0.5)
    return [value for value, _ in found], found[0][1]
