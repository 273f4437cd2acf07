"""Labels for the connected parts of a grid, by a queue of cells, and the largest part's size."""

from collections import deque

import numpy as np

from benchmarks.programs import compiled

SIZES = (5, 60)


@compiled
def fill(grid, labels, row, column, label):
    queue = deque([(row, column)])
    labels[row, column] = label
    size = 0
    while queue:
        i, j = queue.popleft()
        size += 1
        for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            if 0 <= a < grid.shape[0] and 0 <= b < grid.shape[1]:
                if grid[a, b] and labels[a, b] == 0:
                    labels[a, b] = label
                    queue.append((a, b))
    return size


@compiled
def parts(grid):
    labels = np.zeros(grid.shape, np.int32)
    sizes = []
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            if grid[i, j] and labels[i, j] == 0:
                sizes.append(fill(grid, labels, i, j, len(sizes) + 1))
    return labels, sizes


def main(rng, size):
    grid = rng.random((size, size)) < 0.55
    labels, sizes = parts(grid)
    return labels, max(sizes, default=0)
