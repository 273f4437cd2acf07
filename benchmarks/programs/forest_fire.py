"""Fires in a forest: trees grow, lightning strikes, and fire jumps to neighbours in a padded grid."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (8, 150)
EMPTY, TREE, FIRE = 0, 1, 2


@compiled
def burning_near(forest):
    fire = np.zeros((forest.shape[0] + 2, forest.shape[1] + 2), bool)
    fire[1:-1, 1:-1] = forest == FIRE
    return fire[:-2, 1:-1] | fire[2:, 1:-1] | fire[1:-1, :-2] | fire[1:-1, 2:]


@compiled
def turn(forest, growth, lightning):
    new = forest.copy()
    new[forest == FIRE] = EMPTY
    new[(forest == EMPTY) & growth] = TREE
    new[(forest == TREE) & (burning_near(forest) | lightning)] = FIRE
    return new


@compiled
def share(forest, kind):
    return (forest == kind).mean()


def main(rng, size):
    forest = (rng.random((size, size)) < 0.6).astype(np.int8)
    rows = []
    for _ in range(20):
        forest = turn(forest, rng.random(forest.shape) < 0.02, rng.random(forest.shape) < 0.001)
        rows.append((share(forest, TREE), share(forest, FIRE)))
    return forest, rows
