"""Diffusion on a plane by alternating directions: a tridiagonal solver over whole rows, twice a step."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (10, 120)
CALLS = 60


@compiled
def solve_rows(diagonal, side, right):
    """The Thomas algorithm for all columns at once: two loops of statements on whole rows."""
    n = len(right)
    upper = np.empty(n)
    solved = np.empty_like(right)
    upper[0] = side / diagonal
    solved[0] = right[0] / diagonal
    for i in range(1, n):
        pivot = diagonal - side * upper[i - 1]
        upper[i] = side / pivot
        solved[i] = (right[i] - side * solved[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        solved[i] -= upper[i] * solved[i + 1]
    return solved


@compiled
def explicit_half(u, r):
    bent = u.copy()
    bent[:, 1:-1] += r * (u[:, :-2] - 2 * u[:, 1:-1] + u[:, 2:])
    return bent


@compiled
def step(u, r):
    half = solve_rows(1 + 2 * r, -r, explicit_half(u, r))
    return solve_rows(1 + 2 * r, -r, explicit_half(half.T, r)).T


def main(rng, size):
    u = rng.random((size, size))
    for _ in range(4):
        u = step(u, 0.3)
    return u.sum(), u[size // 2]
