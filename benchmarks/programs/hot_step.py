"""One hot array function, called in a loop of the module's main function: where compiling must pay."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (20_000, 200_000)
CALLS = 30


@compiled
def step(u, k):
    v = u.copy()
    bend = u[:-2] - 2 * u[1:-1] + u[2:]
    v[1:-1] = u[1:-1] + k * bend + 0.01 * np.tanh(u[1:-1]) * np.exp(-(u[1:-1] ** 2))
    return v


def main(rng, size):
    u = np.sin(np.linspace(0, 10, size)) + 0.01 * rng.normal(size=size)
    for _ in range(10):
        u = step(u, 0.1)
    return u.sum(), u[::1000]
