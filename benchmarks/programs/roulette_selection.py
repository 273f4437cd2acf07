"""A genetic algorithm's selection: each draw goes along the cumulated fitness in a short `while`."""

import random

import numpy as np

from benchmarks.programs import compiled

SIZES = (10, 80)


def fitness(population):
    return 1.0 / (1.0 + ((population - 0.3) ** 2).sum(axis=1))


@compiled
def select(cumulated, count):
    chosen = []
    for _ in range(count):
        u = random.random() * cumulated[-1]
        j = 0
        while cumulated[j] < u:
            j += 1
        chosen.append(j)
    return chosen


@compiled
def children(parents, cut, noise):
    mixed = parents.copy()
    mixed[::2, cut:] = parents[1::2, cut:]
    mixed[1::2, cut:] = parents[::2, cut:]
    return mixed + noise


def main(rng, size):
    random.seed(int(rng.integers(1 << 30)))
    population = rng.random((2 * size, 6))
    for _ in range(5):
        chosen = select(np.cumsum(fitness(population)), len(population))
        noise = rng.normal(scale=0.02, size=population.shape)
        population = children(population[chosen], random.randrange(1, 6), noise)
    return population, fitness(population).max()
