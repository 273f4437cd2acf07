"""Gaussian naive Bayes on a few classes, with a confusion matrix filled by a loop."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (30, 3000)


@compiled
def fit(x, labels, classes):
    means = np.empty((classes, x.shape[1]))
    variances = np.empty((classes, x.shape[1]))
    shares = np.empty(classes)
    for c in range(classes):
        members = x[labels == c]
        means[c] = members.mean(axis=0)
        variances[c] = members.var(axis=0) + 1e-6
        shares[c] = len(members) / len(x)
    return means, variances, shares


@compiled
def log_chances(x, means, variances, shares):
    scaled = (x[:, None, :] - means) ** 2 / variances
    return np.log(shares) - 0.5 * (scaled + np.log(2 * np.pi * variances)).sum(axis=2)


@compiled
def confusion(truth, guess, classes):
    table = np.zeros((classes, classes), np.int64)
    for i in range(len(truth)):
        table[truth[i], guess[i]] += 1
    return table


def main(rng, size):
    classes = 3
    labels = np.arange(size) % classes
    x = rng.normal(size=(size, 4)) + labels[:, None] * [0.5, 1.0, 0.0, -0.7]
    model = fit(x, labels, classes)
    guess = log_chances(x, *model).argmax(axis=1)
    return confusion(labels, guess, classes), model[0]
