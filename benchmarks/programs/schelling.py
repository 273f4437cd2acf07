"""Schelling's neighbours: unhappy agents on a grid move to a free cell that is drawn."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (5, 30)
CALLS = 60


@compiled
def unhappy(grid, row, column):
    kind = grid[row, column]
    same = other = 0
    for i in range(max(row - 1, 0), min(row + 2, len(grid))):
        for j in range(max(column - 1, 0), min(column + 2, len(grid))):
            if grid[i, j] == kind:
                same += 1
            elif grid[i, j] != 0:
                other += 1
    return same - 1 < other


@compiled
def sweep(grid, free, rng):
    moved = 0
    for row in range(len(grid)):
        for column in range(len(grid)):
            if grid[row, column] != 0 and unhappy(grid, row, column):
                k = int(rng.integers(len(free)))
                new = free[k]
                free[k] = (row, column)
                grid[new] = grid[row, column]
                grid[row, column] = 0
                moved += 1
    return moved


def main(rng, size):
    grid = rng.choice(np.array([0, 1, 2], np.int8), (size, size), p=[0.2, 0.4, 0.4])
    grid[0, 0] = 0
    free = [(int(i), int(j)) for i, j in np.argwhere(grid == 0)]
    moved = [sweep(grid, free, rng) for _ in range(3)]
    return grid, moved
