"""Outer loops of which some iterations are done together: csrc/lower/region_lanes.c."""

import re

import numpy as np
import pytest

from tests.codegen.test_carried_ints import kernel_text
from tests.differential import check

RNG = np.random.default_rng(11)


def grid(*shape):
    return RNG.standard_normal(shape)


def row_sums(a, out):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        out[i] = s


def backwards(a, out):
    for i in range(len(out) - 1, -1, -1):
        s = 1.0
        for j in range(a.shape[1] - 1, -1, -1):
            s = s * 0.5 + a[i, j]
        out[i] = s


def columns(a, out):
    for j in range(1, a.shape[1]):
        s = 0.0
        for i in range(1, a.shape[0]):
            s += a[i, j] * a[i - 1, 0]
        for i in range(a.shape[0]):
            a[i, j] -= s
        out[0] = 1.0


def column_norms(a, out):
    for j in range(1, a.shape[1]):
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i, j] * a[i, 0]
        for i in range(a.shape[0]):
            a[i, j] -= s


def cholesky(a, out):
    for j in range(a.shape[0]):
        s = a[j, j]
        for k in range(j):
            s -= a[j, k] * a[j, k]
        a[j, j] = s
        for i in range(j + 1, a.shape[0]):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s * a[j, j]


def nearest(a, out):
    for i in range(a.shape[0]):
        best = 1e300
        for k in range(a.shape[1]):
            d = 0.0
            for c in range(a.shape[1]):
                d += (a[i, c] - k) * (a[i, c] - k)
            if d < best:
                best = d
                out[i] = k


def windows(a, out):
    for i in range(a.shape[0] - 2):
        for j in range(a.shape[1] - 2):
            s = 0.0
            for p in range(3):
                for q in range(3):
                    s += a[i + p, j + q]
            out[i] = out[i] + s


def with_a_reset(a, out):
    for i in range(a.shape[0]):
        s = 0.0
        n = 0
        for j in range(a.shape[1]):
            if a[i, j] < 0.0:
                s = 0.0
                n += 1
            else:
                s += a[i, j]
        if n > 2:
            out[i] = s
        else:
            out[i] += n


TOGETHER = [row_sums, backwards, column_norms, cholesky, nearest, with_a_reset]


@pytest.mark.parametrize("function", [*TOGETHER, columns, windows])
def test_any_number_of_rows(function):
    """Fewer than are done together, as many, and what is left over; any layout."""
    also = [(grid(n, m), np.zeros(n)) for n in (0, 1, 2, 7, 8, 9, 17, 23) for m in (1, 3, 8)]
    also += [(grid(12, 12).T, np.ones(12)), (grid(22, 20)[::2, ::2], np.ones(22)[::2])]
    also += [(np.full((9, 9), np.inf), np.ones(9)), (np.full((9, 9), 1e200), np.ones(9))]
    check(function, grid(12, 12), np.zeros(12), also=also, captured=False)


def is_together(function):
    text = kernel_text(function, grid(9, 9) * 0.1, np.zeros(9))
    return re.search(r"t\d \+ [48] <= count", text) is not None


@pytest.mark.parametrize("function", TOGETHER)
def test_which_are_done_together(function):
    assert is_together(function)


# ---- iterations that meet ----


def reads_what_is_written(a, out):
    for i in range(1, a.shape[0]):
        s = out[i - 1]
        for j in range(a.shape[1]):
            s += a[i, j]
        out[i] = s


def writes_what_was_read(a, out):
    for i in range(a.shape[0] - 1):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i + 1, j]
        a[i, 0] = s


def one_element(a, out):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        out[0] = s + out[0] * 0.5


def row_of_another(a, out):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[j, 0]
        a[i, 0] = s


def neighbours_in_the_loop(a, out):
    for _ in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1] - 1):
            s += a[0, j + 1]
            a[0, j] = s


def other_ranges(a, out):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(i):
            s += a[i, j]
        out[i] = s


def left_early(a, out):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
            if s > 1.0:
                break
        out[i] = s


@pytest.mark.parametrize(
    "function",
    [
        reads_what_is_written,
        writes_what_was_read,
        one_element,
        row_of_another,
        neighbours_in_the_loop,
        other_ranges,
        left_early,
    ],
)
def test_iterations_that_meet(function):
    also = [(grid(n, n), np.zeros(n)) for n in (1, 2, 8, 9, 19)]
    check(function, grid(12, 12), np.zeros(12), also=also, captured=False)
    assert not is_together(function)


# ---- errors ----


def looked_up(a, at, out):
    for i in range(len(at)):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[at[i], j]
        out[i] = s


def divided(a, by, out):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        out[i] = s / by[i]


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [0, 3, 7, 8, 9, 15, 16])
def test_an_error_in_one_of_them(wrong):
    """What comes before it is written, and nothing behind it."""
    at, by = RNG.integers(0, 17, 17), np.ones(17)
    check(looked_up, grid(17, 5), at.copy(), np.zeros(17), captured=False)
    at[wrong], by[wrong] = 17, 0
    check(looked_up, grid(17, 5), at, np.zeros(17), captured=False)
    at[wrong] = -2
    check(looked_up, grid(17, 5), at, np.zeros(17), captured=False)
    check(divided, grid(17, 5), by, np.zeros(17), captured=False)
    with np.errstate(all="raise"):
        check(divided, grid(17, 5), by, np.zeros(17), captured=False)


@pytest.mark.slow
def test_rows_that_share_memory():
    shared = lambda: np.lib.stride_tricks.as_strided(grid(40), (12, 6), (16, 8))
    for function in (cholesky, column_norms, row_sums):
        also = [(shared(), np.zeros(12)), (np.broadcast_to(grid(6), (12, 6)), np.zeros(12))]
        if function is not row_sums:
            also.pop()
        check(function, grid(6, 6), np.zeros(12), also=also, captured=False)
