"""Loops whose turns write the arrays of their own locals: in place, or of two or three that they pass on
(control/repeat_objects.c), and loops over the rows of arrays."""

import numpy as np
import pytest
from differential import check

LOOPS = {"options": {"unroll": 24, "plan_always": True}}
RNG = np.random.default_rng(11)


def is_one_plan(function, *args, also=()):
    check(function, *args, also=also, whole=True, exits=["return"], options=LOOPS)


def like(function, *args, also=()):
    """What a plan leaves to Python is as in Python."""
    check(function, *args, also=also, captured=False, options=LOOPS)


# ---- an array stays, and is written ----


def descend(a, b, steps):
    x = np.zeros_like(b)
    r = b.copy()
    p = r.copy()
    rs = r @ r
    for _ in range(steps):
        ap = a @ p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
    return x, r


@pytest.mark.parametrize("steps", [0, 1, 9])
def test_in_place(steps):
    a = RNG.random((12, 12))
    is_one_plan(descend, a @ a.T + np.eye(12), RNG.random(12), steps)


def kept_rows(rows, keep, low):
    other = keep
    for row in rows:
        keep &= row > low
    return keep, other


def test_in_place_of_the_caller():
    rows = RNG.random((30, 7))
    rows[4, 2] = np.nan
    is_one_plan(kept_rows, rows, np.ones(7, bool), 0.02)
    like(kept_rows, rows[:0], np.ones(7, bool), 0.02)
    like(kept_rows, rows, rows[0] > 0, 0.02)


def told_apart(a, y, steps):
    """From the second turn on `y` is the array that is written."""
    out = np.zeros(steps)
    for i in range(steps):
        a[0] = y.sum() * 0.5 + 1
        out[i] = y.sum()
        y = a
    return out, y


def test_a_local_becomes_what_is_written():
    for steps in (0, 1, 9):
        like(told_apart, np.ones(3), np.ones(3), steps)


def one_object(a, steps):
    b = a
    s = 0.0
    for _ in range(steps):
        a += 1.0
        s = s + b.sum()
        b = b * 1.0
    return s, b


def test_one_object_in_two_locals():
    like(one_object, np.ones(4), 9)


# ---- arrays change places ----


def two(u, v, steps):
    for _ in range(steps):
        v[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, v = v, u
    return u, v


def three(a, b, c, steps):
    for _ in range(steps):
        c[1:-1] = 2 * b[1:-1] - a[1:-1] + 0.1 * (b[2:] + b[:-2] - 2 * b[1:-1])
        a, b, c = b, c, a
    return b


def two_made(u, steps):
    v = np.zeros_like(u)
    for _ in range(steps):
        v[:] = u[::-1] * 0.5
        u, v = v, u
    return u.sum(), v


def two_and_one(u, v, w, steps):
    for _ in range(steps):
        v[:] = u + w
        w += 1.0
        u, v = v, u
    return u, w


@pytest.mark.parametrize("steps", [1, 2, 3, 8])
def test_change_places(steps):
    u, v, w = RNG.random((3, 8))
    is_one_plan(two, u, v, steps, also=[(u, v, 0)])
    is_one_plan(three, u, v, w, steps, also=[(u, v, w, 0)])
    is_one_plan(two_made, u, steps)
    is_one_plan(two_and_one, u, v, w, steps)


def two_later(u, v, steps):
    u, v = two(u, v, steps)
    u[0] = 7.0
    return u is v, u


def two_viewed(u, v, steps):
    part = u[2:5]
    for _ in range(steps):
        v[:] = u * 0.5 + part.sum()
        u, v = v, u
    return u


def two_until(u, v, tol):
    while True:
        v[:] = u * 0.5
        if np.abs(v).max() < tol:
            break
        u, v = v, u
    return u, v


def test_places_that_are_not_followed():
    u, v = RNG.random((2, 9))
    for steps in (2, 7):
        like(two_later, u, v, steps)
        like(two_viewed, u, v, steps)
    like(two_until, u, v, 1e-3)
    like(two, u, u, 5)
    like(two, np.asfortranarray(RNG.random((9, 9))), RNG.random((9, 9)), 5)


# ---- rows ----


def smooth(rows):
    out = np.zeros(rows.shape[1])
    for row in rows:
        out = 0.5 * out + np.sqrt(row)
    return out


def backward(rows, decay):
    out = np.zeros(rows.shape[1])
    for row in reversed(rows):
        out = row + decay * out
    return out


def pairs(x, y):
    total = 0.0
    for a, b in zip(x, y):  # noqa: B905
        total += (a * b).max() / (a * a).sum()
    return total


def numbered(x, out):
    for i, row in enumerate(x, -1):
        out[i] = (row - row.mean()).std()
    return out


def numbered_pairs(x, scales, out):
    for k, (row, scale) in enumerate(zip(x, scales)):  # noqa: B905
        out[k] = np.sort(scale * row)[:3].sum()
    return out


def changed(rows):
    for row in rows:
        row += rows[-1]
    return rows


@pytest.mark.parametrize("n", [1, 2, 30])
def test_rows(n):
    x, y = RNG.random((2, n, 5))
    is_one_plan(smooth, x)
    is_one_plan(backward, x, 0.9)
    is_one_plan(pairs, x, y)
    is_one_plan(numbered, x, np.zeros(n))
    is_one_plan(changed, x.copy())
    is_one_plan(smooth, y[::-2])


def test_rows_of_other_lengths():
    x, y = RNG.random((30, 5)), RNG.random((20, 5))
    is_one_plan(pairs, x, y)
    is_one_plan(pairs, y, x)
    is_one_plan(numbered_pairs, x, y[:, 0], np.zeros(20))
    like(pairs, x[:0], y)
    like(smooth, x[:0])
    like(numbered, x, np.zeros(25))  # IndexError behind the writes
    x[3] = np.nan
    like(pairs, x, y)
    like(smooth, -y)  # a warning at its line


# ---- a view of one array, each turn at another place ----


def from_above(x):
    above = x[0]
    for i in range(1, x.shape[0]):
        row = x[i]
        row += 0.5 * above
        above = row
    return x


def two_before(x, out):
    older, old = x[0], x[1]
    for i in range(2, len(x)):
        out[i] = (older * old).sum() + x[i].max()
        older, old = old, x[i]
    return out


def backwards(x):
    last = x[-1][::-1]
    for row in x:
        row -= last * 0.25
        last = row[::-1]
    return x


@pytest.mark.parametrize("n", [3, 4, 30])
def test_views(n):
    x = RNG.random((n, 5))
    is_one_plan(from_above, x, also=[(x[:1].copy(),), (x[:2].copy(),)])
    is_one_plan(two_before, x, np.zeros(n), also=[(x[:2].copy(), np.zeros(2))])
    is_one_plan(backwards, x)
    is_one_plan(from_above, np.asfortranarray(x))


def one_view_twice(x):
    a = b = x[0]
    same = 0
    for i in range(1, len(x)):
        same += a is b
        a += b
        a = b = x[i]
    return same


def view_of_another(x, y):
    a = x[0]
    for i in range(1, len(x)):
        x[i] += a
        a = y[i] if i % 2 else x[i]
    return x


def view_behind(x):
    a = x[0]
    for i in range(1, len(x)):
        x[i] += a
        a = x[i]
    a[:] = 1
    return x, a


def test_views_that_are_not_followed():
    x, y = RNG.random((2, 20, 4))
    like(one_view_twice, x)
    like(view_of_another, x, y)
    like(view_behind, x)
    like(two_before, x, np.zeros(15))  # IndexError


# ---- small products are worth a plan ----


def dominant(a, v, steps):
    for _ in range(steps):
        w = a @ v
        v = w / np.sqrt(w @ w)
    return v


def test_small_products_are_worth_it():
    options = {"options": {"plan_always": False}}
    check(dominant, RNG.random((9, 9)), RNG.random(9), 500, whole=True, options=options)
