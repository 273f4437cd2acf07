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
@pytest.mark.parametrize("n", [8, 16, 67, 300])
def test_square(dtype, n):
    check(with_transpose, (RNG.random((n, n)) * 100).astype(dtype), whole=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(8, 9), (129, 33), (40, 513), (7, 300)])
def test_pointwise(dtype, shape):
    x, y = (RNG.random(s).astype(dtype) for s in (shape[::-1], shape))
    check(mixed, x, y, RNG.random(shape[1]).astype(dtype), whole=True)


def test_three_axes():
    check(swapped, RNG.random((3, 150, 41)), RNG.random((3, 41, 150)), whole=True)
    check(swapped, RNG.random((3, 150, 41))[:, ::2, 1:], RNG.random((3, 40, 75)), whole=True)


def test_two_widths():
    x, z = RNG.random((70, 90)).astype(np.float32), RNG.random((90, 70))
    check(two_widths, x, RNG.random((70, 90)), z, whole=True)


def test_over_threads():
    check(with_transpose, RNG.random((1030, 1030)), whole=True)
