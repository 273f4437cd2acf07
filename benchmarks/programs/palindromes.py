"""The longest palindrome by a table of substrings, filled by diagonals."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (8, 90)
CALLS = 1000


@compiled
def fill(s):
    n = len(s)
    table = np.zeros((n, n), bool)
    for i in range(n):
        table[i, i] = True
    for i in range(n - 1):
        table[i, i + 1] = s[i] == s[i + 1]
    for length in range(3, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            table[i, j] = table[i + 1, j - 1] and s[i] == s[j]
    return table


@compiled
def longest(s, table):
    best = ""
    for i in range(len(s)):
        for j in range(i + len(best), len(s)):
            if table[i, j]:
                best = s[i : j + 1]
    return best


def main(rng, size):
    s = "".join(rng.choice(list("abc"), size))
    table = fill(s)
    return int(table.sum()), longest(s, table)
