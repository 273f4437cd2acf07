"""Rows that are read from several places in turn: the result is NumPy's wherever an odd element is."""

import numpy as np
import pytest
from reports import output_code

import pycompile

RNG = np.random.default_rng(31)


def same_bits(a, b):
    return type(a) is type(b) and a.dtype == b.dtype and a.tobytes() == b.tobytes()


SIZES = [4_096, 8_191, 16_384, 40_007, 150_001]


def extremes(x):
    return x.max(), x.min()


def of_two(x):
    return np.maximum(x, x[::-1].copy()).max(), np.abs(x - 1).min()


def of_rows(x):
    return x.reshape(1, -1).max(axis=-1), x.reshape(1, -1).min(axis=1)


@pytest.mark.parametrize("function", [extremes, of_two, of_rows])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("size", SIZES)
def test_no_place_is_overlooked(function, dtype, size):
    x = (RNG.random(size) * 100 + 1).astype(dtype)
    compiled = pycompile.compile(function)
    for at in sorted({0, size - 1, *range(0, size, size // 13), *range(1, 200, 17)}):
        for value in (np.inf, np.nan, -0.0, 0.0):
            y = x.copy()
            y[at] = value
            assert all(map(same_bits, compiled(y), function(y))), (at, value)
    assert compiled.stats()["plan_runs"] > 0


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_zeros_of_both_signs(dtype):
    x = np.full(40_007, -0.0, dtype)
    compiled = pycompile.compile(extremes)
    for at in (0, 1, 5_000, 33_000, 40_006):
        y = x.copy()
        y[at] = 0.0
        assert all(map(same_bits, compiled(y), extremes(y)))


def test_long_rows_are():
    assert " * apart" in output_code(pycompile.compile(extremes), np.ones(40_007))
