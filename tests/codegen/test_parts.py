"""One row shared out among threads: parts of NumPy's pairwise tree, and of reductions in any order."""

import ctypes
import platform

import numpy as np
import pytest
from differential import check

import pycompile

FE_INEXACT = 0x10 if platform.machine() == "aarch64" else 0x20


def sums(x):
    return x.sum(), (x * x).sum(), x.mean()


def extremes(x):
    return x.max(), x.min(), np.abs(x).max(), (x + 1).min()


def logic(x):
    return (x > 2).any(), (x > -9).all(), (x == 0).any(), x.any(), x.all()


def spread(x):
    return x.var(), x.std()


def counted(x):
    return x.sum(), x.max(), x.min(), (x * 3).max(), (x & 7).prod(dtype=np.int64)


def stored(x):
    y = x * 2 + 1
    return y, y.sum(), y.max()


# around the least size that is shared out, around powers of two of parts, and odd ones
SIZES = [
    16383,
    16384,
    16385,
    16391,
    16392,
    32767,
    32776,
    65541,
    131071,
    131072,
    131081,
    524288 + 77,
]


def numbers(size, dtype, seed=1):
    random = np.random.default_rng(seed)
    return (random.standard_normal(size) * 10.0 ** random.integers(-4, 5, size)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [sums, extremes, logic, spread, stored])
def test_sizes(function, dtype):
    arrays = [(numbers(size, dtype, size),) for size in SIZES]
    for at in range(0, len(arrays), 4):
        check(function, *arrays[at], also=tuple(arrays[at + 1 : at + 4]), whole=True)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64, np.bool_])
def test_integers(dtype):
    random = np.random.default_rng(2)
    arrays = [
        (random.integers(0, 2 if dtype == np.bool_ else 100, n).astype(dtype),)
        for n in SIZES[1:9:3]
    ]
    function = logic if dtype == np.bool_ else counted
    check(function, *arrays[0], also=tuple(arrays[1:]), whole=dtype != np.bool_)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex(dtype):
    x = numbers(40001, np.float64)
    check(sums, (x + 1j * x[::-1]).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_of_both_signs(dtype):
    random = np.random.default_rng(3)
    zeros = np.where(random.random(70001) < 0.5, 0.0, -0.0).astype(dtype)
    least, most = zeros.copy(), zeros.copy()
    least[::3], most[::3] = 5, -5
    plain = np.abs(least)
    cases = [zeros, zeros[::-1].copy(), least, most, plain, -plain, zeros * 0, -np.abs(zeros)]
    for x in cases:
        check(extremes, x, whole=True)
        check(sums, x, whole=True)


def nans(dtype):
    """The NaNs that a processor makes, and others: of both signs, with bits of their own."""
    bits = np.uint32 if dtype == np.float32 else np.uint64
    top = np.finfo(dtype).bits - 1
    quiet = np.array([np.nan], dtype).view(bits)[0]
    own = np.array(
        [quiet, quiet | bits(1 << top), quiet | bits(3), quiet | bits(1 << top | 5)], bits
    )
    return own.view(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nans_and_infinities(dtype):
    for nan in nans(dtype):
        for at in (0, 7, 16384, 40000):
            x = numbers(40001, dtype)
            x[at] = nan
            check(extremes, x, whole=True)
    x = numbers(40001, dtype)
    x[[5, 39000]] = nans(dtype)[[1, 2]]
    x[77] = np.inf
    check(extremes, x, whole=True)
    check(logic, x, whole=True)
    low, high = np.full(40001, -np.inf, dtype), np.full(40001, np.inf, dtype)
    check(extremes, low, also=((high,),), whole=True)


def ends(x):
    return x.max(), x.min()


def ends_of_rows(x):
    return x.max(axis=1), x.min(axis=1)


def ends_and_sum(x):
    return x.max(), x.sum(), x.min()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(203,), (40, 3), (9, 150)])
def test_special_values_at_each_position(shape, dtype):
    """In each lane of each vector in hand, and behind the vectors; also rows side by side."""
    function = ends if len(shape) == 1 else ends_of_rows
    base = np.abs(numbers(shape, dtype)) + 1
    cases = []
    for sign in (1, -1):
        for special in (np.nan, 0.0, -0.0, np.inf, -np.inf):
            for at in range(base.size if len(shape) == 1 else 40):
                x = sign * base
                x.flat[at] = special
                if special == 0:
                    x.flat[at * 7 % base.size] = -special if at % 2 else special
                cases.append((x,))
    check(function, *cases[0], also=tuple(cases[1:]), whole=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_elements(dtype):
    check(ends, np.zeros(0, dtype), captured=False)
    check(ends_of_rows, np.zeros((0, 3), dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [ends, ends_and_sum])
@pytest.mark.parametrize("size", [200, 40001])
def test_nans_raise_no_flag(function, size, dtype):
    """A comparison with a NaN raises "invalid"; NumPy tells nothing of it, and leaves no flag."""
    libm = ctypes.CDLL(None)
    compiled = pycompile.compile(function)
    x = numbers(size, dtype)
    x[size // 2] = np.nan
    with np.errstate(all="raise"):
        check(function, x, whole=True)
        for _ in range(3):
            libm.feclearexcept(0x3F)
            compiled(x)
            assert libm.fetestexcept(0x3F) & ~FE_INEXACT == 0


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layouts(dtype):
    x = numbers((600, 400), dtype)
    for view in (x, x.T, x[::2], x[:, ::2], x[:, 3:], x[::-1], x.ravel()[::3], x.ravel()[::-1]):
        check(sums, view)
        check(extremes, view)
        check(logic, view)


def add_up(x):
    return x.sum()


def test_overflow_in_the_last_additions():
    """No part overflows, their sum does: NumPy warns, and so do we."""
    x = np.zeros(65536)
    x[[0, 32768]] = 1.7e308
    check(add_up, x)
    x[32768] = -1.7e308
    check(add_up, x, whole=True)
    x[[0, 32768]] = np.inf, -np.inf
    check(add_up, x)
