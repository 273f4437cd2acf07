"""Orders grouped with setdefault, and for each of them a short loop over its price ladder."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (20, 600)
CALLS = 1000


@compiled
def level(ladder, price):
    k = 0
    while k < len(ladder) and ladder[k] < price:
        k += 1
    return k


@compiled
def group(customers, prices, ladder):
    groups = {}
    for customer, price in zip(customers, prices):
        groups.setdefault(customer, []).append(level(ladder, price))
    return groups


@compiled
def totals(groups):
    rows = []
    for customer in sorted(groups):
        levels = groups[customer]
        rows.append((customer, len(levels), sum(levels) / len(levels)))
    return rows


def main(rng, size):
    customers = rng.integers(0, 12, size).tolist()
    prices = rng.gamma(2.0, 20.0, size).tolist()
    ladder = np.linspace(5.0, 120.0, 14)
    return totals(group(customers, prices, ladder))
