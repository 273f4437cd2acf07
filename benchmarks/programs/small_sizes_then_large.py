"""17 small sizes, then calls that are worth a plan each: the small ones must not use up its chances."""

import numpy as np

from benchmarks.programs import compiled

LARGE = 40_000


def sizes(rng, count):
    return ([*range(10, 27)] + [LARGE] * count)[:count]


@compiled
def wave(x):
    y = x
    for i in range(1, len(x)):
        y[i] = 0.7 * y[i - 1] + 0.3 * y[i]
    return y


@compiled
def energy(y):
    return np.sqrt((y * y).mean())


def main(rng, size):
    y = wave(rng.normal(size=size))
    return y[-5:], energy(y)
