"""Sizes that stay symbols: one plan for every length, and a guard where the number is needed."""

import numpy as np
import pytest
from differential import check

import pycompile


def mean_of_loop(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s / len(x)


def stencil(x):
    y = 0.0
    for i in range(1, x.shape[0] - 1):
        y += x[i - 1] * x[i + 1]
    return y, x.shape[0] - 2


def every_other(x):
    s = 0.0
    for i in range(0, x.size, 2):
        s += x[i]
    return s * x.size


def guarded(x):
    n = len(x)
    s = 0.0
    if n > 2:
        for i in range(n):
            s += x[i]
    return s, n


@pytest.mark.parametrize("function", [mean_of_loop, stencil, every_other, guarded])
def test_ten_lengths_are_one_plan(function):
    compiled = pycompile.compile(function)
    for n in range(3, 13):
        x = np.linspace(-1.0, 2.0, n)
        assert repr(compiled(x)) == repr(function(x))
    counts = compiled.stats()
    assert counts["compiles"] == 1 and counts["plan_runs"] == 10 and counts["deopts"] == 0


@pytest.mark.parametrize("function", [mean_of_loop, stencil, every_other, guarded])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_short_arrays(function, n):
    check(function, np.arange(float(n)), captured=False)


def test_a_size_that_is_needed_as_a_number_pins_the_array():
    def f(x):
        n = len(x)
        return (x * 2).reshape(n // 2, 2) / n, n

    compiled = pycompile.compile(f, dynamic=False)
    for n in (4, 8, 4, 6):
        x = np.arange(float(n))
        for a, b in zip(compiled(x), f(x)):
            assert repr(a) == repr(b)
    assert compiled.stats()["compiles"] == 3


def test_the_size_of_a_pinned_array_is_a_constant():
    def f(x):
        n = len(x)
        return x * 2 + n, n

    check(f, np.arange(6.0))
    assert "x.shape" not in pycompile.explain(f)(np.arange(6.0)).verbose()


def test_sizes_of_int8():
    def f(x):
        n = len(x)
        s = 0
        for i in range(n):
            s += int(x[i]) * n
        return s

    check(f, np.arange(100, dtype=np.int8), captured=False)


def test_another_rank_or_type():
    compiled = pycompile.compile(mean_of_loop)
    for x in (np.arange(3.0), np.arange(3), [1.0, 2.0], np.arange(4.0)[::2]):
        assert repr(compiled(x)) == repr(mean_of_loop(x))
