"""Primes by a sieve in an array and by trial division; factors; Goldbach's pairs."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (50, 20_000)
CALLS = 1000


@compiled
def sieve(n):
    prime = np.ones(n + 1, bool)
    prime[:2] = False
    i = 2
    while i * i <= n:
        if prime[i]:
            prime[i * i :: i] = False
        i += 1
    return prime


@compiled
def factors(n):
    found = []
    d = 2
    while d * d <= n:
        while n % d == 0:
            found.append(d)
            n //= d
        d += 1
    if n > 1:
        found.append(n)
    return found


@compiled
def goldbach(prime, even):
    count = 0
    for p in range(2, even // 2 + 1):
        if prime[p] and prime[even - p]:
            count += 1
    return count


def main(rng, size):
    prime = sieve(size)
    numbers = rng.integers(2, size * 10, 5).tolist()
    return int(prime.sum()), [factors(n) for n in numbers], goldbach(prime, size - size % 2)
