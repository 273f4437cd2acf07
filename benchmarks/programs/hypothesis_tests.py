"""A permutation test, a bootstrap interval and rank correlation on small samples."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (8, 300)


@compiled
def difference(pooled, n):
    return pooled[:n].mean() - pooled[n:].mean()


@compiled
def permutation_test(a, b, shuffles):
    pooled = np.concatenate([a, b])
    seen = abs(difference(pooled, len(a)))
    count = 0
    for order in shuffles:
        if abs(difference(pooled[order], len(a))) >= seen:
            count += 1
    return (count + 1) / (len(shuffles) + 1)


@compiled
def bootstrap(sample, picks):
    means = np.sort(sample[picks].mean(axis=1))
    return means[len(means) // 20], means[-len(means) // 20]


@compiled
def rank_correlation(x, y):
    rx = np.argsort(np.argsort(x, kind="stable"), kind="stable").astype(float)
    ry = np.argsort(np.argsort(y, kind="stable"), kind="stable").astype(float)
    rx -= rx.mean()
    ry -= ry.mean()
    return (rx * ry).sum() / np.sqrt((rx * rx).sum() * (ry * ry).sum())


def main(rng, size):
    a, b = rng.normal(size=size), rng.normal(0.3, 1.0, size)
    shuffles = [rng.permutation(2 * size) for _ in range(60)]
    interval = bootstrap(a, rng.integers(0, size, (100, size)))
    return permutation_test(a, b, shuffles), interval, rank_correlation(a, a + b)
