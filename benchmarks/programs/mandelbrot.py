"""The Mandelbrot set: by masks over complex arrays, and by a loop for each point of a row."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (6, 60)


@compiled
def by_arrays(c, turns):
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, int)
    for _ in range(turns):
        inside = z.real * z.real + z.imag * z.imag <= 4.0
        z = np.where(inside, z * z + c, z)
        counts += inside
    return counts


@compiled
def escape(x, y, turns):
    a = b = 0.0
    for k in range(turns):
        a, b = a * a - b * b + x, 2 * a * b + y
        if a * a + b * b > 4.0:
            return k
    return turns


@compiled
def row_of(y, n, turns):
    return [escape(-2.0 + 3.0 * i / n, y, turns) for i in range(n)]


def main(rng, size):
    x, y = np.linspace(-2, 1, size), np.linspace(-1.2, 1.2, size)
    counts = by_arrays(x[None, :] + 1j * y[:, None], 30)
    return counts, row_of(rng.uniform(-0.5, 0.5), size, 100)
