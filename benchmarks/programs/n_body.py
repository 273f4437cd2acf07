"""Planets by leapfrog: forces by loops over pairs, energy by arrays."""

import math

import numpy as np

from benchmarks.programs import compiled

SIZES = (2, 14)


@compiled
def accelerations(position, mass):
    n = len(mass)
    out = np.zeros((n, 3))
    for i in range(n):
        for j in range(i + 1, n):
            dx = position[j, 0] - position[i, 0]
            dy = position[j, 1] - position[i, 1]
            dz = position[j, 2] - position[i, 2]
            squared = dx * dx + dy * dy + dz * dz + 0.01
            pull = 1.0 / (squared * math.sqrt(squared))
            out[i, 0] += dx * pull * mass[j]
            out[i, 1] += dy * pull * mass[j]
            out[i, 2] += dz * pull * mass[j]
            out[j, 0] -= dx * pull * mass[i]
            out[j, 1] -= dy * pull * mass[i]
            out[j, 2] -= dz * pull * mass[i]
    return out


@compiled
def leapfrog(position, velocity, mass, dt, steps):
    force = accelerations(position, mass)
    for _ in range(steps):
        velocity = velocity + 0.5 * dt * force
        position = position + dt * velocity
        force = accelerations(position, mass)
        velocity = velocity + 0.5 * dt * force
    return position, velocity


@compiled
def energy(position, velocity, mass):
    offset = position[:, None] - position[None]
    distance = np.sqrt((offset**2).sum(axis=2) + 0.01)
    pairs = mass[:, None] * mass[None] / distance
    return 0.5 * (mass * (velocity**2).sum(axis=1)).sum() - 0.5 * (pairs.sum() - np.trace(pairs))


def main(rng, size):
    mass = rng.uniform(0.1, 1, size)
    position, velocity = rng.normal(size=(size, 3)), 0.3 * rng.normal(size=(size, 3))
    position, velocity = leapfrog(position, velocity, mass, 0.01, 10)
    return position, energy(position, velocity, mass)
