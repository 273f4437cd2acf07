"""n queens by recursion, without arrays."""

from benchmarks.programs import compiled

SIZES = (4, 7)
CALLS = 1000


@compiled
def place(row, n, columns, down, up):
    if row == n:
        return 1
    found = 0
    for column in range(n):
        if column in columns or row + column in down or row - column in up:
            continue
        found += place(row + 1, n, columns | {column}, down | {row + column}, up | {row - column})
    return found


@compiled
def first(row, n, taken):
    if row == n:
        return taken
    for column in range(n):
        if all(column != c and abs(column - c) != row - r for r, c in enumerate(taken)):
            found = first(row + 1, n, [*taken, column])
            if found:
                return found
    return None


def main(rng, size):
    empty = frozenset()
    return place(0, size, empty, empty, empty), first(0, size, [])
