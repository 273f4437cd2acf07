"""GARCH(1, 1) fitted by a grid of parameters: the likelihood is a recurrence over days."""

import math

import numpy as np

from benchmarks.programs import compiled

SIZES = (40, 1000)


@compiled
def likelihood(returns, omega, alpha, beta):
    variance = omega / (1 - alpha - beta)
    total = 0.0
    for r in returns:
        total += math.log(variance) + r * r / variance
        variance = omega + alpha * r * r + beta * variance
    return -0.5 * total


@compiled
def simulate(normals, omega, alpha, beta):
    returns = np.empty(len(normals))
    variance = omega / (1 - alpha - beta)
    for t in range(len(normals)):
        returns[t] = math.sqrt(variance) * normals[t]
        variance = omega + alpha * returns[t] ** 2 + beta * variance
    return returns


def best(returns):
    found = []
    for alpha in (0.05, 0.1, 0.2):
        for beta in (0.6, 0.75):
            found.append((likelihood(returns, 0.1, alpha, beta), alpha, beta))
    return max(found)


def main(rng, size):
    return best(simulate(rng.normal(size=size), 0.1, 0.1, 0.8))
