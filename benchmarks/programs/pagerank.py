"""PageRank of a graph of edges, by scattered sums, until it settles."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (10, 1000)


@compiled
def spread(ranks, sources, targets, degrees, n):
    flow = ranks[sources] / degrees[sources]
    return np.bincount(targets, flow, minlength=n)


@compiled
def step(ranks, received, lost, damping):
    n = len(ranks)
    new = (1 - damping) / n + damping * (received + lost / n)
    return new, np.abs(new - ranks).sum()


@compiled
def top(ranks, k):
    return np.argsort(-ranks, kind="stable")[:k]


def pagerank(sources, targets, n):
    degrees = np.bincount(sources, minlength=n)
    ends = degrees == 0
    ranks = np.full(n, 1 / n)
    for turn in range(60):
        received = spread(ranks, sources, targets, degrees, n)
        ranks, change = step(ranks, received, ranks[ends].sum(), 0.85)
        if change < 1e-8:
            break
    return ranks, turn


def main(rng, size):
    sources = rng.integers(0, size, 5 * size)
    targets = np.minimum(rng.geometric(0.05, 5 * size), size) - 1
    ranks, turns = pagerank(sources, targets, size)
    return ranks[:20], turns, top(ranks, 5)
