"""Draws of the `random` module, stored where they are large: a store under a condition after a call."""

import random

import numpy as np

from benchmarks.programs import compiled

SIZES = (500, 200_000)
CALLS = 60


@compiled
def thinned(n):
    out = np.zeros(n)
    for i in range(n):
        u = random.random()
        if u > 0.5:
            out[i] = u
    return out


@compiled
def gaps(marks):
    where = np.flatnonzero(marks)
    return np.diff(where)


def main(rng, size):
    random.seed(int(rng.integers(1 << 30)))
    marks = thinned(size)
    between = gaps(marks)
    return marks, between.mean(), between.max()
