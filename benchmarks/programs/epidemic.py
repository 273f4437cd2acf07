"""An epidemic among agents in arrays: masks, draws, and who meets whom."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (50, 5000)
HEALTHY, ILL, IMMUNE = 0, 1, 2


@compiled
def infect(state, partners, draws, chance):
    meets = state[partners] == ILL
    return np.where((state == HEALTHY) & meets & (draws < chance), ILL, state)


@compiled
def recover(state, days, length):
    days = days + (state == ILL)
    over = (state == ILL) & (days >= length)
    return np.where(over, IMMUNE, state), days


@compiled
def counts(state):
    return [int((state == kind).sum()) for kind in (HEALTHY, ILL, IMMUNE)]


def main(rng, size):
    state = np.zeros(size, int)
    state[: max(1, size // 50)] = ILL
    days = np.zeros(size, int)
    curve = []
    for _ in range(25):
        partners = rng.integers(0, size, size)
        state = infect(state, partners, rng.random(size), 0.6)
        state, days = recover(state, days, 5)
        curve.append(counts(state))
        if curve[-1][ILL] == 0:
            break
    return curve, state[:50]
