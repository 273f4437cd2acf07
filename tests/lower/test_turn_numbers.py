"""Numbers of many elements in turns of repeats: medians, extremes, running sums (arrays/bare_number.c)."""

import numpy as np
import pytest
from differential import check

RNG = np.random.default_rng(5)
LOOPS = {"options": {"unroll": 24, "plan_always": True}}


def is_one_plan(function, *args, also=()):
    check(function, *args, also=also, whole=True, exits=["return"], options=LOOPS)


def like(function, *args, also=()):
    check(function, *args, also=also, captured=False, options=LOOPS)


# ---- medians ----


def row_medians(x, out):
    for i in range(len(x)):
        out[i] = np.median(x[i])
    return out


def window_medians(x, half, out):
    for i in range(half, len(x) - half):
        middle = np.median(x[i - half : i + half])
        out[i] = middle + np.median(x[i - half : i + half + 1])
    return out


def medians_of_blocks(x, out):
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            out[i, j] = np.median(x[i - 1 : i + 2, j - 1 : j + 2])
    return out


ROWS = {
    "order": np.tile(np.arange(50.0), (40, 1)),
    "backwards": np.tile(np.arange(50.0)[::-1], (40, 1)),
    "peak": np.tile(np.concatenate([np.arange(25.0), np.arange(25.0)[::-1]]), (40, 1)),
    "equal": np.full((40, 33), 2.5),
    "few values": RNG.integers(0, 3, (40, 64)).astype(float),
    "many": RNG.standard_normal((40, 301)),
    "infinite": np.where(RNG.random((40, 9)) < 0.4, np.inf, -np.inf),
    "zeros": np.zeros((40, 8)),
    "one": RNG.random((40, 1)),
    "two": RNG.random((40, 2)),
}


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", ROWS)
def test_medians_of_rows(name, dtype):
    x = ROWS[name].astype(dtype)
    out = np.zeros(40, dtype)
    is_one_plan(row_medians, x, out)
    like(row_medians, x[:, ::-2], out, also=((x[:, ::-2] * 3, out),))


@pytest.mark.parametrize(
    "odd",
    [
        [-0.0, -0.0, -0.0, 1.0],
        [-0.0, 0.0, 0.0, -0.0],
        [0.0, -0.0, -1.0, 1.0],
        [np.nan, 1.0, 2.0, 3.0],
        [np.nan, -np.nan, 2.0, 3.0],
        [np.inf, -np.inf, np.inf, -np.inf],
        [1.7e308, 1.7e308, 1.7e308, 1.0],
        [5e-324, 5e-324, 0.0, 1.0],
        [5e-324, 1e-323, 1.0, -1.0],
        [3e-308, 2.5e-308, 1.0, -1.0],
    ],
)
def test_medians_of_odd_numbers(odd):
    x = RNG.standard_normal((40, 4))
    x[30] = odd
    out = np.zeros(40)
    like(row_medians, x, out)
    like(row_medians, x[:, :3].copy(), out)
    like(row_medians, RNG.standard_normal((40, 4)), out, also=((x, out),))


def test_medians_of_windows():
    x, out = RNG.standard_normal(60), np.zeros(60)
    for half in (1, 4, 11):
        like(window_medians, x, half, out)
    x[22] = np.nan
    like(window_medians, x, 4, out)
    like(window_medians, x, 4, out[:20], also=((x[::-1], 3, out),))  # IndexError
    like(window_medians, x, 0, out)  # of nothing


def test_medians_of_blocks():
    x, out = RNG.standard_normal((30, 30)), np.zeros((30, 30))
    is_one_plan(medians_of_blocks, x, out)
    like(medians_of_blocks, np.asfortranarray(x), out, also=((x[::-1, ::-1], out),))


def medians_of_whole_numbers(x, out):
    for i in range(len(x)):
        out[i] = np.median(x[i]) + np.median(x[i], axis=0)
    return out


def test_medians_of_others():
    x = RNG.integers(0, 9, (40, 5))
    for dtype in ("i8", "?", "f2", "c16"):
        like(medians_of_whole_numbers, x.astype(dtype), np.zeros(40, "c16"))


# ---- extremes ----


def extremes_of_blocks(x, size, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            block = x[i * size : (i + 1) * size, j * size : (j + 1) * size]
            out[i, j] = block.max() - 2 * block.min()
    return out


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
def test_extremes_of_blocks(dtype):
    x, out = (90 * RNG.random((40, 40))).astype(dtype), np.zeros((10, 10), dtype)
    is_one_plan(extremes_of_blocks, x, 4, out)
    like(extremes_of_blocks, x.T, 4, out, also=((x[::-1], 4, out), (x, 3, out)))
    like(extremes_of_blocks, x[:35], 4, out)  # of nothing


@pytest.mark.parametrize("odd", [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf])
def test_extremes_of_odd_numbers(odd):
    x = -RNG.random((40, 40))
    x[20:28, 20:28:3] = odd
    x[21, 23] = -odd
    like(extremes_of_blocks, x, 4, np.zeros((10, 10)))
    like(extremes_of_blocks, -x, 4, np.zeros((10, 10)))


def largest_of_rows(x, out):
    for i in range(len(out)):
        out[i] = x[i : i + 4, :2].max()
    return out


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_the_sign_of_one_nan(dtype):
    x = RNG.random((34, 8)).astype(dtype)
    x[1, 0], x[20, 1] = -np.nan, np.nan
    like(largest_of_rows, x, np.zeros(30, dtype))


# ---- running sums ----


def last_sums(x, order, out):
    for i in range(len(x)):
        sums = np.cumsum(x[i][order])
        out[i] = sums[-1] + sums[0] + np.cumsum(x[i])[2]
    return out


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u8", "i4"])
def test_running_sums(dtype):
    x, order = (90 * RNG.random((40, 9))).astype(dtype), RNG.permutation(9)[:6]
    out = np.zeros(40, dtype)
    is_one_plan(last_sums, x, order, out)
    like(last_sums, x[:, ::-1], order, out, also=((x[:, ::2], order % 5, out),))
    large = x.copy()
    large[25] = np.finfo(dtype).max if x.dtype.kind == "f" else np.iinfo(dtype).max
    like(last_sums, large, order, out, also=((x, order, out), (large, order, out)))
