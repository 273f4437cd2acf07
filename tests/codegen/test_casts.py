"""Conversions of whole registers: each integer from and to each number, at lengths with rests."""

import numpy as np
import pytest

import pycompile

INTEGERS = [np.dtype(code) for code in "bBhHiIlL"]
NUMBERS = [*INTEGERS, np.dtype("f"), np.dtype("d")]


def numbers(dtype, n):
    bits = np.random.default_rng(n).integers(0, 256, n * 8, dtype=np.uint8)
    if dtype.kind == "f":  # which all integers of 8 bits hold
        return (bits[:n] % 128).astype(dtype)
    return bits.view(dtype)[:n]


@pytest.mark.parametrize("to", NUMBERS, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("of", NUMBERS, ids=lambda dtype: dtype.name)
def test_casts(of, to):
    def cast(x, y):
        return (x + x).astype(to) + y  # an operation before it and one behind it

    compiled = pycompile.compile(cast, options={"plan_always": True})
    for n in 1, 7, 64, 83, 1000:
        x, y = numbers(of, n), numbers(to, n)
        expected, got = cast(x, y), compiled(x, y)
        assert got.dtype == expected.dtype
        assert got.tobytes() == expected.tobytes()
    assert compiled.stats()["plans"]
