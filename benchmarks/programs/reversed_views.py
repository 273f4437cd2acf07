"""One expression over reversed views of 300 x 1000, after many other sizes of the same line."""

import numpy as np

from benchmarks.programs import compiled

CALLS = 400


def sizes(rng, count):
    small = rng.integers(5, 60, 40).tolist()
    return (small + [1000] * count)[:count]


@compiled
def brighten(img):
    out = img * 2.0 + 1.0
    return out


@compiled
def edges(img):
    return float(img[0, 0] + img[-1, -1])


def main(rng, size):
    rows = 300 if size == 1000 else size
    img = np.full((rows, size), rng.random())
    img[0, 0] = 2.0
    return edges(brighten(img[::-1, ::-1]))
