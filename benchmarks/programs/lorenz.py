"""Lorenz' equations by Runge-Kutta: once in scalars, once for a swarm of starts in arrays."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (1, 400)


@compiled
def slope(s):
    x, y, z = s
    return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


@compiled
def rk4(s, dt):
    k1 = slope(s)
    k2 = slope(s + 0.5 * dt * k1)
    k3 = slope(s + 0.5 * dt * k2)
    k4 = slope(s + dt * k3)
    return s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@compiled
def euler_in_scalars(x, y, z, dt, steps):
    highest = z
    for _ in range(steps):
        dx, dy, dz = 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z
        x, y, z = x + dt * dx, y + dt * dy, z + dt * dz
        if z > highest:
            highest = z
    return x, y, z, highest


def main(rng, size):
    swarm = rng.normal(size=(3, size)) + 1
    for _ in range(30):
        swarm = rk4(swarm, 0.01)
    return swarm.mean(axis=1), euler_in_scalars(1.0, 1.0, 1.0, 0.001, 10 * size)
