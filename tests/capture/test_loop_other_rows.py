"""Rows of ints and complex numbers in kept loops: ints wrap round, as arrays do and numbers do not."""

import numpy as np
import pytest

import pycompile
from tests.differential import check

RNG = np.random.default_rng(8)
FEW = {"options": {"unroll": 64}}  # so that a loop which is not kept is none


def rows(dtype, n=40, wide=False):
    info = np.iinfo(dtype)
    low, high = (info.min, info.max) if wide else (0, 12)
    return [RNG.integers(low, high, (n, 9), dtype, endpoint=True) for _ in range(3)]


def added(out, a, b):
    for i in range(len(a)):
        out[i] = a[i] + b[i]
    return out


def combined(out, a, b):
    for i in range(1, len(a)):
        out[i] = a[i - 1] - 2 * b[i] * a[i]
    return out


def in_place(out, a, b):
    for i in range(len(a)):
        out[i] += a[i] * b[i]
        out[i] -= 3
        out[i] *= b[i]
    return out


def recurrence(out, a, b):
    for i in range(1, len(a)):
        out[i] = out[i - 1] * 5 + a[i]
    return out


def slices(out, a, b):
    for i in range(1, a.shape[1]):
        out[i, i:] -= out[i - 1, i:] * b[i, 0]
        out[i, :i] = -a[i, :i]
    return out


def squares(out, a, b):
    for i in range(len(a)):
        out[i] = a[i] ** 2 - np.square(b[i])
    return out


def bits(out, a, b):
    for i in range(len(a)):
        out[i] = (a[i] & b[i]) | (a[i] ^ 5)
        out[i] &= 127
    return out


def extremes(out, a, b):
    for i in range(len(a)):
        out[i] = np.maximum(a[i], b[i]) - np.minimum(a[i], 3)
    return out


def functions(out, a, b):
    for i in range(len(a)):
        out[i] = np.add(np.multiply(a[i], b[i]), np.subtract(a[i], np.negative(b[i])))
    return out


def chosen(out, a, b):
    for i in range(len(a)):
        out[i] = np.where(a[i] > b[i], a[i] * 3, b[i] + 1)
    return out


def sums(out, a, b):
    total = 0
    for i in range(len(a)):
        total += int((a[i] * b[i]).sum())
        out[i, 0] = 1
    return out, total


def backwards(out, a, b):
    for i in range(len(a)):
        out[i, 1:] = out[i, :-1] + a[i, 1:]
        out[i, ::-1] = out[i, ::-1] + b[i]
    return out


def under_a_condition(out, a, b):
    for i in range(len(a)):
        if a[i, 0] > b[i, 0]:
            out[i] = a[i] + 1
        else:
            out[i] -= a[i]
    return out


FUNCTIONS = [added, combined, in_place, recurrence, slices, squares, bits, extremes, functions, chosen,
             sums, backwards, under_a_condition]  # fmt: skip
KEPT = [added, combined, in_place, recurrence, slices, squares, bits, extremes, functions]


@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_plain(function, dtype):
    check(function, *rows(dtype), also=(tuple(rows(dtype, wide=True)),), options=FEW)


@pytest.mark.parametrize("dtype", ["i8", "i4", "u1"])
@pytest.mark.parametrize("function", KEPT)
def test_loops_stay_loops(function, dtype):
    check(function, *rows(dtype), whole=True, also=(tuple(rows(dtype, wide=True)),), options=FEW)


@pytest.mark.parametrize("function", [added, combined, recurrence, functions])
def test_overflow_is_no_exit(function):
    pycompile.reset()
    compiled = pycompile.compile(function, **FEW)
    for _ in range(2):
        given = rows("i4", wide=True)
        np.testing.assert_array_equal(
            compiled(given[0].copy(), *given[1:]), function(given[0].copy(), *given[1:])
        )
    assert compiled.stats()["plan_runs"] == 2 and compiled.stats()["deopts"] == 0


@pytest.mark.parametrize(
    "dtypes",
    [("i8", "i4", "i8"), ("i4", "i8", "i4"), ("f8", "i4", "i8"), ("f8", "i8", "u8"), ("u1", "i1", "u1"),
     ("i8", "?", "i8"), ("i2", "u1", "i1"), ("f4", "i2", "i2"), ("i8", "f8", "i4"), ("c16", "i8", "i4")],
)  # fmt: skip
@pytest.mark.parametrize("function", FUNCTIONS)
def test_mixed_dtypes(function, dtypes):
    given = [RNG.integers(0, 2 if t == "?" else 100, (20, 9)).astype(t) for t in dtypes]
    with np.errstate(all="ignore"):
        check(function, *given, captured=False, options=FEW)


def divided(out, a, b):
    for i in range(len(a)):
        out[i] = a[i] / b[i] + a[i] / 4
    return out


def test_quotients_are_floats():
    a, b, _ = rows("i4")
    out = np.zeros(a.shape)
    check(divided, out, a, b + 1, whole=True, options=FEW)
    check(divided, out, a, b, captured=False, options=FEW)


def too_large(out, a, b):
    for i in range(len(a)):
        out[i] = a[i] * 300
    return out


def negative(out, a, b):
    for i in range(len(a)):
        out[i] = a[i] + -1
    return out


@pytest.mark.parametrize("function", [too_large, negative])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u8", "i8"])
def test_numbers_that_do_not_fit(function, dtype):
    check(function, *rows(dtype), captured=False, options=FEW)


def masks(out, a, b):
    for i in range(1, len(a)):
        out[i] &= a[i] | b[i]
        out[i] ^= out[i - 1]
        out[i] |= a[i] & b[i]
    return out


def test_rows_of_bools():
    given = [RNG.random((40, 9)) > 0.5 for _ in range(3)]
    check(masks, *given, whole=True, options=FEW)
    check(masks, *rows("i2", wide=True), whole=True, options=FEW)
    check(added, *given, captured=False, options=FEW)
    check(in_place, *given, captured=False, options=FEW)


def sums_of_complex(out, a, b):
    for i in range(1, len(a)):
        out[i] = a[i] - b[i] + a[i - 1]
        out[i] += b[i]
        out[i, 1:] -= 2
    return out


def products_of_complex(out, a, b):
    for i in range(len(a)):
        out[i] = a[i] * b[i] + 1j
        out[i] *= a[i]
    return out


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["c16", "c8"])
def test_rows_of_complex_numbers(dtype):
    given = [
        (RNG.standard_normal((40, 9)) + 1j * RNG.standard_normal((40, 9))).astype(dtype)
        for _ in range(3)
    ]
    given[1][3, :5] = [complex("nan"), complex(-0.0, 0.0), complex("inf"), complex(1, -0.0), -1e30]
    given[2][3, :3] = [complex(0.0, -0.0), complex(-0.0, -0.0), complex("-infj")]
    with np.errstate(all="ignore"):
        check(sums_of_complex, *given, whole=dtype == "c16", options=FEW)
        check(products_of_complex, *given, captured=False, options=FEW)
        check(
            sums_of_complex, given[0], given[1].real.copy(), given[2], captured=False, options=FEW
        )
