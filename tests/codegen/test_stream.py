"""Outputs too large for the caches: aligned rows, rows of odd length, several outputs."""

import numpy as np
import pytest

from tests.differential import check


def centred(x):
    return (x - x.sum(axis=1, keepdims=True)) * 2


def flat(x, y):
    return x + y, x * y


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2100, 4096), (2101, 4099)])
def test_rows_beyond_the_caches(shape):
    check(centred, np.random.default_rng(0).random(shape, np.float32), whole=True)


def scaled(x):
    y = x - x.max(axis=1, keepdims=True)
    return y / (y * y).sum(axis=1, keepdims=True)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2101, 4099), (211, 40_003)])
def test_rows_of_which_the_next_is_fetched(shape):
    """The longer ones are not: they go on bypassing the caches."""
    check(scaled, np.random.default_rng(0).random(shape, np.float32), whole=True)


@pytest.mark.slow
def test_flat_beyond_the_caches():
    x = np.random.default_rng(0).random(8_400_003, np.float32)
    check(flat, x, x[::-1].copy(), whole=True)


def inner(u, v):
    """Rows that begin anywhere in a vector, in fresh memory and at the commit."""
    bend = u[:-2, 1:-1] + u[2:, 1:-1]
    v[1:-1, 1:] = bend * 0.5
    return bend


def two_dtypes(x, y):
    return x[:, 1:] + y, x[:, :-1] < y, x[:, 1:] * np.float64(2)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_begin_anywhere(dtype):
    u, v = np.random.default_rng(0).random((2, 2101, 3301)).astype(dtype)
    check(inner, u, v[:, 1:], whole=True)


@pytest.mark.slow
def test_two_dtypes_in_rows_that_begin_anywhere():
    x = np.random.default_rng(0).random((2101, 3301), np.float32)
    check(two_dtypes, x, x[::-1, 1:].copy(), whole=True)
