"""Logistic regression by gradient descent, with accuracy and a learning curve."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (20, 2000)


@compiled
def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


@compiled
def gradient(weights, x, y, penalty):
    error = sigmoid(x @ weights) - y
    return x.T @ error / len(y) + penalty * weights


@compiled
def loss(weights, x, y):
    p = np.clip(sigmoid(x @ weights), 1e-12, 1 - 1e-12)
    return -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()


@compiled
def standardise(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)


def fit(x, y, steps=40, rate=0.5):
    weights = np.zeros(x.shape[1])
    curve = []
    for step in range(steps):
        weights = weights - rate * gradient(weights, x, y, 1e-3)
        if step % 10 == 0:
            curve.append(loss(weights, x, y))
    return weights, curve


def main(rng, size):
    x = standardise(rng.normal(size=(size, 5)) * [1, 2, 3, 4, 5])
    truth = rng.normal(size=5)
    y = (sigmoid(x @ truth) > rng.random(size)).astype(float)
    weights, curve = fit(x, y)
    accuracy = ((sigmoid(x @ weights) > 0.5) == y).mean()
    return weights, curve, accuracy
