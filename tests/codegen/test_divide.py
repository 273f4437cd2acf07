"""Division by a number that is the same in the whole loop: NumPy's bits and flags, for divisors and
elements inside and outside the windows in which it is a product."""

import math

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _C

RNG = np.random.default_rng(31)
DTYPES = [np.float32, np.float64]


def by_number(x, d):
    return x / d


def by_literals(x):
    return x / 3.0, x / -0.7, x / 2.0, x / 1e300, x / 1e-30, x / 1.5e14


def by_rows(x, d):
    return x / d[:, None], (x - 1) / x.sum(axis=-1, keepdims=True)


def by_one_row_value(x, d):
    """Divisions by one value of the row, in several passes over it."""
    y = x / d[:, None]
    z = (y - y.max(axis=1, keepdims=True)) / d[:, None]
    return (y + z.sum(axis=1, keepdims=True)) / d[:, None]


def by_one_number(x, y, d):
    """Two divisions by one number, and one by another."""
    z = x / d
    x /= d
    return z * y / d[()], y / (d + 1), x


def across(x, d):
    return (x / d).sum(axis=0), (x / x[:, :1]).max(axis=0)


def unread(x, d):
    y = x / d  # noqa: F841
    return x * 2


def deopts(x, d):
    """How many of three calls end in a flag that NumPy would report, and are done by NumPy."""
    pycompile.reset()
    compiled = pycompile.compile(by_number)
    for _ in range(3):
        compiled(x, d)
    return compiled.stats()["deopts"]


def edges(dtype):
    """Zeros, subnormal numbers, infinities, NaNs, and both sides of each window's bounds."""
    powers = (-149, -127, -126, -79, -78, -77, -76, -1, 0, 47, 48, 49, 50, 51, 126, 127)
    if dtype == np.float64:
        powers += (-1074, -1022, -512, -511, -510, -501, -500, 499, 500, 501, 512, 513, 514, 1023)
    numbers = [0.0, math.inf, math.nan]
    with np.errstate(over="ignore"):
        for power in powers:
            one = dtype(math.ldexp(1.0, power))
            numbers += [one, np.nextafter(one, dtype(0)), np.nextafter(one, dtype(math.inf))]
    return np.array([sign * number for number in numbers for sign in (1, -1)], dtype)


def hard(count):
    """x and d of float64 with quotients very near a midpoint of two floats: x * 2^k = m * d + r with a
    small r, of which m has 54 bits."""
    pairs = []
    while len(pairs) < count:
        d = int(RNG.integers(2**52, 2**53)) | 1
        k, r = int(RNG.integers(53, 55)), 2 * int(RNG.integers(-4, 4)) + 1
        m = -r * pow(d, -1, 2**k) % 2**k | 2**53
        x = (m * d + r) >> k
        if 0 < x < 2**53:
            pairs.append((x, d))
    return np.array(pairs, np.float64).T


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 7, 8, 15, 16, 31, 33, 64, 100, 1000])
def test_sizes(size, dtype):
    x = RNG.standard_normal(size).astype(dtype)
    for d in (dtype(3.3), dtype(-7), dtype(2), 0.1, 5):
        check(by_number, x, d)
    check(by_one_number, x, x[::-1].copy(), np.array(-1.7, dtype))
    check(by_literals, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [2, 16, 31, 32, 33, 63, 64, 65, 200, 3000])
def test_rows(length, dtype):
    x = RNG.standard_normal((5, length)).astype(dtype)
    x[1] = 0
    x[2, ::3] = -0.0
    d = np.array([1.1, -3, 0, math.inf, 1e-30], dtype)
    check(by_rows, x, d)
    check(by_one_row_value, x, d)
    check(by_rows, np.asfortranarray(x), d)
    check(by_rows, x[:, ::2], d)
    check(across, x, dtype(1.9))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["ignore", "warn", "raise"])
def test_bounds(mode, dtype):
    """Every edge by every edge: alone in a vector of plain numbers, and among zeros."""
    numbers = edges(dtype)
    for around in (1.5, 0.0):
        rows = np.full((len(numbers), 64), around, dtype)
        rows[np.arange(len(numbers)), np.arange(len(numbers)) % 64] = numbers
        with np.errstate(all=mode):
            for d in numbers:
                check(by_number, rows if mode != "raise" else rows[3], d, captured=False)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_orders_of_magnitude(dtype):
    """Elements and divisors with random significands, of all exponents; and those of them alone whose
    quotients raise no flag."""
    info = np.finfo(dtype)
    exponents = np.linspace(info.minexp - info.nmant, info.maxexp, 140).astype(int)
    x = np.ldexp(RNG.uniform(0.5, 1, (140, 100)), exponents[:, None]).astype(dtype)
    for exponent in exponents[RNG.permutation(140)]:
        d = np.ldexp(RNG.uniform(0.5, 1), exponent).astype(dtype)
        quotients = exponents - exponent
        quiet = (
            (quotients > info.minexp) & (quotients < info.maxexp - 1) & (exponents > info.minexp)
        )
        with np.errstate(all="ignore"):
            check(by_number, x, d)
        if exponent > info.minexp and quiet.any():
            with np.errstate(all="warn"):
                check(by_number, x[quiet], d, captured=False)
                assert deopts(x[quiet], d) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_errors_are_those_of_each_vector(dtype):
    """An exception comes for the elements that raise one, also if nobody reads the quotient."""
    tiny = np.finfo(dtype).tiny
    for number, d in (
        (tiny, 3.0),
        (1.0, 0.0),
        (0.0, 0.0),
        (np.finfo(dtype).max, 0.1),
        (1e-30, 7.0),
    ):
        x = np.full(100, 1.5, dtype)
        for at in (0, 40, 99):
            x[at] = number
            for mode in ("warn", "raise"):
                with np.errstate(all=mode):
                    check(by_number, x, dtype(d), captured=False)
                    check(unread, x, dtype(d), captured=False)


@pytest.mark.slow
def test_quotients_near_midpoints():
    xs, ds = hard(4000)
    check(by_number, xs, ds[0])
    for i in range(40):
        x = np.concatenate([np.full(8, xs[i]), xs[:56]])
        check(by_number, x, ds[i])
    rows = np.repeat(xs[:, None], 64, axis=1)
    check(by_rows, rows, ds)
    check(by_rows, -rows, ds)


@pytest.mark.slow
@pytest.mark.parametrize("significand", [1, 2, 0x2AAAAB, 0x3504F3, 0x400000, 0x7FFFFE, 0x7FFFFF])
def test_all_float32(significand):
    """The significands of all dividends; those of divisors are one, two and all ulps away from 1 and
    2, and some between."""
    x = np.arange(127 << 23, 128 << 23, dtype=np.uint32).view(np.float32)
    d = np.array([(130 << 23) + significand], np.uint32).view(np.float32)
    check(by_number, x, d[0])


GRAPH = """\
%0: {dtype}[1000] = input(0)
%1: {dtype}[] = {divisor}
%2: {dtype}[1000] = divide(%0, %1)
outputs %2
"""


@pytest.mark.parametrize(
    "divisor, gains",
    [("input(1)", True), ("const(3.0)", True), ("const(0.25)", False), ("const(0.0)", False)],
)
def test_which_divisors_have_an_inverse(divisor, gains):
    for dtype in ("f32", "f64"):
        graph = GRAPH.format(dtype=dtype, divisor=divisor)
        assert ("quotient" in _C.lower_graph(graph, [], False, 64)[1]) == gains
        assert "quotient" not in _C.lower_graph(graph, [], False, 32)[1]
