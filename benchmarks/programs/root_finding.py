"""Newton, bisection and Simpson's rule with functions passed as arguments."""

import math

from benchmarks.programs import compiled

SIZES = (2, 200)
CALLS = 1000


@compiled
def newton(f, slope, x):
    for turn in range(50):
        change = f(x) / slope(x)
        x -= change
        if abs(change) < 1e-12:
            break
    return x, turn


@compiled
def bisect(f, low, high):
    while high - low > 1e-10:
        middle = 0.5 * (low + high)
        if f(low) * f(middle) <= 0:
            high = middle
        else:
            low = middle
    return low


@compiled
def simpson(f, a, b, n):
    h = (b - a) / n
    total = f(a) + f(b)
    for i in range(1, n):
        total += (4 if i % 2 else 2) * f(a + i * h)
    return total * h / 3


def main(rng, size):
    shift = rng.uniform(0.5, 2.0)

    def f(x):
        return math.exp(x) - 3 * shift - x

    def slope(x):
        return math.exp(x) - 1

    return newton(f, slope, 3.0), bisect(f, 0.1, 4.0), simpson(f, 0.0, 2.0, 2 * size)
