"""A 3 x 3 median filter by loops over pixels, and salt and pepper counted."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (6, 40)
CALLS = 60


@compiled
def median_at(img, i, j):
    window = []
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            window.append(img[i + di, j + dj])
    window.sort()
    return window[4]


@compiled
def median_filter(img):
    out = img.copy()
    for i in range(1, img.shape[0] - 1):
        for j in range(1, img.shape[1] - 1):
            out[i, j] = median_at(img, i, j)
    return out


@compiled
def changed(before, after):
    return int((np.abs(before.astype(int) - after) > 60).sum())


def main(rng, size):
    img = np.full((size, size), 120, np.uint8)
    img += rng.integers(0, 20, img.shape, dtype=np.uint8)
    noise = rng.random(img.shape)
    img[noise < 0.03] = 0
    img[noise > 0.97] = 255
    out = median_filter(img)
    return out, changed(img, out)
