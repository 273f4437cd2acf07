"""Kept loops: what the quick variant of a kernel takes for granted, and checks before."""

import numpy as np
import pytest

import pycompile
from tests.differential import check

RNG = np.random.default_rng(7)


def vector(n, dtype=np.float64):
    return RNG.standard_normal(n).astype(dtype)


def grid(*shape):
    return RNG.standard_normal(shape)


def five_point(u, n, m):
    for i in range(1, n):
        for j in range(1, m):
            u[i, j] = u[i - 1, j] + u[i, j - 1] - u[i - 1, j - 1] * 0.5 + u[i, j + 1]


def triangle(a, n):
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] *= 0.5
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


def below(a, n):
    for k in range(n):
        for i in range(k, n):
            for j in range(k, n):
                a[i, j] -= a[i, k] * a[k, j]


@pytest.mark.parametrize("function", [five_point, triangle, below])
@pytest.mark.parametrize("n", [0, 1, 2, 6, 7, 8])
def test_bounds_of_nests(function, n):
    """Just inside at the last iteration, just outside, and in arrays laid out otherwise."""
    sizes = (n, n - 1) if function is five_point else (n,)
    arrays = (grid(7, 7), grid(7, 7).T, grid(14, 14)[::2, ::2], grid(7, 9)[:, 1:8], grid(7, 6))
    for first in arrays:
        also = tuple((a.copy(order="K") if a.base is None else a, *sizes) for a in arrays)
        check(function, first, *sizes, also=also, captured=False)


@pytest.mark.slow
def test_elements_that_share_memory():
    """Rows of a strided view overlap: what a register holds would go stale."""
    windows = lambda: np.lib.stride_tricks.as_strided(vector(30), (6, 6), (16, 8))
    same_row = lambda: np.lib.stride_tricks.as_strided(vector(30), (6, 6), (0, 8))
    for view in (windows, same_row):
        check(five_point, grid(6, 7), 5, 4, also=((view(), 5, 4),), captured=False)
        check(triangle, view(), 5, also=((grid(6, 6), 5),), captured=False)


@pytest.mark.slow
def test_registers():
    def kept(c, a, k):
        for i in range(len(c)):
            for j in range(k):
                c[i] += a[i, j]
                if a[i, j] > 0:
                    c[i] *= 0.5
            c[i - 1] += 1.0

    def meets(d, n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, 2] + d[2, j])

    def last(x, y):
        for i in range(len(x)):
            y[0] = 1.0 / x[i]

    def two_behind(x, y):
        for i in range(2, len(x)):
            y[i] = y[i - 1] * 0.5 + y[i - 2] * x[i] + x[i - 1] - x[i - 2]

    check(kept, vector(6), grid(6, 4), 4, also=((vector(6), grid(6, 4), 5),), captured=False)
    check(meets, grid(5, 5) - 1, 5, also=((grid(5, 5) - 1, 6),), captured=False)
    x = vector(12)
    x[4] = 0
    check(last, vector(12), vector(3), also=((x, vector(3)), (x[:0], vector(3))), captured=False)
    check(two_behind, vector(12), vector(12), also=((vector(12), vector(11)),), captured=False)


def test_small_loops_are_unrolled():
    def around(x, y):
        for i in range(1, len(x) - 1):
            s = 0
            for a in range(-1, 2):
                for b in range(2, 0, -1):
                    if a != 0 or b == 1:
                        s += x[i + a] * b
                    y[i] = s
            if s > 3:
                y[i] += 1
            elif s == 2:
                y[i] = 7
            else:
                y[i] = s - x[i]

    x = RNG.integers(0, 4, 20)
    huge = np.full(20, 2**61)
    check(around, x, x.copy(), also=((huge, x.copy()), (x, huge), (x, x[:12].copy())))


def test_loops_without_a_turn():
    def none(x, y):
        for i in range(len(x)):
            for k in range(3, 1):
                x[i + k] = y[k]
            x[i] *= y[i]

    check(none, vector(6), vector(6), also=((vector(6), vector(5)),))


@pytest.mark.slow
def test_loops_that_change_places():
    def down_columns(a, b):
        n, m = a.shape
        for j in range(m - 1):
            for i in range(1, n):
                a[i, j + 1] += 0.5 * a[i - 1, j + 1] * b[j, i]

    def column_by_column(a, n):
        for j in range(1, n):
            for i in range(1, n):
                a[i, j] += a[i, j - 1] * 0.5 + a[i - 1, j]

    windows = lambda: np.lib.stride_tricks.as_strided(vector(99), (6, 6), (16, 8))
    wide = grid(7, 9)
    wide[3, 4] = np.inf
    also = ((grid(5, 6), grid(4, 5)), (windows(), grid(6, 6)), (grid(7, 9).T, grid(9, 9)))
    check(down_columns, grid(7, 9), grid(9, 7), also=(*also, (wide, wide.T)), captured=False)
    check(column_by_column, grid(6, 6), 6, also=((grid(6, 6), 7), (windows(), 6)), captured=False)


def test_indices_near_the_end_of_int64():
    def shifted(x, n, by):
        for i in range(n):
            x[i + by - by] += 1.0
            x[i * by // by] *= 2.0

    for by in (1, 2**62, 2**63 - 1, -(2**63), 2**61, -1):
        check(shifted, vector(6), 6, by, captured=False)


def test_guarded_indices():
    def guarded(x, y):
        for i in range(len(x)):
            if i > 0:
                y[i] = x[i - 1]
            if i != 0:
                y[i] -= x[i - 1]
            if i + 1 < len(x):
                y[i] += x[i + 1]

    check(guarded, vector(9), vector(9), also=((vector(9), vector(8)), (vector(1), vector(1))))


def test_many_calls_that_wrap():
    """Each takes the careful variant in the end; none may leave the quick one's writes."""

    def ring(x, y):
        for i in range(len(x)):
            y[i] += x[i - 1]
            x[i] = y[i - 2] * 0.5

    compiled = pycompile.compile(ring)
    x, y = vector(9), vector(9)
    a, b = x.copy(), y.copy()
    for _ in range(20):
        ring(x, y)
        compiled(a, b)
    assert (x.tobytes(), y.tobytes()) == (a.tobytes(), b.tobytes())
    assert compiled.stats()["plan_runs"] == 20


def far_from_zero(x):
    for i in range(1 - 2**31, len(x) - 2**31):
        k = i + 2147483648
        x[k] = 0.5 * x[k - 1]
    return x


def large_int(x, y, t):
    for i in range(len(x)):
        y[i] = t - 1
        t = x[i]
    return y


def test_indices_with_large_constants():
    check(far_from_zero, vector(9), whole=True)
    check(large_int, np.ones(5), np.zeros(5), 2**53 + 1, captured=False)
    check(large_int, np.ones(5), np.zeros(5), 3, captured=False)


def short_and_far(m):
    n = 0
    for _ in range(2**63 - 3, 2**63 - 1):
        if m[-1]:
            break
        n += 1
    return n


def test_a_short_range_at_the_end_of_int64_that_is_left():
    check(short_and_far, np.zeros(3, bool), captured=False)
    check(short_and_far, np.ones(3, bool), captured=False)


def test_steps_whose_products_overflow():
    def scaled(a, n):
        for i in range(0, n, 2**62):
            a[i + i + i + i] = a[i + i + i + i + 1] * 2.0
        return a

    check(scaled, np.arange(64.0), 10)


def resampled(x, out):
    for i in range(len(out)):
        y = i * (len(x) - 1) / (len(out) - 1)
        k = int(y)
        after = min(k + 1, len(x) - 1)
        before = max(k - 1, 0)
        out[i] = x[k] * (y - k) + x[after] + x[before]


def scaled(x, out, by, over):
    for i in range(len(out)):
        out[i] = x[int((i - 3) * by / over)]


def turned(x, out, by):
    for i in range(len(out)):
        out[i] = x[int(by / (i + 1))]


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 2, 3, 9, 40])
def test_quotients_as_indices(n):
    also = [(vector(k), np.zeros(n)) for k in (0, 1, 2, 40)]
    check(resampled, vector(7), np.zeros(n), also=also, captured=False)
    numbers = [(1, 1), (2, 1), (1, 2), (-1, 1), (1, -1), (3, 0), (0, 7), (2**60, 2**61)]
    also = [(vector(7), np.zeros(n), *both) for both in numbers]
    check(scaled, vector(40), np.zeros(n), 1, 1, also=also, captured=False)
    also = [(vector(7), np.zeros(n), by) for by in (0, 7, 8, -7, 2**53 + 1, -(2**62))]
    check(turned, vector(40), np.zeros(n), 39, also=also, captured=False)


def nearest_sums(x, out):
    """What is chosen may overflow where Python does not go."""
    for i in range(1, len(x)):
        out[i] = min(out[i - 1] + 1, x[i] + 2, x[i - 1] - 1)


def farthest_sums(x, out):
    for i in range(1, len(x)):
        out[i] = max(x[i] - 2, max(x[i - 1] + 1, out[i - 1] - 1))


@pytest.mark.parametrize("function", [nearest_sums, farthest_sums])
@pytest.mark.parametrize("at", [1, 5, 29])
def test_sums_checked_behind_the_loop(function, at):
    x = RNG.integers(-50, 50, 30)
    also = []
    for edge in (2**63 - 1, 2**63 - 2, 2**63 - 3, -(2**63), -(2**63) + 1, -(2**63) + 2):
        first, there = np.zeros(30, int), x.copy()
        first[0], there[at] = edge, edge
        also += [(x, first), (there, np.zeros(30, int))]
    check(function, x, np.zeros(30, int), also=also, captured=False)
