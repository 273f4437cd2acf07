"""Loops that become two or three, where a condition says from which iteration on it holds:
csrc/lower/region_split.c."""

import numpy as np
import pytest

from tests.codegen.test_carried_ints import kernel_text
from tests.differential import check

RNG = np.random.default_rng(5)
MANY = {"options": {"options": {"recompile_limit": 1000}}}


def table(n, m=None):
    return RNG.integers(-9, 9, (n, n if m is None else m))


def knapsack(w, t, x):
    for i in range(1, t.shape[0]):
        for c in range(t.shape[1]):
            t[i, c] = t[i - 1, c]
            if w[i - 1] <= c:
                taken = t[i - 1, c - w[i - 1]] + w[i]
                if taken > t[i, c]:
                    t[i, c] = taken


def without_itself(w, t, x):
    for i in range(len(x)):
        s = 0.0
        for j in range(len(x)):
            if i != j:
                s += x[j] * (x[i] - x[j])
        x[i] = s * 0.1


def at_the_ends(w, t, x):
    """Both ends differ: three parts, of which one is split again."""
    n = t.shape[1]
    for i in range(t.shape[0]):
        for j in range(n):
            left = t[i, j - 1] if j > 0 else t[i, j]
            right = t[i, j + 1] if j < n - 1 else t[i, j]
            t[i, j] = left + right


def clamped(w, t, x):
    n = t.shape[1]
    for i in range(t.shape[0]):
        for j in range(n):
            t[i, j] = w[max(j - 1, 0)] + w[min(j + 1, n - 1)]


def backwards(w, t, x):
    for i in range(t.shape[0]):
        a, b, last = 0, 1, -1
        for j in range(t.shape[1] - 1, -1, -1):
            if j >= w[i]:
                a += t[i, j]
                last = j
            elif 3 == j:
                b = b - a
            else:
                t[i, j] = a
            t[i, 0] = b
        t[i, 1] = last


def alone(w, t, x):
    """No loop around."""
    s = 0.0
    k = len(x) // 2
    for i in range(len(x)):
        if i > 0:
            s += x[i] - x[i - 1]
        if k == i:
            s *= 2.0
        if i + 1 < len(x):
            x[i] = x[i + 1]
    return s


def both_sides(w, t, x):
    n = t.shape[1]
    for i in range(t.shape[0]):
        for j in range(n):
            if not (i < j):
                t[i, j] = 5
            elif n - 2 <= j:
                t[i, j] = 6
            elif j + i > n:
                t[i, j] = 7
            if j <= 1 or j > 2 * i:
                t[i, j] += 1


def with_a_loaded_number(w, t, x):
    for i in range(t.shape[0]):
        k = w[i] * 2
        for j in range(2, t.shape[1]):
            if j < k:
                t[i, j] = t[i, j - 2] + 1
            if j == w[0]:
                t[i, j] = k


def with_numbers_of_an_arm(w, t, x):
    """What is the same in all iterations, but computed in an arm alone."""
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            t[i, j] += t[i, 0] if w[0] >= j - 2 else t[i - 1, i]
            if t[i, j] > 3:
                if j < w[i] + 1:
                    t[i, j] = w[i - 1]


def asked_before(w, t, x):
    """Conditions that are the same in all iterations of the inner loop."""
    n = 3
    for i in range(t.shape[0]):
        s = 0
        for j in range(t.shape[1]):
            if i > 0:
                t[i, j] = t[i - 1, j]
                s += 1
            if w[i] > 2:
                t[i, j] += w[i]
            elif x[i] < 0.0:
                s -= t[i, j]
            if j > 0 and i < len(x) - 1:
                t[i, j] = max(t[i, j - 1], w[i + 1])
            n = n + s if w[0] == 1 else n - 1
        t[i, 0] = s
    return n


def asked_before_all(w, t, x):
    s = 1.5
    for i in range(len(x)):
        if w[0] > 1:
            s = s * 0.5 + x[i]
        else:
            x[i] = s
        if len(w) > 9:
            s -= x[i - 1]
    return s


FUNCTIONS = [
    asked_before,
    asked_before_all,
    with_numbers_of_an_arm,
    knapsack,
    without_itself,
    at_the_ends,
    clamped,
    backwards,
    alone,
    both_sides,
    with_a_loaded_number,
]


def loops_in(function, n=40):
    text = kernel_text(function, np.arange(n) % 7, table(n - 1, n), RNG.standard_normal(n))
    return text.split("\nk0(")[1].count("for (int64_t t")


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_the_parts_leave(function):
    """Numbers below, in and above the range, from 0 iterations on; in any layout."""
    also = []
    for n in (1, 2, 3, 4, 17):
        also.append((np.arange(n + 1), table(n), RNG.standard_normal(n)))
        also.append((RNG.integers(0, n + 3, n + 1), table(n), RNG.standard_normal(n)))
        also.append((RNG.integers(0, n + 1, n + 1), table(n, n + 1).T, np.ones(n)))
    for number in (-1, -5, 0, 9, 50, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1):
        also.append((np.full(10, number), table(9), RNG.standard_normal(9)))
    check(function, np.arange(13) % 5, table(12), RNG.standard_normal(12), also=also, **MANY)


@pytest.mark.parametrize(
    ("function", "loops"),
    [
        (knapsack, 3),
        (without_itself, 4),
        (at_the_ends, 4),
        (clamped, 4),
        (alone, 5),
        (asked_before_all, 2),
    ],
)
def test_which_loops_are_split(function, loops):
    assert loops_in(function) >= loops


def with_ends(u, out):
    n, m = u.shape
    for i in range(n):
        for j in range(m):
            a = u[i - 1, j] if i > 0 else u[i, j]
            b = u[i + 1, j] if i < n - 1 else u[i, j]
            c = u[i, j - 1] if j > 0 else u[i, j]
            d = u[i, j + 1] if j < m - 1 else u[i, j]
            out[i, j] = a + b + c + d - 4.0 * u[i, j]


def test_a_stencil_that_asks_for_its_ends():
    """The loop over the middle has no condition left, and its indices are checked before it."""
    grids = [
        RNG.standard_normal(shape) for shape in ((9, 9), (1, 1), (1, 9), (9, 1), (2, 3), (40, 3))
    ]
    check(
        with_ends, grids[0], grids[0] * 0, also=[(g, g * 0) for g in (*grids, grids[0].T)], **MANY
    )
    loops = kernel_text(with_ends, grids[0], grids[0] * 0).split("for (int64_t t")
    assert any(loop.count("element_load") == 5 and "if (v" not in loop for loop in loops)


def overflowing(w, t, x):
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            if j >= w[0]:
                t[i, j] = t[i, j] + w[j]
            else:
                t[i, j] -= w[1]


def out_of_bounds(w, t, x):
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            if j < w[0]:
                t[i, j] += w[j + w[1]]
            else:
                t[i, j] -= w[j - w[0] - 3]


@pytest.mark.parametrize("function", [overflowing, out_of_bounds])
def test_errors_in_one_part(function):
    """The elements that were written before, the warnings and the line."""
    also = []
    for k in range(6):
        w = np.arange(12)
        w[:2] = k, 2 * k
        big = w.copy()
        big[7] = 2**63 - 1
        also += [(w, table(5, 9), None), (big, table(5, 9), None)]
        also += [(w - 3, table(5, 9), None), (big, abs(table(5, 9)) + 2**62, None)]
    check(function, np.ones(12, int), table(5, 9), None, also=also, **MANY)


def steps(w, t, k):
    for i in range(t.shape[0]):
        for j in range(t.shape[1] - 1, k, -1):
            if j > 4:
                t[i, j] = t[i, j - 1]
            elif j != k + 1:
                t[i, j] = j
        for j in range(k, t.shape[1], 2):
            if j > i:
                t[i, j] = 9
        for j in range(k, t.shape[1]):
            if k == j:
                continue
            if j == i:
                break
            t[i, j] += 1
    return j


def test_other_ranges():
    also = [(None, table(n, m), k) for n, m in ((6, 9), (9, 6), (1, 1), (3, 30)) for k in (0, 1, 5)]
    check(steps, None, table(8, 8), 2, also=also, **MANY)


def computed_bounds(w, n, x):
    for i in range(n):
        for j in range(-n, n):
            if j != n - w[i] * 2:
                x[j] += x[j + 1] * w[i]
        for j in range(n):
            if j < w[i] - n:
                x[j] += 1
        for j in range(n):
            if j <= w[i] * w[i + 1] - n + i:
                x[j] += 1


def test_numbers_that_are_computed_before_the_parts():
    check(
        computed_bounds,
        np.arange(10) % 4,
        6,
        RNG.random(20),
        also=[(np.arange(10), 3, RNG.random(9))],
    )
