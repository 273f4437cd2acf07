"""A string that settles between two ends: a loop within a `while`, called with sizes of its own each time."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (6, 40)


@compiled
def settle(n, limit):
    u = np.zeros(n)
    u[0], change, turns = 1.0, 1.0, 0
    while change > limit:
        change = 0.0
        for i in range(1, n - 1):
            new = 0.5 * (u[i - 1] + u[i + 1])
            change = max(change, abs(new - u[i]))
            u[i] = new
        turns += 1
    return u, turns


def main(rng, size):
    return settle(size, 10.0 ** -rng.integers(2, 5))
