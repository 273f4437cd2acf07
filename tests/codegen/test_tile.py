"""Operands that memory holds across the rows of a kernel."""

import numpy as np
import pytest

from tests.differential import check

RNG = np.random.default_rng(3)


def with_transpose(x):
    return x + x.T


def mixed(x, y, v):
    return np.where(x.T > y, x.T * v, y) - v


def swapped(x, y):
    return x.transpose(0, 2, 1) - y


def two_widths(x, y, z):
    return x.T + y.T * z


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint32])
@pytest.mark.parametrize("n", [8, 9, 16, 67, 127, 128, 129, 300, 521])
def test_square(dtype, n):
    check(with_transpose, (RNG.random((n, n)) * 100).astype(dtype), whole=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(8, 9), (129, 33), (40, 513), (7, 300), (257, 128), (390, 131)])
def test_pointwise(dtype, shape):
    x, y = (RNG.random(s).astype(dtype) for s in (shape[::-1], shape))
    check(mixed, x, y, RNG.random(shape[1]).astype(dtype), whole=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("first", range(0, 16, 3))
def test_any_alignment(dtype, first):
    """Rows a multiple of a cache line apart, which begin anywhere in one."""
    part = RNG.random((150, 1040)).astype(dtype)[:, first:]
    for columns in (16, 17, 300):
        check(mixed, part[:, :columns], part[:, :columns].T.copy(), part[:, 0].copy(), whole=True)
        check(with_transpose, part[:columns, :columns][:150, :150], whole=True)


def test_parts_of_one_array():
    """Which are no square and its transpose, although they share memory."""
    x = RNG.random((300, 301))
    check(lambda x: x[:, :-1] + x[:, 1:].T, x, whole=True)
    check(lambda x: x[:, :-1] + x[:, :-1].T - x[:, 1:], x, whole=True)
    check(lambda x: x[:200, :200] * x[100:, 101:].T, x, whole=True)
    check(lambda x: x[::2, :150] + x[:150, :300:2].T, x, whole=True)


def test_special_values():
    x = RNG.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308, 1.0]), (140, 140))
    check(with_transpose, x, whole=True)
    check(with_transpose, -x, whole=True)
    finite = np.where(np.isfinite(x) & (x < 1e300), x, 1.0)
    with np.errstate(all="raise"):
        check(with_transpose, finite, whole=True)


def test_three_axes():
    check(swapped, RNG.random((3, 150, 41)), RNG.random((3, 41, 150)), whole=True)
    check(swapped, RNG.random((3, 150, 41))[:, ::2, 1:], RNG.random((3, 40, 75)), whole=True)


def test_two_widths():
    x, z = RNG.random((70, 90)).astype(np.float32), RNG.random((90, 70))
    check(two_widths, x, RNG.random((70, 90)), z, whole=True)


@pytest.mark.slow
def test_over_threads():
    check(with_transpose, RNG.random((1030, 1030)), whole=True)
    check(with_transpose, RNG.random((1030, 1031))[:, 1:], whole=True)


@pytest.mark.slow
@pytest.mark.parametrize("dtype, n", [(np.float32, 2531), (np.float64, 1799)])
def test_beyond_the_caches(dtype, n):
    x = RNG.random((n, n + 1)).astype(dtype)
    x.ravel()[::7] = np.nan
    x.ravel()[::11] = -0.0
    check(with_transpose, x[:, 1:], whole=True)
    check(mixed, x[:, 1:], x[:, 1:], x[0, 1:].copy(), whole=True)
