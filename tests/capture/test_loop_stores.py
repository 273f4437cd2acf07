"""Ints that kept loops store into arrays of other dtypes."""

import numpy as np
import pytest

import pycompile
from tests.differential import MANY, check


def stored(x, out, k):
    for i in range(len(x)):
        out[i] = i * k


def chosen(x, out, k):
    n = 0
    for i in range(len(x)):
        if x[i] > k:
            n += 1
            out[i] = 1
        else:
            out[i] = 0
        out[n] = n % 100 - k // 3


def copied(x, out, k):
    for i in range(len(x)):
        out[i] = x[i]


DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]
FUNCTIONS = [stored, chosen, copied]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_ints_into_narrow_arrays(function, dtype):
    """What the dtype does not hold is an OverflowError, at the element whose turn it is."""
    args = lambda n, k, source="i8": (np.arange(-n, n, dtype=source), np.zeros(2 * n + 1, dtype), k)
    numbers = [(10, k) for k in (-1, 0, 6, 7, 9, 2**40, 2**59, -(2**59))]
    numbers += [(n, k) for n in (64, 65, 128, 140) for k in (1, -1)]
    also = [args(n, k) for n, k in numbers] + [args(10, k, "i4") for k in (-1, 6)]
    # Of the other dtypes each is the source in one of the three functions.
    sources = "BhHILQ?"[FUNCTIONS.index(function) :: len(FUNCTIONS)]
    also += [(np.arange(20).astype(t), np.zeros(21, dtype), 2) for t in sources]
    check(function, *args(10, 1), also=also, captured=False, options=MANY)


@pytest.mark.parametrize("dtype", DTYPES)
def test_loops_that_store_ints_stay_loops(dtype):
    for function in (stored, chosen):
        compiled = pycompile.compile(function, fullgraph=True)
        for n in (20, 30):
            compiled(np.arange(n), np.zeros(n + 1, dtype), 0)
        assert compiled.stats()["plan_runs"] == 2


def rotated(p, c, s, out):
    for i in range(len(p)):
        x, y = p[i]
        out[i] = c * x - s * y, s * x + c * y
        p[i] = [y, 0]
    return out


def cells(t):
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            t[i, j] = (i, j, i * j)
    return t


def swapped(p, k):
    for i in range(len(p)):
        p[i] = p[i - k, 1], p[i, 0]
    return p


@pytest.mark.slow
def test_numbers_of_a_tuple_are_stored_in_a_row():
    rng = np.random.default_rng(3)
    p = rng.random((20, 2))
    check(rotated, p.copy(), 0.6, 0.8, np.zeros((20, 2)), whole=True)
    check(cells, np.zeros((4, 5, 3), int), whole=True)
    check(cells, np.zeros((4, 5, 3)), whole=True)
    check(swapped, p.copy(), 1, whole=True)
    check(cells, np.zeros((4, 5, 4), int), captured=False)  # does not broadcast
    check(cells, np.zeros((4, 5, 3), np.int8), captured=False)
    check(rotated, p.astype("f4"), 0.6, 0.8, np.zeros((20, 2), "f4"), captured=False)
    check(swapped, p.copy(), 30, captured=False)  # out of bounds
