"""Lists of Collatz lengths, with a short `while` in a helper: a capture that unrolls never ends."""

from benchmarks.programs import compiled

SIZES = (30, 300)


@compiled
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@compiled
def lengths(n):
    return [collatz(i) for i in range(1, n)]


@compiled
def longest(n):
    found = lengths(n)
    best = max(found)
    return found.index(best) + 1, best


def main(rng, size):
    first, second = size, size // 2 + 2
    return lengths(first), lengths(second), longest(size)
