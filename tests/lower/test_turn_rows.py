"""What arrays of integers and masks select in turns of repeats: without array objects (lower/bare.c)."""

import numpy as np
import pytest
from differential import check

RNG = np.random.default_rng(5)
LOOPS = {"options": {"unroll": 24, "plan_always": True}}


def is_one_plan(function, *args, also=()):
    check(function, *args, also=also, whole=True, exits=["return"], options=LOOPS)


def like(function, *args, also=()):
    check(function, *args, also=also, captured=False, options=LOOPS)


# ---- rows by integers ----


def shuffled(x, order, out):
    for k in range(len(order)):
        out += x[order[k]]
    return out


@pytest.mark.parametrize("shape", [(7,), (7, 3), (7, 2, 3)])
def test_rows_by_integers(shape):
    x, out = RNG.standard_normal(shape), np.zeros((4, *shape[1:]))
    order = RNG.integers(-7, 7, (30, 4))
    late, low = order.copy(), order.copy()
    late[20, 3], low[20, 0] = 7, -8
    is_one_plan(shuffled, x, order, out)
    for changed in (late, low, order[:0], order[:1]):
        like(shuffled, x, order, out, also=((x, changed, out),))
    for other in (x[::-1], np.repeat(x, 2, axis=0)[::2], np.asfortranarray(x), x.astype("f4")):
        like(shuffled, other, order, out)
        like(shuffled, x, order, out, also=((other, order, out),))
    like(shuffled, x, order, x[:4].copy(), also=((x, order, x[:4]),))  # it writes what it reads
    x.flat[3] = np.nan
    is_one_plan(shuffled, x, order, out)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f8", "?"])
def test_integers_of_other_classes(dtype):
    x, order = RNG.standard_normal(7), RNG.integers(0, 2, (30, 7)).astype(dtype)
    like(shuffled, x, order, np.zeros(7))


@pytest.mark.parametrize("dtype", ["i1", "?", "f4", "c16", "u4"])
def test_rows_of_other_classes(dtype):
    x, order = RNG.integers(0, 2, (7, 3)).astype(dtype), RNG.integers(0, 7, (30, 4))
    like(shuffled, x, order, np.zeros((4, 3), "c16"))


def test_rows_without_elements():
    order = RNG.integers(0, 7, (30, 4))
    for shape in ((7, 0), (0, 3)):
        like(shuffled, np.ones(shape), order, np.zeros((4, *shape[1:])))


def sparse(start, column, value, x, y):
    for i in range(len(y)):
        y[i] = value[start[i] : start[i + 1]] @ x[column[start[i] : start[i + 1]]]
    return y


def test_rows_of_a_sparse_matrix():
    start = np.array([0, 3, 3, 4, 9, 20, 20, 25, 30] + [30] * 30)
    column, value = RNG.integers(0, 12, 30), RNG.standard_normal(30)
    x, y = RNG.standard_normal(12), np.zeros(len(start) - 1)
    late = column.copy()
    late[27] = 12
    is_one_plan(sparse, start, column, value, x, y)
    is_one_plan(sparse, start, column - 12, value, x, y)
    like(sparse, start, column, value, x, y, also=((start, late, value, x, y),))
    like(sparse, start, column, value, x, y, also=((start[:2], column, value, x, y[:1]),))
    like(sparse, start, column, value, x, y, also=((start[:1], column, value, x, y[:0]),))
    like(sparse, start, column, value, x, y, also=((start, column, value, x, x[:8]),))


# ---- what a mask selects ----


def means(x, label, out):
    for k in range(len(out)):
        mine = x[label == k]
        out[k] = mine.mean() if len(mine) > 0 else -1.0
    return out


def lengths(x, limits, out):
    for k in range(len(limits)):
        out[k] = len(x[x > limits[k]])
    return out


def most(x, limits, out):
    for k in range(len(limits)):
        mine = x[x > limits[k]]
        if len(mine) == 0:
            return k
        out[k] = mine.max()
    return -1


def test_means_of_groups():
    x, label, out = RNG.standard_normal(90), RNG.integers(0, 25, 90), np.zeros(40)
    is_one_plan(means, x, label, out)
    like(means, x, label, out, also=((x, label * 0 + 50, out), (x, label * 0, out)))
    like(means, x, label, out, also=((x[:0], label[:0], out), (x, label, out[:0])))
    like(means, x, label, out, also=((x, label[:-1], out),))
    like(means, x, label, np.zeros(40, "i8"))
    like(means, x, label, np.zeros(40, "f4"))
    like(means, x, label, np.zeros(40, "c16"))
    like(means, x.astype("f4"), label, out)
    x[5] = np.nan
    is_one_plan(means, x, label, out)


@pytest.mark.parametrize("function", [lengths, most])
def test_lengths_of_what_a_mask_selects(function):
    x, limits, out = RNG.standard_normal(90), np.linspace(-1, 1, 40), np.zeros(40)
    like(function, x, limits, out, also=((x, limits + 9, out), (x[:0], limits, out)))
    x[5] = np.nan
    like(function, x, limits, out)


# ---- bounds of two classes ----


def peaks(scores, width, out):
    for k in range(len(out)):
        best = np.argmax(scores)
        out[k] = best
        scores[max(best - width, 0) : min(best + width, len(scores))] = -1.0
    return out


def test_bounds_of_two_classes():
    scores, out = RNG.random(60), np.zeros(40, int)
    is_one_plan(peaks, scores, 3, out)
    for width in (0, -1, 100):
        like(peaks, scores, 3, out, also=((scores, width, out),))
    like(peaks, scores, 3, out, also=((scores[:1], 3, out), (scores[:0], 3, out)))
    like(peaks, scores, 3, out, also=((scores[::-1], 3, out), (scores, 3, out[:0])))
    like(peaks, scores.astype("f4"), np.int64(3), out)
    like(peaks, scores, 3.0, out)
    scores[7] = np.nan
    is_one_plan(peaks, scores, 3, out)
