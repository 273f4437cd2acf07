"""Conway's life: by shifted arrays and by loops over cells, which agree."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (5, 50)


@compiled
def turn_arrays(world):
    around = sum(
        np.roll(np.roll(world, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j
    )
    return ((around == 3) | ((world == 1) & (around == 2))).astype(np.int64)


@compiled
def turn_cells(world):
    n, m = world.shape
    new = np.zeros_like(world)
    for i in range(n):
        for j in range(m):
            count = 0
            for a in (i - 1, i, i + 1):
                for b in (j - 1, j, j + 1):
                    if (a != i or b != j) and world[a % n, b % m]:
                        count += 1
            if count == 3 or (count == 2 and world[i, j]):
                new[i, j] = 1
    return new


def main(rng, size):
    world = (rng.random((size, size)) < 0.3).astype(np.int64)
    cells = turn_cells(world)
    agree = bool((turn_arrays(world) == cells).all())
    for _ in range(20):
        world = turn_arrays(world)
    return world, agree, int(world.sum())
