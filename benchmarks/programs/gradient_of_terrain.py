"""Heights of a landscape: slopes, hill shade, and water that runs down cell by cell."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (8, 100)


@compiled
def shade(height, azimuth):
    dy, dx = np.gradient(height)
    slope = np.arctan(np.sqrt(dx * dx + dy * dy))
    aspect = np.arctan2(dy, dx)
    light = np.cos(0.8) * np.cos(slope) + np.sin(0.8) * np.sin(slope) * np.cos(azimuth - aspect)
    return np.clip(light, 0, 1)


@compiled
def run_down(height, row, column):
    way = 0
    while way < 500:
        low, target = height[row, column], None
        for i in range(max(row - 1, 0), min(row + 2, height.shape[0])):
            for j in range(max(column - 1, 0), min(column + 2, height.shape[1])):
                if height[i, j] < low:
                    low, target = height[i, j], (i, j)
        if target is None:
            break
        row, column = target
        way += 1
    return row, column, way


def main(rng, size):
    y, x = np.mgrid[0:size, 0:size] / size
    height = 5 * np.sin(4 * x) * np.cos(3 * y) + 0.02 * rng.normal(size=(size, size))
    drops = rng.integers(0, size, (20, 2)).tolist()
    return shade(height, 0.7).mean(axis=1), [run_down(height, r, c) for r, c in drops]
