"""k nearest neighbours by brute force, one query at a time, with a vote."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (10, 1500)


@compiled
def squared_distances(points, query):
    difference = points - query
    return (difference * difference).sum(axis=1)


@compiled
def vote(labels, nearest, classes):
    counts = np.zeros(classes, int)
    for i in nearest:
        counts[labels[i]] += 1
    return int(counts.argmax())


@compiled
def classify(points, labels, query, k):
    nearest = np.argsort(squared_distances(points, query), kind="stable")[:k]
    return vote(labels, nearest, 4)


def main(rng, size):
    points = rng.normal(size=(size, 3))
    labels = (points[:, 0] > 0) * 2 + (points[:, 1] > 0)
    queries = rng.normal(size=(25, 3))
    return [classify(points, labels, query, 5) for query in queries]
