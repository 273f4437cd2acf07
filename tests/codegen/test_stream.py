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


@pytest.mark.slow
def test_flat_beyond_the_caches():
    x = np.random.default_rng(0).random(8_400_003, np.float32)
    check(flat, x, x[::-1].copy(), whole=True)
