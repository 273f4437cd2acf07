"""Short rows, which are done side by side: each row's bits are NumPy's, however many there are."""

import numpy as np
import pytest
from differential import check

from pycompile import _C

RNG = np.random.default_rng(12)


def distances(a, b):
    d = a[:, None, :] - b[None, :, :]
    return np.sqrt((d * d).sum(axis=-1))


def sums(x):
    return x.sum(axis=-1), (x * x).sum(axis=-1), x.mean(axis=-1, keepdims=True)


def extremes(x):
    return x.max(axis=-1), (x + 1).min(axis=-1), np.abs(x).max(axis=-1, keepdims=True)


def normalised(x, gain, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + bias


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def statistics(x):
    return x.var(axis=-1), x.std(axis=-1), np.sqrt(np.abs(x).sum(axis=-1))


def logic(x):
    return (
        (x > 0).any(axis=-1),
        (x > 0).all(axis=-1),
        ((x > 0) & (x < 1)).any(axis=-1),
        x.any(axis=-1),
        np.where((x > 1).any(axis=-1, keepdims=True), x, -x),
    )


def integers(x):
    return (
        x.sum(axis=-1),
        x.max(axis=-1),
        x.min(axis=-1),
        (x * 3).prod(axis=-1),
        (x == 3).sum(axis=-1),
    )


def mixed(x, y):
    """Lanes of several widths in one row."""
    z = x.astype(np.float64) * y
    return z.sum(axis=-1), np.where(z > x, x, y).max(axis=-1), (z > 0).sum(axis=-1)


def weighted(x):
    return (x * np.arange(x.shape[-1])).sum(axis=-1)


def numbers(shape, dtype, seed=1):
    random = np.random.default_rng(seed)
    return (random.standard_normal(shape) * 10.0 ** random.integers(-3, 4, shape)).astype(dtype)


LENGTHS = [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [sums, extremes, statistics, logic, softmax])
def test_lengths(function, dtype):
    arrays = [(numbers((77, length), dtype, length),) for length in LENGTHS]
    for at in range(0, len(arrays), 4):
        check(function, *arrays[at], also=tuple(arrays[at + 1 : at + 4]), whole=True)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [31, 32, 33, 35, 40, 63, 64, 65, 1001])
def test_numbers_of_rows(rows):
    for dtype in (np.float32, np.float64):
        check(distances, numbers((rows, 3), dtype), numbers((rows + 1, 3), dtype, 2), whole=True)
        x = numbers((rows, 5), dtype)
        check(normalised, x, x[0].copy(), x[1].copy(), whole=True)
        check(extremes, x, whole=True)


@pytest.mark.slow
def test_many_rows_over_threads():
    for dtype in (np.float32, np.float64):
        x = numbers((60001, 3), dtype)
        for function in (sums, extremes, logic, statistics):
            check(function, x, whole=True)
        check(distances, x[:700], x[700:1400], whole=True)
        check(normalised, x, x[0].copy(), x[1].copy(), whole=True)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64])
def test_integers(dtype):
    random = np.random.default_rng(3)
    for length in (3, 8, 11):
        check(integers, random.integers(0, 9, (101, length)).astype(dtype))


@pytest.mark.slow
def test_mixed_widths():
    for length in (3, 8, 13):
        x = numbers((101, length), np.float32)
        check(mixed, x, numbers((101, length), np.float64, 2), whole=True)
        check(weighted, x, whole=True)
    check(logic, numbers((101, 5), np.float32) > 0)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex(dtype):
    x = numbers((50, 3), np.float64)
    check(sums, (x + 1j * x[::-1]).astype(dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_nans_and_infinities(dtype):
    random = np.random.default_rng(4)
    for length in (3, 8, 13):
        x = np.where(random.random((200, length)) < 0.5, 0.0, -0.0).astype(dtype)
        x[50:100] = -np.abs(numbers((50, length), dtype))
        x[60:90, 1] = random.choice([0.0, -0.0], 30)
        x[100:120, 0] = random.choice([np.nan, -np.nan, np.inf, -np.inf], 20)
        x[120:140] = numbers((20, length), dtype)
        x[130:135, 2] = random.choice([np.nan, -np.nan], 5)
        for array in (x, x[:, ::-1].copy(), -x):
            check(extremes, array, whole=True)
            check(sums, array, whole=True)
            check(logic, array, whole=True)


def test_overflow_of_one_row():
    x = numbers((100, 3), np.float64)
    x[57] = 1.7e308
    check(sums, x)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layouts(dtype):
    x = numbers((90, 10), dtype)
    cube = numbers((40, 41, 3), dtype)
    views = [
        x[:, :3],
        x[:, ::3],
        x[::2, 1:4],
        x.T[:, :7].T,
        np.asfortranarray(x),
        x[::-1, :3],
        x[:, 5::-1],
    ]
    views += [cube, cube.transpose(1, 0, 2), cube[::2], cube[:, ::2], cube[:, :, :2]]
    for view in views:
        check(sums, view)
        check(extremes, view)
        check(statistics, view)
    check(distances, x[:, :3], x[::2, 4:7])
    check(normalised, x[:, :5], x[0, ::2], x[1, 1::2])


# ---- sums of whole vectors: eight rows together ----


def two_sums(a, b):
    return (a * b).sum(axis=-1) * 2.0, (a - b).mean(axis=-1)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("length", [8, 16, 24, 32, 40])
def test_sums_of_eight_rows(length, dtype):
    """Bits of NumPy's order, in every lane, with what is left over row by row."""
    for rows in (40, 45, 64, 71):
        a = RNG.standard_normal((rows, length)).astype(dtype)
        b = RNG.standard_normal((rows, length)).astype(dtype)
        a[3], a[5, 2], a[6, 1], a[7] = -0.0, np.inf, np.nan, 1e-30
        check(distances, a, b[:37])
        check(distances, b[:37], a)
        check(two_sums, a, b)
        check(two_sums, a, b[0])
        check(two_sums, a[::2], b[::2])
        wide = RNG.standard_normal((rows, length + 3)).astype(dtype)
        check(two_sums, wide[:, :length], wide[:, 3:])
        check(two_sums, a, np.zeros_like(a))


def test_eight_rows_are_told():
    text = """%0: f32[100,16] = input(0)
%1: f32[100,16] = multiply(%0, %0)
%2: f32[100] = sum(%1, axes=[1])
outputs %2
"""
    schedule, code = _C.lower_graph(text, [], True, 64)
    assert "eight rows together" in schedule and "sum8_f32x8(" in code


def means_into(x, out, axis):
    return np.mean(x, axis=axis, out=out)


def variances_into(x, out, axis):
    return np.var(x, axis=axis, out=out), x.std(axis=axis)


def sums_into(x, out, axis):
    return (x * x).sum(axis=axis, out=out)


@pytest.mark.parametrize("function", [means_into, variances_into, sums_into])
@pytest.mark.parametrize("shape", [(40, 7), (300, 17), (3, 70), (5000, 9)])
@pytest.mark.parametrize("dtypes", ["f4 f8", "f4 c16", "f8 f4", "i4 f4", "u1 f2"])
def test_into_another_dtype(function, shape, dtypes):
    """The kernel has results that are not stored, but looked at for the flags that they raise."""
    given, taken = dtypes.split()
    x = (RNG.standard_normal(shape) * 50).astype(given)
    for axis in (0, 1):
        out = np.zeros(np.delete(shape, axis), taken)
        big = x.copy()
        big.flat[::5] = np.finfo(given).max if x.dtype.kind == "f" else np.iinfo(given).max
        check(function, x, out, axis, also=((big, out.copy(), axis),), captured=False)
