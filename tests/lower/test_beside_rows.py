"""What is of a row's length, or of the number of rows, beside a reduction of the rows."""

import numpy as np
import pytest
from differential import check

SHAPES = [(32, 4), (5, 40), (1, 7), (7, 1), (6, 6)]


def per_row(x):
    return x / x.sum(1, keepdims=True), np.arange(len(x)), np.arange(len(x)) * 2.0


def per_column(x):
    return x - x.max(1, keepdims=True), np.arange(x.shape[1]), np.arange(x.shape[1]) + x


def joined(x):
    total = x.sum(1)
    return total, total + np.arange(len(x)), total * np.full(len(x), 2.0)


def of_columns(x):
    total = x.sum(0)
    return total, total * np.arange(x.shape[1]), np.arange(len(x))


def cross_entropy(h, y):
    p = h / h.sum(1, keepdims=True)
    loss = np.log(p[np.arange(len(y)), y]).mean()
    d = p.copy()
    d[np.arange(len(y)), y] -= 1
    return loss, d


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", [per_row, per_column, joined, of_columns])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_ranges(function, shape, dtype):
    check(function, (np.arange(1, 1 + shape[0] * shape[1]) % 11 + 1).reshape(shape).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_range_as_index(dtype):
    h = (np.arange(128) % 11 + 1).reshape(32, 4).astype(dtype)
    check(cross_entropy, h, np.arange(32) % 4)


def one_element(x):
    return np.arange(len(x)), np.arange(len(x), dtype=np.float32) + x, np.arange(-0.0, 1.0)


@pytest.mark.parametrize("n", [1, 2])
def test_ranges_of_one_element(n):
    check(one_element, np.arange(n) + 1.5)
