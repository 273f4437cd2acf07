"""Sums in NumPy's order, from one place of the row or from four: every length has its own tree."""

import numpy as np
import pytest
from differential import check
from reports import output_code

import pycompile

RNG = np.random.default_rng(37)
MANY = {"recompile_limit": 10_000, "sample": False}
DTYPES = ["f4", "f8"]


def same_bits(a, b):
    return type(a) is type(b) and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def numbers(size, dtype):
    """Of many magnitudes, so that another order of the additions is another sum."""
    return (RNG.standard_normal(size) * 10.0 ** RNG.integers(-6, 7, size)).astype(dtype)


def total(x):
    return x.sum()


def squares(x):
    return (x * x).sum()


def several(x):
    return x.mean(), np.abs(x).sum(), x.var()


def together(x):
    """Two sums in one loop."""
    y = x * 2
    return y.sum(), (y + 1).sum()


def of_rows(x):
    return x.sum(axis=-1), (x - x.mean(axis=-1, keepdims=True)).sum(axis=-1)


LENGTHS = [*range(250, 530, 7), *range(513, 9300, 83), 1000, 1024, 4096, 8192, 8200, 10_000]
LONG = [16_384, 32_768, 32_776, 65_544, 100_000, 131_071, 262_144, 1_000_000, 1_234_567]


@pytest.mark.parametrize("function", [total, squares, several, together])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_length_has_its_tree(function, dtype):
    compiled = pycompile.compile(function, options=MANY)
    every = numbers(max(LONG), dtype)
    lengths = [*LENGTHS, *LONG, *RNG.integers(8, 40_000, 60).tolist()]
    for length in lengths:
        x = every[:length]
        found, plain = compiled(x), function(x)
        if not isinstance(plain, tuple):
            found, plain = (found,), (plain,)
        assert all(map(same_bits, found, plain)), length
    assert compiled.stats()["plan_runs"] == len(lengths)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [257, 384, 1000, 1023, 1040, 2048, 5000, 8192])
def test_rows(dtype, length):
    check(of_rows, numbers(9 * length, dtype).reshape(9, length))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [1000, 8192, 32_768, 100_008])
def test_odd_elements_at_every_place(dtype, length):
    """Infinities, NaNs and zeros of both signs, with the warnings that they give."""
    given = []
    for at in sorted({0, length - 1, *range(3, length, length // 29)}):
        for value in (np.inf, -np.inf, np.nan, -0.0):
            x = numbers(length, dtype)
            x[at] = value
            if value == np.inf and at % 2:
                x[length // 3] = -np.inf
            given.append((x,))
    check(total, *given[0], also=tuple(given), options={"options": {"sample": False}})


@pytest.mark.parametrize("dtype", DTYPES)
def test_negative_zeros(dtype):
    x = np.full(10_000, -0.0, dtype)
    check(total, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_backwards_and_from_an_odd_element(dtype):
    x = numbers(20_000, dtype)
    check(total, x, also=((x[3:],), (x[::-1],), (x[::3],)))


def test_long_rows_are_read_from_four_places():
    assert "leaf_depth(length)" in output_code(pycompile.compile(squares), np.ones(40_007))
