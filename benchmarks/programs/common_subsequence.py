"""The longest common subsequence of two byte strings, by a table, and the way back through it."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (5, 90)


@compiled
def table_of(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), np.int32)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table


@compiled
def way_back(table, a):
    i, j = table.shape[0] - 1, table.shape[1] - 1
    out = []
    while i > 0 and j > 0:
        if table[i, j] == table[i - 1, j]:
            i -= 1
        elif table[i, j] == table[i, j - 1]:
            j -= 1
        else:
            out.append(a[i - 1])
            i -= 1
            j -= 1
    return bytes(out[::-1])


def main(rng, size):
    a = bytes(rng.integers(97, 101, size).tolist())
    b = bytes(rng.integers(97, 101, size + 5).tolist())
    table = table_of(a, b)
    return int(table[-1, -1]), way_back(table, a)
