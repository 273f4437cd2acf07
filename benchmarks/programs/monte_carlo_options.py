"""European, Asian and barrier options by Monte Carlo, with their spread."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (100, 20_000)


@compiled
def paths(normals, start, rate, volatility, dt):
    steps = (rate - 0.5 * volatility**2) * dt + volatility * np.sqrt(dt) * normals
    return start * np.exp(np.cumsum(steps, axis=1))


@compiled
def payoffs(prices, strike, barrier):
    european = np.maximum(prices[:, -1] - strike, 0)
    asian = np.maximum(prices.mean(axis=1) - strike, 0)
    alive = prices.max(axis=1) < barrier
    return european, asian, np.where(alive, european, 0.0)


@compiled
def price(payoff, rate, years):
    present = np.exp(-rate * years) * payoff
    return present.mean(), present.std() / np.sqrt(len(present))


def main(rng, size):
    strike = rng.uniform(90, 110)
    prices = paths(rng.normal(size=(size, 12)), 100.0, 0.03, 0.2, 1 / 12)
    return [price(payoff, 0.03, 1.0) for payoff in payoffs(prices, strike, 130.0)]
