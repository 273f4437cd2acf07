"""Wolfram's automata on a ring: tables from rule numbers, rows of bytes, and their entropy."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (10, 2000)


@compiled
def table_of(rule):
    return np.array([rule >> k & 1 for k in range(8)], np.uint8)


@compiled
def turn(row, table):
    index = 4 * np.roll(row, 1) + 2 * row + np.roll(row, -1)
    return table[index]


@compiled
def entropy(row):
    p = row.mean()
    if p == 0 or p == 1:
        return 0.0
    return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))


@compiled
def longest_run(row):
    best = length = 0
    for cell in row.tolist():
        length = length + 1 if cell else 0
        best = max(best, length)
    return best


def main(rng, size):
    table = table_of(int(rng.choice([30, 90, 110, 184])))
    row = np.zeros(size, np.uint8)
    row[size // 2] = 1
    levels = []
    for _ in range(60):
        row = turn(row, table)
        levels.append(entropy(row))
    return row, levels, longest_run(row)
