"""Shortest paths: Floyd and Warshall by whole arrays, Dijkstra by loops over a matrix."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (5, 70)
FAR = 1e9


@compiled
def all_pairs(lengths):
    d = lengths.copy()
    for k in range(len(d)):
        d = np.minimum(d, d[:, k, None] + d[None, k, :])
    return d


@compiled
def dijkstra(lengths, start):
    n = len(lengths)
    distance = np.full(n, FAR)
    done = np.zeros(n, bool)
    distance[start] = 0.0
    for _ in range(n):
        u, least = -1, FAR
        for v in range(n):
            if not done[v] and distance[v] < least:
                u, least = v, distance[v]
        if u < 0:
            break
        done[u] = True
        for v in range(n):
            if least + lengths[u, v] < distance[v]:
                distance[v] = least + lengths[u, v]
    return distance


def main(rng, size):
    lengths = np.where(rng.random((size, size)) < 0.3, rng.integers(1, 50, (size, size)), FAR)
    np.fill_diagonal(lengths, 0.0)
    d = all_pairs(lengths)
    one = dijkstra(lengths, 0)
    return d, bool((d[0] == one).all())
