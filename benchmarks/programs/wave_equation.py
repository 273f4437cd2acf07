"""A wave on a membrane with a rim, a source and two microphones."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (8, 200)


@compiled
def step(now, before, c, damping):
    after = np.zeros_like(now)
    inner = now[1:-1, 1:-1]
    bend = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4 * inner
    after[1:-1, 1:-1] = inner + (1 - damping) * (inner - before[1:-1, 1:-1]) + c * c * bend
    return after


@compiled
def energy(now, before):
    return ((now - before) ** 2).sum() + ((now[1:] - now[:-1]) ** 2).sum()


def main(rng, size):
    now = np.zeros((size, size))
    before = now.copy()
    row, column = rng.integers(1, size - 1, 2)
    heard = []
    for t in range(30):
        after = step(now, before, 0.5, 0.01)
        after[row, column] += np.sin(0.3 * t)
        now, before = after, now
        heard.append((now[size // 3, size // 2], now[size // 2, size // 3]))
    return heard, energy(now, before)
