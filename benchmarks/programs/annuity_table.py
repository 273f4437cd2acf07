"""A life table and annuities: recurrences over ages, in lists and in arrays, for many policies."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (1, 400)
CALLS = 1000
AGES = np.arange(111)


@compiled
def death_chances(a, b, c):
    return 1 - np.exp(-(a + b * c**AGES))


@compiled
def survivors(q):
    alive = np.empty(len(q))
    alive[0] = 100_000.0
    for age in range(1, len(q)):
        alive[age] = alive[age - 1] * (1 - q[age - 1])
    return alive


@compiled
def annuities(alive, rate):
    value = 0.0
    out = [0.0] * len(alive)
    for age in range(len(alive) - 1, -1, -1):
        survive = alive[age + 1] / alive[age] if age + 1 < len(alive) else 0.0
        value = 1.0 + survive * value / (1 + rate)
        out[age] = value
    return out


@compiled
def reserves(sums, ages, values):
    return (sums * np.array(values)[ages]).sum()


def main(rng, size):
    alive = survivors(death_chances(0.0005, 0.00002, rng.uniform(1.09, 1.12)))
    values = annuities(alive, 0.02)
    return values, reserves(rng.uniform(1, 9, size), rng.integers(20, 90, size), values)
