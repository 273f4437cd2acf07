"""Loops over Python's numbers alone: unrolled where that can be, else they stay loops."""

import math

import numpy as np
import pytest

import pycompile
from tests.differential import check


def collatz(n):
    best = 0
    for start in range(1, n):
        v, steps = start, 0
        while v != 1:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            steps += 1
        if steps > best:
            best = steps
    return best


def simpson(a, b, n):
    h = (b - a) / n
    s = math.sin(a) + math.sin(b)
    for i in range(1, n):
        s += (4 if i % 2 else 2) * math.sin(a + i * h)
    return s * h / 3


def generator(n, seed):
    inside = 0
    for _ in range(n):
        seed = (seed * 1103515245 + 12345) % 2**31
        if seed % 7 < 3:
            inside += 1
    return inside, seed


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def divides(n, by):
    s = 0.0
    for i in range(n):
        s += 1.0 / (by - i)
    return s


def in_a_list(n):
    out = []
    for i in range(n):
        out.append(i * i % 7)
    return out


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (collatz, (600,)),
        (simpson, (0.0, 1.0, 2000)),
        (generator, (2000, 42)),
        (in_a_list, (2000,)),
    ],
)
def test_long_loops_are_plans(function, args):
    also = [(*args[:-1], args[-1] + 1), args] if function is not generator else [(1500, 7)]
    check(function, *args, whole=True, also=also)


def test_ints_beyond_64_bits_and_errors():
    check(fibonacci, 2000, captured=False, also=((80,), (3,), (90,), (200,)))
    check(divides, 3000, 5000.5, also=((3000, 5000), (3000, 1000), (3, 9)))


def test_a_number_that_has_to_be_known_is_so():
    """A short loop is unrolled, so that an array can have its shape."""

    def shaped(x):
        k = 0
        for i in range(4):
            k += i
        return x.reshape(k, -1) * 2.0

    check(shaped, np.arange(600.0), whole=True)


def test_each_number_is_no_plan_of_its_own():
    compiled = pycompile.compile(simpson)
    for n in range(2000, 2040):
        assert compiled(0.0, 1.0, n) == simpson(0.0, 1.0, n)
    assert compiled.stats()["plans"] <= 2
