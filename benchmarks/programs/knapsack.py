"""A knapsack by rows of an array, by cells, and which things were taken."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (4, 50)


@compiled
def best_values(weights, values, capacity):
    best = np.zeros(capacity + 1, np.int64)
    for i in range(len(weights)):
        w = weights[i]
        best[w:] = np.maximum(best[w:], best[: capacity + 1 - w] + values[i])
    return best


@compiled
def table_of(weights, values, capacity):
    table = np.zeros((len(weights) + 1, capacity + 1), np.int64)
    for i in range(1, len(weights) + 1):
        for c in range(capacity + 1):
            table[i, c] = table[i - 1, c]
            if weights[i - 1] <= c:
                taken = table[i - 1, c - weights[i - 1]] + values[i - 1]
                if taken > table[i, c]:
                    table[i, c] = taken
    return table


@compiled
def taken(table, weights):
    c = table.shape[1] - 1
    found = []
    for i in range(len(weights), 0, -1):
        if table[i, c] != table[i - 1, c]:
            found.append(i - 1)
            c -= weights[i - 1]
    return found


def main(rng, size):
    weights = rng.integers(1, 20, size).tolist()
    values = rng.integers(1, 100, size).tolist()
    capacity = sum(weights) // 3 + 20
    table = table_of(weights, values, capacity)
    return (
        int(best_values(weights, values, capacity)[-1]),
        int(table[-1, -1]),
        taken(table, weights),
    )
