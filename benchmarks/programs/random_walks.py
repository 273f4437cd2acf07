"""Random walks by arrays, and a drunkard's way one step after another until he is home."""

import random

import numpy as np

from benchmarks.programs import compiled

SIZES = (10, 3000)


@compiled
def farthest(steps):
    ways = np.cumsum(steps, axis=1)
    return np.abs(ways).max(axis=1), (ways == 0).sum(axis=1)


@compiled
def way_home(most):
    x = y = 0
    visits = {}
    for step in range(most):
        turn = random.randrange(4)
        if turn == 0:
            x += 1
        elif turn == 1:
            x -= 1
        elif turn == 2:
            y += 1
        else:
            y -= 1
        visits[x, y] = visits.get((x, y), 0) + 1
        if x == 0 and y == 0:
            return step, len(visits)
    return most, len(visits)


def main(rng, size):
    random.seed(int(rng.integers(1 << 30)))
    far, home = farthest(rng.choice([-1, 1], (20, size)))
    return far, home, [way_home(size) for _ in range(3)]
