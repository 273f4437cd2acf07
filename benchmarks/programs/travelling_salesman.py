"""A round trip by nearest cities, made shorter by 2-opt and by annealing with draws."""

import math
import random

import numpy as np

from benchmarks.programs import compiled

SIZES = (5, 45)


@compiled
def distances(cities):
    offset = cities[:, None] - cities[None]
    return np.sqrt((offset * offset).sum(axis=2))


@compiled
def length(tour, d):
    total = 0.0
    for i in range(len(tour)):
        total += d[tour[i - 1], tour[i]]
    return total


@compiled
def two_opt(tour, d):
    gained = 0.0
    n = len(tour)
    for i in range(n - 2):
        for j in range(i + 2, n - 1):
            a, b, c, e = tour[i], tour[i + 1], tour[j], tour[j + 1]
            change = d[a, c] + d[b, e] - d[a, b] - d[c, e]
            if change < -1e-9:
                tour[i + 1 : j + 1] = tour[i + 1 : j + 1][::-1]
                gained -= change
    return gained


@compiled
def anneal(tour, d, steps):
    heat = 0.1
    best = length(tour, d)
    for _ in range(steps):
        i, j = random.randrange(len(tour)), random.randrange(len(tour))
        tour[i], tour[j] = tour[j], tour[i]
        new = length(tour, d)
        if new < best or random.random() < math.exp((best - new) / heat):
            best = new
        else:
            tour[i], tour[j] = tour[j], tour[i]
        heat *= 0.97
    return best


def main(rng, size):
    random.seed(int(rng.integers(1 << 30)))
    d = distances(rng.random((size, 2)))
    tour = list(range(size))
    gained = two_opt(tour, d)
    return gained, anneal(tour, d, 40), tour
