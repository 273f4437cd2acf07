"""Loops that log what they overwrite along with their iterations: what is undone is as it was."""

import numpy as np
import pytest
from reports import output_code

import pycompile
from pycompile import _C
from tests.differential import MANY, check

RNG = np.random.default_rng(29)
N = 3000
STRIPS = 150_001  # more iterations than a strip has


def vector(n, dtype=np.float64):
    return (RNG.random(n) - 0.5).astype(dtype)


def filtered(x, y, n):
    for i in range(1, n):
        y[i] = 0.5 * y[i - 1] + x[i]


def summed(x, y, n):
    s = 0.0
    for i in range(n):
        s += x[i]
        y[i] = s
    return s


def backwards(x, y, n):
    for i in range(n - 2, -1, -1):
        y[i] = 0.25 * y[i + 1] + x[i]


def apart(x, y, n):
    s = 0.0
    for i in range(0, n, 3):
        s = 0.5 * s + x[i]
        y[i] = s


def gathered(x, y, at):
    """An index out of bounds ends it in the middle of a strip."""
    s = 0.0
    for i in range(len(y)):
        s = 0.5 * s + x[at[i]]
        y[i] = s


def until(x, y, n):
    s = 0.0
    for i in range(n):
        s = 0.99 * s + x[i]
        y[i] = s
        if s > 2.0:
            break
    return s


def two_arrays(x, y, z):
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
        z[i] = 0.25 * z[i - 1] - y[i]


def two_elements(x, y, n):
    """Each iteration overwrites what another one has: logged before them."""
    s = 0.0
    for i in range(n - 1):
        s = 0.5 * s + x[i]
        y[i] = s
        y[i + 1] = s * 0.5


def counted(x, y, z, at):
    """Of one array each element, of another one some: these may have the log moved meanwhile."""
    s = 0.0
    for i in range(len(y)):
        s = 0.5 * s + x[i]
        y[i] = s
        z[at[i]] += s


def diagonal(x, y, n):
    for i in range(1, n):
        y[i, i] = 0.5 * y[i - 1, i - 1] + x[i]


def bytes_of(x, y, n):
    s = 0.0
    for i in range(n):
        s = 0.5 * s + x[i]
        y[i] = s > 0.0


def halves(x, y, n):
    first = n // 2
    s = 0.0
    for i in range(n):
        s = 0.5 * s + x[i]
        if i < first:
            y[i] = s
        else:
            y[i] = -s


def places(n, wrong=None, of=1):
    """`n` indices of an array `of` times as long, one of them behind its end."""
    at = RNG.integers(0, of * n, n)
    if wrong is not None:
        at[wrong] = of * n
    return at


def with_a_large_end(x):
    x = x.copy()
    x[-2:] = np.finfo(x.dtype).max
    return x


LARGE = with_a_large_end(vector(N))
SINGLE = vector(N, np.float32)
PROGRAMS = [
    (filtered, (vector(N), vector(N), N), [(LARGE, vector(N), N), (SINGLE, SINGLE + 1, N)]),
    (filtered, (vector(N), np.zeros(N), N), [(LARGE, np.zeros(N), N)]),
    (filtered, (vector(2 * N)[::2], vector(2 * N)[::2], N), [(LARGE, vector(2 * N)[::2], N)]),
    (filtered, (vector(N), vector(N), N), [(vector(N), vector(N), N + 1)]),
    (summed, (vector(N), vector(N), N), [(LARGE, vector(N), N), (SINGLE, vector(N), N)]),
    (summed, (vector(N), vector(N, np.float32), N), [(LARGE, vector(N, np.float32), N)]),
    (backwards, (vector(N), vector(N), N), [(LARGE[::-1], vector(N), N)]),
    (apart, (vector(N), vector(N), N), [(LARGE, vector(N), N), (vector(N), vector(N), N + 9)]),
    (gathered, (vector(N), vector(N), places(N)), [(vector(N), vector(N), places(N, N - 7))]),
    (gathered, (vector(N), np.ones(N), places(N)), [(vector(N), np.ones(N), places(N, N // 2))]),
    (until, (vector(N), vector(N), N), [(vector(N) + 0.2, vector(N), N), (LARGE, vector(N), N)]),
    (two_arrays, (vector(N), vector(N), vector(N)), [(LARGE, vector(N), np.ones(N))]),
    (two_elements, (vector(N), vector(N), N), [(LARGE, vector(N), N)]),
    (
        counted,
        (vector(N), vector(N), vector(40 * N), places(N, of=40)),
        [(vector(N), vector(N), vector(40 * N), places(N, N - 7, of=40))],
    ),
    (
        diagonal,
        (vector(N), vector(3600).reshape(60, 60), 60),
        [(vector(N), vector(81).reshape(9, 9), 10)],
    ),
    (bytes_of, (vector(2 * N), vector(2 * N) > 0, 2 * N), [(vector(2 * N), vector(9) > 0, 2 * N)]),
    (halves, (vector(N), vector(N), N), [(LARGE, vector(N), N)]),
]


@pytest.mark.parametrize("variants", range(4))
@pytest.mark.parametrize(("function", "arguments", "also"), PROGRAMS)
def test_the_program_cannot_tell(function, arguments, also, variants):
    _C.test_variants(variants)
    try:
        check(function, *arguments, also=also, options=MANY, captured=variants != 3)
    finally:
        _C.test_variants(0)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("old", [vector(STRIPS), np.zeros(STRIPS)])
def test_several_strips(dtype, old):
    x, old = vector(STRIPS, dtype), old.astype(dtype)
    check(filtered, x, old, STRIPS, also=((with_a_large_end(x), old, STRIPS), (x, old, STRIPS + 1)))


def test_a_later_failure_undoes_the_loop():
    def then_divided(x, y, n):
        filtered(x, y, n)
        return 1.0 / x

    zero = vector(N)
    zero[5] = 0.0
    check(then_divided, vector(N), vector(N), N, also=((zero, vector(N), N), (zero, np.ones(N), N)))


@pytest.mark.parametrize(("function", "arguments", "also"), PROGRAMS)
def test_which_loops_do(function, arguments, also):
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    code = output_code(pycompile.compile(function), *copies)
    assert ("log->along(" in code) == (function not in (two_elements, until, counted)), code
