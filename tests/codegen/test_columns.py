"""Reductions across rows: rows are added four at a time, so their number counts, and its rest."""

import numpy as np
import pytest
from differential import check


def columns(x):
    return x.sum(axis=0), x.max(axis=0), (x * 2).min(axis=0), np.abs(x).sum(axis=0)


def logic(x):
    return (x > 0).all(axis=0), (x > 0).any(axis=0)


def middle(x):
    return (x + 1).sum(axis=1), x.max(axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int64])
def test_every_number_of_rows(dtype):
    random = np.random.default_rng(5)
    arrays = [
        (random.standard_normal((rows, 13)) * 50).astype(dtype)
        for rows in (1, 2, 3, 4, 5, 7, 8, 9, 33)
    ]
    check(columns, arrays[0], also=tuple((x,) for x in arrays[1:7]), whole=True)
    check(columns, arrays[7], also=((arrays[8],),), whole=True)
    check(logic, arrays[4], also=((arrays[8],),), whole=True)


@pytest.mark.parametrize("shape", [(3, 5, 7), (1, 4, 1), (2, 9, 40), (2, 1, 3)])
def test_columns_of_each_block(shape):
    check(middle, np.random.default_rng(6).standard_normal(shape), whole=True)


def windows(x, w, k):
    """Columns over several loops: x's part is not one run of memory."""
    part = x[:, 1:-1, None]
    kept = part * w
    sums = kept.sum(axis=(0, 1)), (w - x[:, 2:, None]).sum(axis=(0, 1)), (w * k).max(axis=(0, 1))
    return kept, *sums, (x[:, :-2, None] + k[None]).sum(axis=(0, 1))


def kept_outside(x, w):
    return (x[:, :, :-1, None] * w).sum(axis=(1, 2)), np.exp(x[:, :, 1:, None] + w).sum(axis=(1, 2))


def two_layouts(x, w):
    y, z = x[:, 1:, None] * w, x.T[1:, :, None] * w.transpose(1, 0, 2)
    return y.sum(axis=(0, 1)), z.transpose(1, 0, 2).sum(axis=(0, 1)), z.sum(axis=(0, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_several_loops_of_rows(dtype):
    def of(*shape):
        return np.random.default_rng(9).standard_normal(shape).astype(dtype)

    more = ((of(9, 6), of(9, 4, 3), of(4, 3)), (of(1, 11), of(1, 9, 20), of(9, 20)))
    check(windows, of(5, 8), of(5, 6, 16), of(6, 16), also=more, whole=True)
    check(kept_outside, of(2, 3, 7), of(2, 3, 6, 5), whole=True)
    check(two_layouts, of(4, 8), of(4, 7, 6), whole=True)


def test_zeros_of_both_signs_and_nans():
    x = np.where(np.random.default_rng(8).random((6, 40)) < 0.5, 0.0, -0.0)
    x[2, ::5], x[4, ::7] = np.nan, np.inf
    x[5, ::11] = -1.0
    check(columns, x, also=((x[:, ::-1].copy(),), (x[::-1].copy(),)), whole=True)


@pytest.mark.parametrize("shape", [(64, 5000), (5000, 64)])
def test_over_threads(shape):
    check(columns, np.random.default_rng(7).standard_normal(shape).astype(np.float32), whole=True)
