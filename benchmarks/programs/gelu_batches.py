"""A gelu layer on 17 batch sizes, then on a hundred others."""

import numpy as np

from benchmarks.programs import compiled

CALLS = 117


def sizes(rng, count):
    first = list(range(1, 18))
    others = rng.permutation(np.arange(20, 220))[:100].tolist()
    return (first + others * 20)[:count]


@compiled
def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


@compiled
def layer(x, weights, bias):
    return gelu(x @ weights + bias)


WEIGHTS = np.linspace(-1, 1, 64 * 64).reshape(64, 64) / 8
BIAS = np.linspace(-0.1, 0.1, 64)


def main(rng, size):
    x = rng.normal(size=(size, 64))
    return layer(x, WEIGHTS, BIAS).sum(axis=0)
