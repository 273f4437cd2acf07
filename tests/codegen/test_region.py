"""Loops of the program that stay loops: element reads and writes, carried scalars."""

import math
import signal
import warnings

import numpy as np
import pytest

import pycompile
from benchmarks import loops
from tests.differential import check

RNG = np.random.default_rng(7)


def vector(n, dtype=np.float64):
    return RNG.standard_normal(n).astype(dtype)


def recurrence(x, y, a, n):
    for i in range(1, n):
        y[i] = a * y[i - 1] + x[i]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_recurrence(dtype):
    x, y = vector(40, dtype), vector(40, dtype)
    more = [
        (vector(m, dtype), vector(m, dtype), 0.5, n)
        for m, n in ((40, 40), (90, 80), (7, 7), (7, 1), (7, 0), (7, -3), (1, 1), (0, 0), (2, 2))
    ]
    check(recurrence, x, y, 0.9, 30, also=tuple(more), whole=True)


def test_one_compile_for_all_lengths():
    def recurrence(x, y, a, n):
        for i in range(1, n):
            y[i] = a * y[i - 1] + x[i]

    compiled = pycompile.compile(recurrence)
    for n in (50, 3, 1000, 0, 1, 2, 70):
        x, y = vector(n + 5), vector(n + 5)
        z = y.copy()
        compiled(x, y, 0.75, n)
        recurrence(x, z, 0.75, n)
        assert y.tobytes() == z.tobytes()
    stats = compiled.stats()
    assert stats["compiles"] == 1 and stats["recompiles"] == 0 and stats["plan_runs"] == 7


def test_strides():
    x, y = vector(90), vector(90)
    check(
        recurrence,
        x[::3],
        y[::2],
        0.9,
        30,
        also=((x[::-1], y[::-1], 0.9, 40), (x, y[::-2], 0.1, 9)),
    )


@pytest.mark.parametrize("n", [11, 12, 1000, 2**62])
def test_out_of_bounds(n):
    """The error at its line, the writes before it done."""
    check(recurrence, vector(10), vector(10), 0.9, n, captured=False)
    check(recurrence, vector(10), vector(10), 0.9, 9, also=((vector(10), vector(20), 0.9, n),))
    check(recurrence, vector(10), vector(10), 0.9, 9, also=((vector(20), vector(10), 0.9, n),))


def test_negative_indices():
    def wraps(x, y, n):
        for i in range(n):
            y[i] = y[i - 1] + x[i - 3]

    def down(x, y, n):
        for i in range(n, -n, -1):
            y[i - 1] = x[-i] - y[i]

    def mirror(x, y, n):
        for i in range(n):
            y[-1 - i] = x[i]

    check(
        wraps,
        vector(12),
        vector(12),
        10,
        also=((vector(3), vector(3), 2), (vector(2), vector(2), 2)),
    )
    check(
        down,
        vector(12),
        vector(12),
        11,
        also=((vector(12), vector(12), 5), (vector(9), vector(9), 11)),
    )
    check(
        mirror,
        vector(12),
        vector(12),
        12,
        also=((vector(8), vector(6), 6), (vector(8), vector(6), 7)),
    )


def test_steps():
    def every(x, y, a, b):
        for i in range(a, b, 3):
            y[i] = x[i] + y[i - 1]

    def back(x, y, a, b):
        for i in range(a, b, -2):
            y[i] = x[i] + y[i + 2]

    def double(x, y, a, b):
        for i in range(a, b):
            y[2 * i] = x[3 * i + 1] * y[2 * i - 2]

    check(every, vector(30), vector(30), 1, 30, also=((vector(30), vector(30), 5, 6),))
    check(back, vector(30), vector(30), 27, 0, also=((vector(30), vector(30), 0, 27),))
    check(
        double,
        vector(60),
        vector(60),
        1,
        19,
        also=((vector(60), vector(60), 1, 20), (vector(60), vector(30), 1, 16)),
    )


def test_carried_scalars():
    def dot(x, y, n):
        s = 0.0
        for i in range(n):
            s = s + x[i] * y[i]
        return s

    def fibonacci(y, n):
        a, b = 0.0, 1.0
        for i in range(n):
            y[i] = a
            a, b = b, a + b
        return a, b

    def count(x, n):
        k = 0
        for i in range(n):
            k = k + i * 2
            x[i] = float(k)
        return k

    check(
        dot, vector(30), vector(30), 30, also=((vector(3), vector(3), 3), (vector(3), vector(3), 0))
    )
    check(dot, vector(30, np.float32), vector(30, np.float32), 30)
    check(fibonacci, vector(30), 30, also=((vector(3), 4),))
    check(count, vector(30), 30, also=((vector(9), 0),))


def test_several_arrays():
    def three(x, y, z, n):
        for i in range(1, n):
            y[i] = x[i] + z[i - 1]
            z[i] = y[i] * 0.5 - y[i - 1]

    args = lambda m: (vector(m), vector(m), vector(m))
    check(three, *args(20), 20, also=((*args(20), 21), (*args(5), 5)))
    check(three, vector(20), vector(20), vector(15), 18, captured=False)
    y = vector(20)
    check(three, y, y, vector(20), 18, captured=False)
    check(three, y[2:], y[:18], vector(20), 4, captured=False)


def test_stores_twice():
    def twice(x, y, n):
        for i in range(1, n):
            y[i] = x[i]
            y[i - 1] = y[i] + y[i - 1]

    def one_place(x, y, n):
        for i in range(n):
            y[0] = y[0] + x[i]

    check(
        twice,
        vector(20),
        vector(20),
        20,
        also=((vector(20), vector(20), 21), (vector(9), vector(20), 12)),
    )
    check(
        one_place,
        vector(20),
        vector(20),
        20,
        also=((vector(20), vector(1), 20), (vector(20), vector(2), 21)),
    )


def test_fresh_array():
    def fresh(x, n):
        y = np.zeros(10)
        for i in range(1, n):
            y[i] = y[i - 1] + x[i]
        return y

    check(fresh, vector(10), 10, also=((vector(10), 4), (vector(10), 11)))


def test_used_before_and_after():
    def around(x, y, n):
        before = y.sum()
        first = y[0]
        for i in range(1, n):
            y[i] = y[i - 1] * 0.5 + x[i]
        return before, first, y.sum(), y * 2

    check(around, vector(20), vector(20), 20, also=((vector(20), vector(20), 21),), captured=False)


def test_two_loops():
    def both(x, y, n):
        for i in range(1, n):
            y[i] = y[i - 1] + x[i]
        for i in range(n - 2, -1, -1):
            y[i] = y[i + 1] * 0.5 + y[i]

    check(
        both,
        vector(20),
        vector(20),
        20,
        also=((vector(20), vector(20), 21), (vector(3), vector(3), 3)),
    )


def test_flags_undo_the_writes():
    """A floating-point event that is reported: CPython warns, from the arguments as they were."""
    x = vector(20)
    x[15] = 1e306
    check(recurrence, vector(20), vector(20), 0.5, 20, also=((x * 10, x * 10, 50.0, 20),))
    y = np.full(20, 1e300)
    check(recurrence, vector(20), vector(20), 0.5, 20, also=((y, y.copy(), 1e30, 20),))
    with np.errstate(all="raise"):
        check(recurrence, vector(20), vector(20), 0.5, 20, also=((y, y.copy(), 1e30, 20),))
    with np.errstate(all="ignore"):
        check(recurrence, vector(20), vector(20), 0.5, 20, also=((y, y.copy(), 1e30, 20),))


def test_division():
    def divide(x, y, n):
        for i in range(n):
            y[i] = x[i] / y[i]

    y = vector(20)
    y[7] = 0
    check(divide, vector(20), vector(20), 20, also=((vector(20), y, 20), (vector(20), y, 7)))


def test_indices_from_arrays():
    def gather(x, y, k, n):
        for i in range(n):
            y[i] = x[int(k[i])]

    def histogram(y, k, n):
        for i in range(n):
            y[int(k[i])] = y[int(k[i])] + 1.0

    good = RNG.integers(-10, 10, 30)
    bad = good.copy()
    bad[20] = 10
    check(
        gather,
        vector(10),
        vector(30),
        good,
        30,
        also=((vector(10), vector(30), bad, 30),),
        captured=False,
    )

    def direct(y, k, n):
        for i in range(n):
            y[k[i]] += 1.0

    check(direct, vector(10), good, 30, also=((vector(10), bad, 30), (vector(100), bad, 30)))
    check(
        histogram,
        vector(10),
        good,
        30,
        also=((vector(10), bad, 30), (vector(100), bad, 30)),
        captured=False,
    )


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8, np.uint64])
def test_integers(dtype):
    def running(x, y, n):
        for i in range(1, n):
            y[i] = y[i - 1] + x[i]

    x = RNG.integers(0, 5, 20).astype(dtype)
    big = np.full(20, np.iinfo(dtype).max // 3).astype(dtype)
    check(running, x, x.copy(), 20, also=((big, big.copy(), 20), (x, x.copy(), 21)))


def test_python_overflow():
    def grows(y, n):
        k = 3
        for i in range(n):
            k = k * k
            y[i] = 1.0
        return k

    check(grows, vector(10), 3, also=((vector(10), 9),))


def test_readonly_and_noncontiguous():
    y = vector(20)
    y.flags.writeable = False
    check(recurrence, vector(20), vector(20), 0.5, 20, also=((vector(20), y, 0.5, 20),))


def test_scalar_functions():
    def maths(x, y, n):
        for i in range(n):
            y[i] = np.sqrt(abs(x[i])) - x[i] ** 2 + (-x[i])

    check(maths, vector(20), vector(20), 20, captured=False)


@pytest.mark.parametrize("name", "sqrt exp log sin cos tan atan tanh fabs floor ceil".split())
def test_functions_of_math(name):
    """As in a kernel: libm's, and what it refuses is CPython's to raise, with nothing written."""
    function = getattr(math, name)

    def maths(x, y, n):
        for i in range(n):
            y[i] = function(x[i])

    x = np.abs(vector(20)) + 0.5
    bad = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 710.0]
    spoilt = [np.where(np.arange(20) == 11, value, x) for value in bad]
    check(maths, x, vector(20), 20, also=tuple((v, vector(20), 20) for v in spoilt))


def test_two_dimensions():
    def plane(x, n, m):
        for i in range(1, n):
            for j in range(1, m):
                x[i, j] = x[i - 1, j] + x[i, j - 1]

    check(plane, RNG.standard_normal((6, 5)), 6, 5, captured=False)


def test_error_restores_before_python_runs():
    """What CPython runs after a deopt must see the elements as they were before the call."""

    def late(x, y, n):
        for i in range(n):
            y[i] = y[i] * 2.0 + x[i]
        return y[n] / x[0]

    check(late, vector(10), vector(11), 10, also=((vector(10), vector(10), 10),), captured=False)


@pytest.mark.slow
def test_random_programs():
    """Loops made of random affine accesses, in and out of bounds."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        lines = []
        for _ in range(int(rng.integers(1, 4))):
            a, b = (("y", "z")[k] for k in rng.integers(0, 2, 2))
            index = [
                f"{int(rng.choice([-1, 1, 1, 2]))} * i + {int(rng.integers(-4, 4))}"
                for _ in range(3)
            ]
            lines.append(f"        {a}[{index[0]}] = {b}[{index[1]}] * 0.5 + x[{index[2]}]")
        step = int(rng.choice([-2, -1, 1, 1, 3]))
        source = f"def loop(x, y, z, a, b):\n    for i in range(a, b, {step}):\n" + "\n".join(lines)
        names = {}
        exec(source, names)
        loop = names["loop"]
        also = []
        for _ in range(5):
            m = int(rng.integers(1, 14))
            a, b = (int(v) for v in rng.integers(-4, 10, 2))
            also.append((vector(20), vector(m), vector(20), a, b))
        huge = vector(20) + 1.7e308  # an overflow is reported after writes
        also.append((huge, vector(20), huge.copy(), 4, 9))
        try:
            check(loop, vector(20), vector(20), vector(20), 0, 3, also=tuple(also), captured=False)
        except AssertionError as error:
            raise AssertionError(source) from error


def test_long_loop_leaves_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x, y = vector(200_000), vector(200_000)
        z = y.copy()
        compiled = pycompile.compile(recurrence)
        compiled(x, y, 0.9, 200_000)
        total = 0.0
        for i in range(1, 200_000):
            z[i] = 0.9 * z[i - 1] + x[i]
        assert y.tobytes() == z.tobytes() and total == 0.0


# ---- nests of loops, branches, several axes ----


def row_means(a, out):
    n, m = a.shape
    for i in range(n):
        s = 0.0
        for j in range(m):
            s += a[i, j]
        out[i] = s * 0.5


def conditional_sums(a, out):
    """`s` is Python's float in rows where nothing is added."""
    n, m = a.shape
    for i in range(n):
        s = 0.0
        c = 0
        for j in range(m):
            if a[i, j] > 0.5 and j != i:
                s += a[i, j]
            elif a[i, j] < 0:
                c += 1
            else:
                continue
            s = s * 1.5
        out[i] = s + c


def grid(*shape):
    return RNG.standard_normal(shape)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (loops.gauss_seidel, (grid(9, 7), grid(9, 7))),
        (loops.gauss_seidel, (grid(7, 9).T, grid(9, 14)[:, ::2])),
        (loops.substitution, (grid(8, 8) + 4 * np.eye(8), vector(8), vector(8))),
        (row_means, (grid(6, 5), vector(6))),
        (row_means, (grid(6, 0), vector(6))),
        (conditional_sums, (grid(9, 7), vector(9))),
        (loops.edit_distance, (np.arange(9) % 3, np.arange(7) % 2, np.zeros((10, 8), int))),
        (
            loops.sparse_product,
            (
                np.array([0, 2, 2, 5]),
                np.array([1, 0, 2, 3, 1], "i4"),
                vector(5),
                vector(4),
                vector(3),
            ),
        ),
        (loops.sieve, (np.ones(100, bool),)),
        (loops.bubble_sort, (vector(20),)),
        (loops.largest, (vector(30),)),
        (loops.product, (grid(4, 5), grid(5, 3), grid(4, 3))),
        (loops.heap_sort, (vector(30),)),
        (loops.kalman, (vector(30), vector(30), 0.01, 0.1)),
        (loops.tokenizer, (np.frombuffer(b"foo 12 a+ (x1) 9 ", np.uint8), np.zeros(17, int))),
        (loops.lu_pivot, (grid(7, 7), np.arange(7))),
        (loops.householder, (grid(7, 5), vector(5))),
        (loops.escape_time, (vector(5), vector(6), np.zeros((5, 6), int), 40)),
        (loops.binary_search, (np.sort(vector(30)), vector(9), np.zeros(9, int))),
        (loops.popcount, (RNG.integers(0, 2**40, 9), np.zeros(9, int))),
        (loops.quicksort, (vector(60), np.zeros(60, int))),
        (loops.runge_kutta, (np.zeros(500), 0.0, 3.0, 0.1)),
        (loops.bilinear, (grid(5, 6), grid(9, 11))),
        (loops.crc, (RNG.integers(0, 256, 30), loops.reflected_table())),
        (loops.fnv, (RNG.integers(0, 256, 30),)),
        (loops.power_law, (np.abs(vector(30)), vector(30))),
    ],
)
def test_nests(function, args):
    """The same as plain, as one plan with the loops in it."""
    check(function, *args, whole=True)


@pytest.mark.parametrize("end", [1, 5, 500])
def test_out_of_bounds_inside(end):
    """What was written before the error stays, at its line; however long the log was."""

    def f(a, n, m):
        for i in range(n):
            for j in range(m):
                a[i, j] = a[i, j - 1] * 2
                if i + end > n:
                    a[i + 1, j] = 0.5

    check(f, grid(20, 6), 10, 6, also=((grid(20, 6), 20, 6), (grid(40, 50), 41, 50)))
    check(f, grid(300, 40), 300, 41)


def test_what_nobody_uses_still_warns():
    def f(x, y):
        for i in range(len(x)):
            z = 1.0 / x[i]
            if y[i] > 0:
                y[i] = z

    check(f, np.array([1.0, 2.0, 0.0]), np.array([1.0, -1.0, -1.0]))


def test_zero_step_of_an_inner_loop():
    def f(x, n):
        for i in range(n):
            for k in range(0, len(x), i - 3):
                x[k] += 1.0

    check(f, vector(10), 3, also=((vector(10), 5),))


def test_numbers_whose_class_depends_on_the_way():
    """Python's float raises where NumPy's warns, and is another object."""

    def mean_of_row(a, out, k):
        for i in range(len(out)):
            s = 0.0
            for j in range(k):
                s += a[i, j]
            out[i] = s / k

    def returned(x, low):
        s = 0.0
        for i in range(len(x)):
            if x[i] > low:
                s += x[i]
        return s

    for k in (3, 0):
        check(mean_of_row, grid(4, 5), vector(4), k, captured=False)
        with np.errstate(all="ignore"):
            check(mean_of_row, grid(4, 5), vector(4), k, captured=False)
    check(returned, vector(20), 0.0, also=((vector(20), 9.0),), whole=True)


def test_weak_numbers_meet_narrow_ones():
    def by_branch(x, h, y, start):
        for i in range(len(x)):
            s = start
            if x[i] > 0:
                s = x[i]
            y[i] = s + h[i]

    def by_loop(x, h, y, k):
        for i in range(len(x)):
            s = 0.1
            for j in range(k):
                s += x[j]
            if s == h[i]:
                y[i] = 2.0
            else:
                y[i] = s + h[i]

    x, y = np.array([1.0, -1.0, 2.0, -3.0]), np.zeros(4)
    for h in (np.array([0.3, 0.3, 0.7, 0.1], "f4"), np.arange(4, dtype="i1"), vector(4)):
        check(by_branch, x, h, y, 0.1, captured=False)
        check(by_loop, x, h, y, 0, also=((x, h, y, 2),), captured=False)
    for h in (np.full(4, 2**31 - 1, "i4"), np.arange(4), np.ones(4, "u8")):
        check(by_branch, x.astype(int), h, y, 5, captured=False)


def test_bools_that_become_numpys():
    def added(x, y):
        c = True
        for i in range(len(x)):
            y[i] = c + c
            c = x[i] > 0

    check(added, np.array([2.0, -1.0, 2.0, -3.0]), vector(4), captured=False)


def test_a_python_int_is_rounded_twice():
    def f(y, k):
        for i in range(len(y)):
            y[i] = k + i

    check(f, np.zeros(4, "f4"), 2**60 + 2**36 + 1, also=((np.zeros(4), 2**60 + 1),))


def test_writes_are_undone_when_a_later_step_fails():
    def f(a, x):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = a[i, j] * x[j] + i
        return 1.0 / x

    check(f, grid(5, 3), np.array([1.0, 0.0, 2.0]))
    check(f, grid(300, 30).T, np.r_[0.0, vector(299)], also=((grid(30, 300), np.zeros(300)),))


# ---- what the quick variant of a kernel takes for granted ----


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


def test_elements_that_share_memory():
    """Rows of a strided view overlap: what a register holds would go stale."""
    windows = lambda: np.lib.stride_tricks.as_strided(vector(30), (6, 6), (16, 8))
    same_row = lambda: np.lib.stride_tricks.as_strided(vector(30), (6, 6), (0, 8))
    for view in (windows, same_row):
        check(five_point, grid(6, 7), 5, 4, also=((view(), 5, 4),), captured=False)
        check(triangle, view(), 5, also=((grid(6, 6), 5),), captured=False)


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


# ---- while, break, else, return from inside ----


def doubled_until(x, y, low):
    i = 0
    while i < len(x) and x[i] > low:
        y[i] = x[i] * 2
        i += 1
    return i


def first_above(x, y, low):
    for i in range(len(x)):
        if x[i] > low:
            return i
        y[i] = x[i]
    return -1


def copied_until(x, y, low):
    for i in range(len(x)):
        if x[i] > low:
            break
        y[i] = x[i]
    return i


def ranks(x, y, low):
    for i in range(len(x)):
        for j in range(len(y)):
            if x[j] > x[i] + low:
                break
            y[j] += 1
        else:
            y[i] -= 100


def skips(x, y, low):
    i = -1
    while i < len(x) - 1:
        i += 1
        if x[i] < low:
            continue
        if x[i] > low + 2:
            break
        y[i] = i


def endless(x, y, low):
    i = 0
    while True:
        y[i] += 1
        i += 1
        if x[i] > low:
            break
        if i > 10 or x[i] < -2:
            continue
        y[i] = 7
    return i


def several_ways(x, y, low):
    """Out of both loops, by three ways, one of which raises."""
    n = len(x)
    for i in range(n):
        k = i
        while not x[k] > low or y[i] == 3:
            k += 1
            if k == 7:
                return k
            if k > 20:
                raise ValueError("far")
            y[k] = i + k
        if x[i] == 0.5:
            break
    else:
        return -n
    return i


def either_test(x, y, low):
    i = 0
    while i < 3 or x[i] < low:
        i += 1
        while (v := x[i]) > low and not (y[i] > 5 or v == 2):
            y[i] += abs(v) + 0.1


def roots(parent, out):
    for k in range(len(out)):
        x = out[k]
        while parent[x] != x:
            x = parent[x]
        out[k] = x


LEFT = [doubled_until, first_above, copied_until, ranks, skips, endless, several_ways, either_test]


@pytest.mark.parametrize("function", LEFT, ids=lambda function: function.__name__)
def test_loops_that_are_left(function):
    """Each is one plan; also where it goes on to an index out of bounds, or makes no turn."""
    x = np.cumsum(vector(40)) * 0.3
    args = lambda low: (x.copy(), vector(40), low)
    tight = (np.full(40, 3.0), np.full(40, 3.0), 1.0)
    also = [args(low) for low in (-9.0, 0.3, 1.5, 99.0)]
    check(function, *args(0.5), also=(*also, tight, (x[::2], vector(20), 0.5)))


def test_union_find_stays_one_loop():
    parent = np.maximum(np.arange(50) - RNG.integers(0, 4, 50), 0)
    check(roots, parent, RNG.integers(0, 50, 30), whole=True)
    check(loops.union_find, np.arange(50), *RNG.integers(0, 50, (2, 40)), whole=True)


def test_householder_stays_one_loop():
    check(loops.householder, vector(60 * 40).reshape(60, 40), np.zeros(40), whole=True)


def test_a_variable_that_only_some_exits_read():
    def found(x, v):
        for i in range(len(x)):
            if x[i] == v:
                return i
        return -1

    x = vector(20)
    check(found, x, x[7], also=((x, 9.0), (x[:0], 9.0)), whole=True)


def test_what_is_unbound_stays_unbound():
    def last(x, v):
        for i in range(len(x)):
            if x[i] > v:
                break
            seen = x[i]
        return seen

    check(last, vector(20), 9.0, also=((vector(20), -9.0), (vector(0), 0.0)), captured=False)


def test_more_variables_than_a_type_has_digits():
    """C's names of variables are not those of types: u8, f64."""

    def many(x, h):
        a = b = c = d = e = f = g = k = 0
        for i in range(len(x)):
            if x[i] > 0:
                a, b, c, d, e, f, g = b + 1, c + 1, d + 1, e + 1, f + 1, g + 1, k + 1
            if h[i] > 3:
                k = k + 1
                x[i] = k
        return a, b, c, d, e, f, g, k

    check(many, vector(30), RNG.integers(0, 9, 30).astype("u1"), whole=True)


@pytest.mark.parametrize("step", [0, 1])
def test_a_loop_without_end_sees_signals(step):
    def turns(x, step):
        i = 0
        while x[0] > -1:
            i = (i + step) % len(x)
            x[i] = x[i - 1] * 0.5 + 1.0

    def stop(number, frame):
        raise KeyboardInterrupt

    compiled = pycompile.compile(turns)
    x = np.ones(4)
    x[0] = -2.0
    compiled(x, step)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            compiled(np.ones(4), step)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---- arithmetic ----


def of_expression(text):
    names = {"math": math, "np": np}
    exec(f"def f(x, h, u, v, y, k):\n    for i in range(len(x)):\n        y[i] = {text}", names)
    return names["f"]


@pytest.mark.parametrize(
    "text",
    [
        *("h[i] // 2", "h[i] % 7", "h[i] // h[i - 1]", "v[i] // k", "u[i] % u[i - 1]"),
        *("u[i] + 1", "u[i] * u[i - 1]", "u[i] + v[i]", "v[i] * 3 - k", "-v[i]", "abs(v[i])"),
        *("x[i] ** 2", "x[i] ** 3", "abs(x[i]) ** 1.5", "pow(x[i], 2)", "x[i] ** k", "i ** 2"),
        *("float(x[i]) ** 2", "2.0 ** i"),
        *("i >> 1", "i << k", "1 << i", "~i & 7", "int(h[i]) >> i", "(i << 3) ^ k", "-i >> 70"),
    ],
)
def test_arithmetic(text):
    """Where NumPy would warn, or Python give an int of more than 64 bits, CPython does the loop."""
    x = vector(30)
    h = np.r_[RNG.integers(1, 50, 28), -3, 2**62]
    u, v = RNG.integers(1, 200, 30).astype("u1"), RNG.integers(1, 9, 30).astype("i4")
    zero = u.copy()
    zero[20] = 0
    least = np.full(30, np.iinfo("i4").min, "i4")
    args = (x, h, u, v, np.zeros(30), 2)
    also = [
        (x * 1e200, h, zero, least, np.zeros(30), -1),
        (np.where(x > 1, np.nan, x), -h, u, least, np.zeros(30), 300),
        (x, h, zero, v, np.zeros(30), 0),
    ]
    check(of_expression(text), *args, also=tuple(also), captured=False)


def test_a_power_is_libms():
    """The C compiler makes a product of pow(a, 2.0), which is rounded otherwise."""
    x = vector(20_000)
    for text in ("x[i] ** 2", "float(x[i]) ** 2"):
        check(of_expression(text), x, x, x, x, np.zeros(len(x)), 2, whole=True)


# ---- numbers whose class the loop keeps track of ----


def summed_while(x, low):
    i = 0
    s = 0.0
    while i < len(x):
        if x[i] > low:
            s += x[i]
        i += 1
    return s


def total_from_an_int(x, low):
    s = 0
    for i in range(len(x)):
        if x[i] > low:
            s += x[i]
    return s, s * 2


def set_back(x, low):
    s = 0.0
    for i in range(1, len(x)):
        for j in range(i - 1, i + 1):
            if x[j] > low:
                s = s * 0.5 + x[j]
            elif x[j] < -1.5:
                s = 0.0
            else:
                s = s + 1.5
    return s


def best_of(x, low):
    best = -9.0
    at = -1
    for i in range(len(x)):
        if x[i] > best and x[i] > low:
            best = x[i]
            at = i
    return best, at


def first_that_differs(x, low):
    t = 0.0
    for i in range(len(x)):
        if x[i] > low:
            return t
        t = x[i]
    return 1.0


def made_pythons(x, low):
    for i in range(1, len(x)):
        s = 0.0
        for j in range(i):
            if x[j] > low:
                s += x[j] * x[j]
        s = math.sqrt(s) + float(s) + int(s)
        if x[i] > low:
            s = -s
        x[i] = s * 0.01
    return s


CLASSES = [
    summed_while,
    total_from_an_int,
    set_back,
    best_of,
    first_that_differs,
    made_pythons,
]


@pytest.mark.parametrize("function", CLASSES, ids=lambda function: function.__name__)
def test_classes_are_kept_track_of(function):
    x = vector(40)
    also = tuple((x, low) for low in (9.0, -9.0, x.max() - 1e-9))
    check(function, x, 0.3, also=(*also, (x[:1], 9.0)), whole=True)


def negated(x):
    t = 0
    for i in range(len(x)):
        x[i] = -t
        t = x[i] * 0.5
    return t


def negated_product(x):
    t = 0
    for i in range(len(x)):
        x[i] = -(t * 1)
        t = 0.0 * i
    return t


def times_a_negative_int(x):
    t = 0
    for i in range(len(x)):
        x[i] = t * -3
        t = x[i] + i * 0.5
    return t


def times_a_counter(x):
    t = 0
    for i in range(-2, len(x) - 2):
        x[i + 2] = t * i
        t = x[i] * 0.5
    return t


def decaying(x):
    t = 0
    for i in range(len(x)):
        t = t * -0.5 + x[i]
        x[i] = 2 * t - x[i] * t
    return t


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize(
    "function", [negated, negated_product, times_a_negative_int, times_a_counter, decaying]
)
def test_an_int_before_the_loop_that_is_a_float_in_it(function, n):
    """0 and 0.0 differ once they are negated, or multiplied by a negative int."""
    check(function, -np.ones(n), captured=False)
    if function is decaying and n > 1:
        check(function, -np.ones(n), whole=True)


def decides_nothing(w):
    n = 0
    for i in range(len(w)):
        if 3 * w[i] > 5:
            continue
    for _ in range(len(w)):
        n += 1
    return n


def test_an_overflow_that_decides_nothing_is_warned_of():
    check(decides_nothing, np.array([1, 100, 2], np.int8), captured=False)
    check(decides_nothing, np.array([1, 2, 3], np.int8), captured=False)


def counts_above(w):
    s = 0
    for i in range(len(w)):
        if w[i] > s:
            s += True
        else:
            s -= 1
    return s


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.float32])
def test_a_carried_int_beside_narrow_elements(dtype):
    check(counts_above, np.array([3, 1, 4, 1, 5, 9, 2, 6], dtype), captured=False)


NUMPYS = np.float64(0.5), np.int64(3)


def squares(a, k):
    s = 0.0
    for i in range(len(a)):
        s += a[i] ** 2
    return s


def products(a, k):
    s = 0.0
    for i in range(len(a)):
        s -= a[i] * a[i]
    return s


def converted(a, k):
    s = 0.0
    for i in range(len(a)):
        if a[i] > 100:
            s += a[i]
        s += np.float64(k)
    return s


def converted_before(a, k):
    s = 0.0
    u = np.float64(k)
    for i in range(len(a)):
        if a[i] > 100:
            s += a[i]
        s += u
    return s


def numpys_constants(a, k):
    s, t = 1.0, 2.0
    for i in range(len(a)):
        if a[i] > 100:
            s, t = a[i], a[i]
        s *= NUMPYS[0]
        t += NUMPYS[1]
    return s, t


def pythons_constants(a, k):
    s = 1.0
    for i in range(len(a)):
        if a[i] > k:
            s = a[i]
        s = s * 0.5 + 1
    return s


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize("n", [0, 1, 6])
@pytest.mark.parametrize(
    "function",
    [squares, products, converted, converted_before, numpys_constants, pythons_constants],
)
def test_the_class_of_a_sum(function, n, dtype):
    """Of whatever its terms are: np.float64 once one of NumPy's numbers was added."""
    for k in (2, 2.5, 1000):
        check(function, np.arange(n).astype(dtype), k, captured=False)


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


def test_a_sum_whose_class_an_earlier_turn_has_decided():
    def sums(x, limit, n):
        s = 0.0
        for j in [1, 2]:
            for i in range(n):
                if x[i] > limit * j:
                    s += x[i]
        return s

    x = vector(20)
    check(sums, x, 9.0, 20, also=((x, 0.5, 20), (abs(x), 0.5, 20), (x, 0.5, 0)))


def sums_of_some(x, y, low):
    s = t = 0.0
    p = 1.0
    n = 0
    for i in range(len(x)):
        if x[i] > low:
            s += x[i]
            n += 1
        if low < y[i]:
            t = t - x[i] * y[i]
        else:
            p = y[i] * p
    return s, t, p, n


def steps_up_or_down(x, y, low):
    state = 7
    for i in range(1, len(x)):
        state = (state * 75) % 65537
        if state > 30000:
            x[i] = x[i - 1] + y[i]
        else:
            x[i] = y[i] - x[i - 1]


def clamped(x, y, low):
    for i in range(len(x)):
        v = x[i]
        if v < low:
            v = low * y[i]
        elif v > 1.0:
            v = 1.0 - y[i]
        y[i] = v


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [sums_of_some, steps_up_or_down, clamped])
def test_branches_without_a_jump(function, dtype):
    """Also where the arm that Python does not take would warn, and where the numbers are zeros."""
    many = {"options": {"recompile_limit": 100}}  # a sum of float32 begins in another class
    odd = np.array([0.5, -0.0, 0.0, -0.0, np.inf, -np.inf, 1e308, 0.1, np.nan, 3.0])
    with np.errstate(over="ignore"):
        odd = odd.astype(dtype)
    x, y = vector(40, dtype), vector(40, dtype)
    also = [(x, y, low) for low in (9.0, -9.0, 0.0)]
    also += [(odd[k:], odd[::-1][k:], low) for k in range(9) for low in (0.0, 0.2, -1.0)]
    check(function, x, y, 0.3, also=(*also, (-abs(x) * 0, -abs(y), 5.0)), options=many)


def larger_kept(x, t, n):
    for i in range(1, n):
        for j in range(n):
            if x[j] + t[i - 1, j] > t[i, j]:
                t[i, j] = x[j] + t[i - 1, j]


def swapped(x, t, n):
    for i in range(n - 1):
        for j in range(n - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                t[i, j] = j
            t[j, i] += x[j]


def in_all_arms(x, t, n):
    for i in range(1, n):
        for j in range(1, n):
            if x[j] > 0:
                t[i, j] = t[i - 1, j]
                if x[i] > x[j]:
                    t[i, j] = t[i, j] * 0.5
            elif x[j] > -0.5:
                t[i, j] = t[i, j - 1]
            else:
                t[i, j] = 0.0


def at_a_loaded_place(x, t, n):
    for i in range(n):
        for j in range(n):
            t[i, j] += 1
            if x[j] > 0:
                t[i, int(x[j])] = j
            if t[i, j] > 2:
                t[i, j] = x[i]


@pytest.mark.parametrize("function", [larger_kept, swapped, in_all_arms, at_a_loaded_place])
def test_elements_that_are_written_in_branches(function):
    args = lambda n, m: (vector(n) * 3, vector(m * n).reshape(m, n), n)
    also = [args(n, n) for n in (1, 2, 3, 40)]
    also += [(vector(9), vector(70).reshape(7, 10), 9), (vector(9), vector(81).reshape(9, 9).T, 9)]
    check(function, *args(12, 12), also=also)
    check(loops.bubble_sort, vector(30), whole=True)
    weight, value = RNG.integers(1, 9, (2, 12))
    check(loops.knapsack, weight, value, np.zeros((13, 40), int), whole=True)


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


def fibonacci(a, s, x):
    for i in range(len(a)):
        if a[i] > 0.5:
            s = s + x
            x = s
    return s, x


def fibonacci_other(a, s, x):
    for i in range(len(a)):
        if a[i] > 0.5:
            x = x + s
            s = x
    return s, x


def sum_before(a, s, x):
    for i in range(len(a)):
        t = s + x
        if a[i] > 0.5:
            s = t
    return s, x


@pytest.mark.parametrize("function", [fibonacci, fibonacci_other, sum_before])
@pytest.mark.parametrize("start", [(1, 2), (1.0, 2.0)])
@pytest.mark.parametrize("value", [0.1, 0.9])
def test_one_sum_for_two_variables(function, start, value):
    """Where a branch is not taken each variable keeps its own number."""
    a = np.full(40, 0.1)
    a[7:] = value
    check(function, a, *start)


def test_steps_whose_products_overflow():
    def scaled(a, n):
        for i in range(0, n, 2**62):
            a[i + i + i + i] = a[i + i + i + i + 1] * 2.0
        return a

    check(scaled, np.arange(64.0), 10)
