"""Kept loops: branches that are done without a jump, and values that they choose."""

import numpy as np
import pytest

from benchmarks import loop_programs as loops
from tests.differential import check

RNG = np.random.default_rng(7)


def vector(n, dtype=np.float64):
    return RNG.standard_normal(n).astype(dtype)


def sums_of_some(x, y, low):
    s = t = 0.0
    p = 1.0
    n = 0
    for i in range(len(x)):
        if x[i] > low:
            s += x[i]
            n += 1
        if low < y[i]:
            t = t - x[i] * y[i]
        else:
            p = y[i] * p
    return s, t, p, n


def steps_up_or_down(x, y, low):
    state = 7
    for i in range(1, len(x)):
        state = (state * 75) % 65537
        if state > 30000:
            x[i] = x[i - 1] + y[i]
        else:
            x[i] = y[i] - x[i - 1]


def clamped(x, y, low):
    for i in range(len(x)):
        v = x[i]
        if v < low:
            v = low * y[i]
        elif v > 1.0:
            v = 1.0 - y[i]
        y[i] = v


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [sums_of_some, steps_up_or_down, clamped])
def test_branches_without_a_jump(function, dtype):
    """Also where the arm that Python does not take would warn, and where the numbers are zeros."""
    many = {"options": {"recompile_limit": 100}}  # a sum of float32 begins in another class
    odd = np.array([0.5, -0.0, 0.0, -0.0, np.inf, -np.inf, 1e308, 0.1, np.nan, 3.0])
    with np.errstate(over="ignore"):
        odd = odd.astype(dtype)
    x, y = vector(40, dtype), vector(40, dtype)
    also = [(x, y, low) for low in (9.0, -9.0, 0.0)]
    also += [(odd[k:], odd[::-1][k:], low) for k in range(9) for low in (0.0, 0.2, -1.0)]
    check(function, x, y, 0.3, also=(*also, (-abs(x) * 0, -abs(y), 5.0)), options=many)


def larger_kept(x, t, n):
    for i in range(1, n):
        for j in range(n):
            if x[j] + t[i - 1, j] > t[i, j]:
                t[i, j] = x[j] + t[i - 1, j]


def swapped(x, t, n):
    for i in range(n - 1):
        for j in range(n - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                t[i, j] = j
            t[j, i] += x[j]


def in_all_arms(x, t, n):
    for i in range(1, n):
        for j in range(1, n):
            if x[j] > 0:
                t[i, j] = t[i - 1, j]
                if x[i] > x[j]:
                    t[i, j] = t[i, j] * 0.5
            elif x[j] > -0.5:
                t[i, j] = t[i, j - 1]
            else:
                t[i, j] = 0.0


def at_a_loaded_place(x, t, n):
    for i in range(n):
        for j in range(n):
            t[i, j] += 1
            if x[j] > 0:
                t[i, int(x[j])] = j
            if t[i, j] > 2:
                t[i, j] = x[i]


@pytest.mark.parametrize("function", [larger_kept, swapped, in_all_arms, at_a_loaded_place])
def test_elements_that_are_written_in_branches(function):
    args = lambda n, m: (vector(n) * 3, vector(m * n).reshape(m, n), n)
    also = [args(n, n) for n in (1, 2, 3, 40)]
    also += [(vector(9), vector(70).reshape(7, 10), 9), (vector(9), vector(81).reshape(9, 9).T, 9)]
    check(function, *args(12, 12), also=also)
    check(loops.bubble_sort, vector(30), whole=True)
    weight, value = RNG.integers(1, 9, (2, 12))
    check(loops.knapsack, weight, value, np.zeros((13, 40), int), whole=True)


def fibonacci(a, s, x):
    for i in range(len(a)):
        if a[i] > 0.5:
            s = s + x
            x = s
    return s, x


def fibonacci_other(a, s, x):
    for i in range(len(a)):
        if a[i] > 0.5:
            x = x + s
            s = x
    return s, x


def sum_before(a, s, x):
    for i in range(len(a)):
        t = s + x
        if a[i] > 0.5:
            s = t
    return s, x


@pytest.mark.parametrize("function", [fibonacci, fibonacci_other, sum_before])
@pytest.mark.parametrize("start", [(1, 2), (1.0, 2.0)])
@pytest.mark.parametrize("value", [0.1, 0.9])
def test_one_sum_for_two_variables(function, start, value):
    """Where a branch is not taken each variable keeps its own number."""
    a = np.full(40, 0.1)
    a[7:] = value
    check(function, a, *start)


def sums_that_share_an_addend(x):
    s = t = u = 0.0
    for i in range(len(x)):
        if x[i] > 0.0:
            s = s + x[i]
            u = s
        else:
            u = s + 1.0
        t += u
    return s, t, u


def test_two_variables_take_one_sum():
    check(sums_that_share_an_addend, vector(300))
