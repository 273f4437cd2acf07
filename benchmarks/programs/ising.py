"""Ising's magnet: Metropolis' rule with a draw per site, and a checkerboard of arrays."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (4, 40)


@compiled
def sweep(spins, rows, columns, draws, beta):
    n = len(spins)
    flipped = 0
    for k in range(len(rows)):
        i, j = rows[k], columns[k]
        around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
        change = 2 * spins[i, j] * around
        if change <= 0 or draws[k] < np.exp(-beta * change):
            spins[i, j] = -spins[i, j]
            flipped += 1
    return flipped


@compiled
def half_sweep(spins, mask, draws, beta):
    around = (
        np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
    )
    flip = mask & (draws < np.exp(np.minimum(-2 * beta * spins * around, 0)))
    return np.where(flip, -spins, spins)


@compiled
def energy(spins):
    return -(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1))).mean()


def main(rng, size):
    spins = rng.choice([-1, 1], (size, size))
    sites = rng.integers(0, size, (2, size * size))
    flipped = sweep(spins, sites[0], sites[1], rng.random(size * size), 0.4)
    mask = np.indices(spins.shape).sum(axis=0) % 2 == 0
    for turn in range(10):
        spins = half_sweep(spins, mask ^ (turn % 2 == 1), rng.random(spins.shape), 0.4)
    return spins, flipped, energy(spins)
