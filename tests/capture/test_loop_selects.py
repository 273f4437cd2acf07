"""What masks and rows of ints select in loops: np.where, x[cols[a:b]], a[i][a[i] > 2] = 0."""

import numpy as np
import pytest

from pycompile import _C
from tests.differential import check, check_whole
from tests.reports import keeps_loop, turns_in_place

RNG = np.random.default_rng(47)
A, B = RNG.standard_normal((2, 12, 9))
X = RNG.standard_normal(30)
POINTERS = np.array([0, 3, 3, 8, 15, 15, 24, 40])
COLUMNS = RNG.integers(0, 30, 40)
VALUES = RNG.standard_normal(40)


def sparse_rows(values, columns, pointers, x, y):
    for i in range(len(pointers) - 1):
        a, b = pointers[i], pointers[i + 1]
        y[i] = (values[a:b] * x[columns[a:b]]).sum()
    return y


def gathered(a, columns, x, out):
    for i in range(a.shape[0]):
        row = columns[i : i + 9]
        out[i] = x[row] * a[i] + x[columns[i]]
        a[i] = x[columns[i : i + 9]]
    return out


def permuted(a, order, out):
    for i in range(a.shape[0]):
        out[i] = a[i][order] - a[i]
    return out


def in_place(a, order):
    for i in range(a.shape[0]):
        a[i] = a[i][order]
    return a


def written_before(a, columns, x):
    for i in range(a.shape[0]):
        row = x[columns[i : i + 9]]
        x[i] = 7.0
        a[i] = row
    return a


def chosen(a, b, out):
    for i in range(a.shape[0]):
        out[i] = np.where(a[i] > b[i], a[i], b[i] * 2.0)
        out[i, 1:] += np.where(a[i, 1:] >= a[i, :-1], 1.0, -0.0)
    return out


def rectified(a, out):
    for i in range(a.shape[0]):
        out[i] = np.where(a[i] > 0, a[i], 0).sum() + (a[i] == a[i].max()).sum()
    return out


def masked(a, b, y):
    for i in range(a.shape[0]):
        row = a[i]
        row[row > 0.5] = 0.25
        b[i][(row > -1.0) & (row < 0.0) | (b[i] > 1.0)] = y[i]
        y[i] = ((row != 0.25) ^ (b[i] < 0)).sum()
    return a


def by_array(a, mask):
    for i in range(a.shape[0]):
        a[i][mask] = i
    return a


@pytest.mark.slow
def test_rows_of_ints_gather():
    for columns in (COLUMNS, COLUMNS - 30):
        check_whole(sparse_rows, VALUES, columns, POINTERS, X, np.zeros(7))
        check_whole(gathered, A.copy(), columns, X, np.zeros_like(A))
    assert keeps_loop(sparse_rows, VALUES, COLUMNS, POINTERS, X, np.zeros(7))
    check_whole(permuted, A, RNG.permutation(9), np.zeros_like(A))
    for dtype in ("i4", "u2"):
        check_whole(sparse_rows, VALUES, COLUMNS.astype(dtype), POINTERS, X, np.zeros(7))
    check_whole(sparse_rows, VALUES.astype("f4"), COLUMNS, POINTERS, X.astype("f4"), np.zeros(7))


def test_indices_out_of_bounds_raise_at_their_line():
    columns = COLUMNS.copy()
    columns[20] = 30
    check(sparse_rows, VALUES, columns, POINTERS, X, np.zeros(7), whole=False)
    check(gathered, A.copy(), columns, X, np.zeros_like(A), whole=False)


def test_what_is_gathered_is_as_it_was():
    check(in_place, A.copy(), RNG.permutation(9), captured=False)
    check(written_before, A.copy(), COLUMNS, X.copy(), captured=False)


@pytest.mark.slow
def test_choices():
    for dtype in ("f8", "f4"):
        a, b = A.astype(dtype), B.astype(dtype)
        check_whole(chosen, a, b, np.zeros_like(a))
        check_whole(rectified, a, np.zeros(12))
        check_whole(masked, a.copy(), b.copy(), np.zeros(12, dtype))
    assert turns_in_place(chosen, A, B, np.zeros_like(A))
    assert turns_in_place(masked, A.copy(), B.copy(), np.zeros(12))
    odd = A.copy()
    odd[2, 3], odd[4, 4], odd[5, 5] = np.nan, -0.0, np.inf
    check_whole(chosen, odd, odd[::-1].copy(), np.zeros_like(A))
    check(rectified, odd, np.zeros(12), captured=False)
    check(by_array, A.copy(), A[0] > 0, captured=False)


@pytest.mark.parametrize("variants", [1, 2])
def test_each_variant_of_the_loop(variants):
    _C.test_variants(variants)
    try:
        check_whole(sparse_rows, VALUES, COLUMNS - 9, POINTERS, X, np.zeros(7))
        check_whole(chosen, A, B, np.zeros_like(A))
        check_whole(masked, A.copy(), B.copy(), np.zeros(12))
    finally:
        _C.test_variants(0)


def gathered_from_a_part(y, b, h, n):
    for k in range(1, n):
        y[k] = b[-k][h[k:2]].sum() + b[2][h[k:2]].sum() - b[-3][h[k:2]].sum()


def gathered_by_another_row(y, b, h, n):
    for k in range(n):
        y[k] = (b[k - 9][h[k:2]] * b[0][h[k:2]]).sum()


@pytest.mark.slow
def test_the_index_of_a_row_from_which_nothing_is_gathered():
    """It is checked although no element is loaded."""
    b, h = np.arange(35.0).reshape(7, 5), np.arange(9) % 3
    for n in (6, 8, 15):
        for f in (gathered_from_a_part, gathered_by_another_row):
            check(f, np.arange(20.0), b, h, n)
