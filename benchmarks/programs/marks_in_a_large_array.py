"""400,000 cells, marked here and there as an iterator says: one store, and a loop of them."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (1, 2000)
CELLS = np.zeros(400_000)


@compiled
def mark(cells, visits, threshold):
    for _ in range(threshold):
        place = next(visits)
        if place % 3:
            cells[place] += 1.0


@compiled
def mark_one(cells, visits):
    place = next(visits)
    if place & 1:
        cells[place] = -1.0
    return place


def main(rng, size):
    visits = iter(rng.integers(0, len(CELLS), size + 1).tolist())
    last = mark_one(CELLS, visits)
    mark(CELLS, visits, size)
    return last, CELLS[last], CELLS[:1000].sum()
