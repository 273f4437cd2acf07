"""Versions of an input that are written over earlier ones, in the kernel that reads these."""

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _C


def plan(function, *args):
    """The records of the function's plan, which has run once."""
    _C.report_begin()
    pycompile.compile(function)(*args)
    return next(record for record in _C.report_end() if "schedule" in record)


def jacobi(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def waves(u, before, speed, steps):
    for _ in range(steps):
        bend = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        before[1:-1, 1:-1] = 2 * u[1:-1, 1:-1] - before[1:-1, 1:-1] + speed * bend
        u, before = before, u


def damped(u, v, steps):
    """One element-by-element chain beside a stencil, on rows of the other order, too."""
    for _ in range(steps):
        v[1:-1] = v[1:-1] * 0.5 + u[2:] - u[:-2]
        u[1:-1] = u[1:-1] + v[1:-1] * 0.125
    return v[::-1] + u


def kept(u, v, steps):
    """What is written is wanted later, or elsewhere."""
    seen = []
    for k in range(steps):
        t = u[1:-1] * 2 - v[1:-1]
        v[1:-1] = t + v[:-2] * 0.25
        seen.append(v[k % len(v)].sum())
        u[1:-1] = t * 0.5 + v[2:]
    return seen, t


def told(u, v, steps):
    """Roots of what becomes negative: values that nobody reads are computed before the store."""
    for _ in range(steps):
        np.sqrt(v[1:-1])
        v[1:-1] = v[1:-1] - u[2:] * 0.5
        np.log(v[1:-1] + 3)
        u[1:-1] = v[1:-1] + u[1:-1]
    return u


def two_places(u, v, steps):
    """Writes to two places by turns: neither version differs from the input in one of them only."""
    for k in range(steps):
        if k % 2:
            v[1:-1] = u[2:] + v[1:-1]
        else:
            v[:-1] = u[:-1] - v[1:]
        u[1:-1] = v[:-2] * 0.5
    return v


def arms(u, v, steps):
    for _ in range(steps):
        v[1:-1] = u[2:] + v[1:-1]
        if v.sum() > 0:
            u[1:-1] = v[:-2] - u[1:-1]
        u[1:-1] = v[2:] - u[1:-1]
    return v


@pytest.mark.slow
@pytest.mark.parametrize("steps", [3, 6])
@pytest.mark.parametrize("shape", [(6, 5), (40, 30), (150, 170)])
@pytest.mark.parametrize("function", [damped, kept, told, two_places, arms])
def test_programs(function, shape, steps):
    u, v = np.random.default_rng(0).uniform(1, 2, (2, *shape))
    check(function, u, v, steps)
    check(function, np.asfortranarray(u), v.astype("f4"), steps)
    check(function, u.T, np.asfortranarray(v).T, steps)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(6, 5), (150, 170)])
def test_grids(shape):
    u, before = np.random.default_rng(0).uniform(1, 2, (2, *shape))
    for steps in (3, 8):
        check(jacobi, u, steps)
        check(waves, u, before, 0.125, steps)


def test_versions_take_turns():
    """The first two copy the edges; each later one is written by its kernel.  Jacobi's last step is
    done twice: for its flags, and at commit into the input."""
    u, before = np.random.default_rng(0).uniform(1, 2, (2, 150, 170))
    made = plan(jacobi, u, 10)
    assert made["bytes_arena"] < 2.01 * u.nbytes
    assert made["kernels"] == 10 + 2 * 4 + 1
    made = plan(waves, u, before, 0.125, 10)
    assert made["bytes_arena"] < 2.01 * u.nbytes
    assert made["kernels"] == 10 + 2 * 4


def taken_before(g, w, s):
    """The loop begins with a number out of an element that is written before it."""
    g = g + np.float32(1)
    t = g[3].copy()
    g[3] = 0.0
    s = s + np.float32(t)
    for k in range(3):
        g[k] += s * w[k]
    return g, s


def read_before(g, w, s):
    g = g + np.float32(1)
    s = s + g[3, ...]
    g[3] = 0.0
    for k in range(3):
        g[k] += s * w[k]
    return g, s


@pytest.mark.parametrize("function", [taken_before, read_before])
def test_numbers_of_what_is_written_before_a_loop(function):
    g, w = np.random.default_rng(0).random((2, 4)).astype("f4")
    check(function, g, w, np.float32(0.3))
