"""An American put on a binomial tree, by whole levels and again by a loop over nodes."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (5, 120)


@compiled
def put_by_levels(start, strike, up, chance, discount, n):
    prices = start * up ** np.arange(n, -n - 1, -2.0)
    values = np.maximum(strike - prices, 0)
    for level in range(n - 1, -1, -1):
        values = discount * (chance * values[:-1] + (1 - chance) * values[1:])
        prices = start * up ** np.arange(level, -level - 1, -2.0)
        values = np.maximum(values, strike - prices)
    return values[0]


@compiled
def call_by_nodes(start, strike, up, chance, discount, n):
    values = np.empty(n + 1)
    for i in range(n + 1):
        values[i] = max(start * up ** (n - 2 * i) - strike, 0.0)
    for level in range(n - 1, -1, -1):
        for i in range(level + 1):
            values[i] = discount * (chance * values[i] + (1 - chance) * values[i + 1])
    return values[0]


def main(rng, size):
    strike, volatility = rng.uniform(80, 120), rng.uniform(0.1, 0.5)
    dt = 1.0 / size
    up = np.exp(volatility * dt**0.5)
    chance = (np.exp(0.02 * dt) - 1 / up) / (up - 1 / up)
    tree = (up, chance, np.exp(-0.02 * dt), size)
    return put_by_levels(100.0, strike, *tree), call_by_nodes(100.0, strike, *tree)
