"""A portfolio over years of daily returns: rebalanced monthly; drawdown, Sharpe ratio, turnover."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (30, 1500)


@compiled
def hold(returns, target, cost):
    weights = target.copy()
    wealth = np.empty(len(returns) + 1)
    wealth[0] = 1.0
    turnover = 0.0
    for day in range(len(returns)):
        grown = weights * (1 + returns[day])
        total = grown.sum()
        wealth[day + 1] = wealth[day] * total
        weights = grown / total
        if day % 21 == 20:
            traded = np.abs(target - weights).sum()
            turnover += traded
            wealth[day + 1] *= 1 - cost * traded
            weights = target.copy()
    return wealth, turnover


@compiled
def drawdown(wealth):
    return (1 - wealth / np.maximum.accumulate(wealth)).max()


@compiled
def sharpe(wealth):
    daily = wealth[1:] / wealth[:-1] - 1
    return daily.mean() / daily.std() * np.sqrt(252)


def main(rng, size):
    returns = rng.normal(0.0004, 0.01, (size, 6))
    target = rng.dirichlet(np.ones(6))
    wealth, turnover = hold(returns, target, 0.001)
    return wealth[-1], turnover, drawdown(wealth), sharpe(wealth)
