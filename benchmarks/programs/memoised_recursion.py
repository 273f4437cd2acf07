"""Ways to give change and partitions of numbers, by recursion with a memo in a dict."""

from functools import cache

from benchmarks.programs import compiled

SIZES = (10, 160)
CALLS = 1000
COINS = (200, 100, 50, 20, 10, 5, 2, 1)


@compiled
def change(amount, coin, memo):
    if amount == 0:
        return 1
    if amount < 0 or coin == len(COINS):
        return 0
    key = amount, coin
    if key not in memo:
        memo[key] = change(amount - COINS[coin], coin, memo) + change(amount, coin + 1, memo)
    return memo[key]


@compiled
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def main(rng, size):
    @cache
    @compiled
    def stairs(n):
        return 1 if n < 2 else stairs(n - 1) + stairs(n - 2) + (stairs(n - 3) if n > 2 else 0)

    return change(size, 0, {}), fibonacci(size % 14), stairs(size)
