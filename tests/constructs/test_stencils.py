"""Chains of statements that write slices of large arrays in place."""

import numpy as np
import pytest
from differential import check

SHAPE = (90, 130)


def arrays(order, count=2, dtype=np.float64):
    random = np.random.default_rng(5)
    return tuple(
        np.asarray(random.standard_normal(SHAPE).astype(dtype), order=order) for _ in range(count)
    )


def jacobi(a, b):
    for _ in range(3):
        b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a[1:-1, 1:-1] = b[1:-1, 1:-1]
    return a.sum(), b.sum()


def gauss(a, b):
    for _ in range(3):
        a[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a += b
    return a[0].sum()


def wave(u, v):
    for _ in range(3):
        v[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] - 2 * u[1:-1, 1:-1])
        u += v
    return u[::2, 3] + v[::2, 4]


def shifts(a, b):
    """Each statement reads what the one before wrote, elsewhere."""
    for _ in range(2):
        a[:, 1:] = a[:, :-1] * 0.5 + b[:, 1:]
        a[2:, :] -= a[:-2, :]
        b[:-1, :] = a[1:, ::-1]
    return a[-1] * b[0]


def both_ends(a, b):
    a[3:, :] = b[3:, :]
    c = a[:, 5:] * 2
    a[:-3, :] = b[:-3, :] + a[3:, :]
    return c, a.max(), a[3:, 5:] - c[3:]


def fresh(a, b):
    c = np.zeros_like(a)
    for i in range(3):
        c[1:, 1:] = c[:-1, :-1] * 0.5 + a[1:, 1:] * i
        c[:-1, :-1] += b[1:, 1:]
    return c


def own_boundaries(a, b):
    """Periodic and reflecting boundaries, written after the inside."""
    for _ in range(2):
        a[1:-1, 1:-1] += 0.1 * (a[2:, 1:-1] - a[:-2, 1:-1]) * b[1:-1, 1:-1]
        a[0, :] = a[-2, :]
        a[-1, :] = a[1, :]
        a[:, 0] = a[:, 1]
        a[:, -1] = a[:, -2]
    return a


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize(
    "function", [jacobi, gauss, wave, shifts, both_ends, fresh, own_boundaries]
)
def test_in_place(function, dtype, order):
    if dtype == np.int64 and function in (jacobi, gauss, wave, own_boundaries):
        dtype = np.complex128
    check(function, *arrays(order, dtype=dtype))


def test_a_warning_comes_before_the_writes_that_follow():
    def overflow(a, b):
        a[1:-1, 1:-1] = a[:-2, 1:-1] * 1e200
        a[1:-1, 1:-1] = a[2:, 1:-1] * 1e200
        return a

    check(overflow, *arrays("C"))


def test_other_layouts():
    wide = np.random.default_rng(6).standard_normal((90, 260))
    for a in (wide[:, ::2], wide[::-1, :130], wide[:, :130]):
        check(gauss, a, np.ones(SHAPE))
