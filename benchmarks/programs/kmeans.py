"""k-means: distances, nearest centres and new means, until nothing moves."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (30, 800)


def blobs(rng, n, k):
    centres = rng.uniform(-5, 5, (k, 2))
    return centres[rng.integers(0, k, n)] + rng.normal(scale=0.8, size=(n, 2))


@compiled
def distances(points, centres):
    return ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)


@compiled
def assign(points, centres):
    return np.argmin(distances(points, centres), axis=1)


@compiled
def means(points, labels, centres):
    new = centres.copy()
    for j in range(len(centres)):
        members = points[labels == j]
        if len(members) > 0:
            new[j] = members.mean(axis=0)
    return new


@compiled
def inertia(points, centres):
    return distances(points, centres).min(axis=1).sum()


def kmeans(points, k, rng, turns=30):
    centres = points[rng.choice(len(points), k, replace=False)]
    for turn in range(turns):
        labels = assign(points, centres)
        new = means(points, labels, centres)
        moved = np.abs(new - centres).max()
        centres = new
        if moved < 1e-6:
            break
    return centres, labels, turn


def main(rng, size):
    k = int(rng.integers(2, 7))
    points = blobs(rng, size, k)
    centres, labels, turns = kmeans(points, k, rng)
    return centres, labels, turns, inertia(points, centres)
