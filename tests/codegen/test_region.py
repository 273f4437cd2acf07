"""Loops of the program that stay loops: element reads and writes, carried scalars, nests."""

import math
import warnings

import numpy as np
import pytest

import pycompile
from benchmarks import loop_programs as loops
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


def taken_and_cleared(y, out, a, n):
    """As a recurrence's adjoint: what is cleared is what the iteration before stored."""
    for i in range(n, 0, -1):
        t = y[i]
        y[i] = 0.0
        y[i - 1] += a * t
        out[i] += t


def cleared_first(y, out, a, n):
    for i in range(n, 0, -1):
        y[i] = 0.5
        t = y[i]
        y[i - 1] = a * t + out[i]


def cleared_at_times(y, out, a, n):
    for i in range(1, n):
        t = y[i]
        if t > out[i]:
            y[i] = a
        y[i + 1] = y[i + 1] * t


def overwritten(y, out, a, n):
    for i in range(1, n):
        t = y[i]
        y[i] = a
        y[i + 1] = t * 0.5
        y[i + 1] = out[i] + t


@pytest.mark.parametrize(
    "function", [taken_and_cleared, cleared_first, cleared_at_times, overwritten]
)
def test_elements_that_are_taken_and_stored_again(function):
    more = [(vector(m), vector(m), 0.5, m - 2) for m in (3, 4, 21)]
    check(function, vector(12), vector(12), 0.9, 10, also=tuple(more), whole=True)


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


def test_writes_are_undone_when_a_later_step_fails():
    def f(a, x):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = a[i, j] * x[j] + i
        return 1.0 / x

    check(f, grid(5, 3), np.array([1.0, 0.0, 2.0]))
    check(f, grid(300, 30).T, np.r_[0.0, vector(299)], also=((grid(30, 300), np.zeros(300)),))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_copies_are_put_back(dtype):
    """Copies that threads share: an error comes last, and Python does it all again."""

    def running(x, y, n):
        for i in range(1, n):
            y[i] = x[i - 1] + x[i]

    n = 100_003
    x, y = vector(n).astype(dtype), np.linspace(1, 2, n).astype(dtype)
    large = x.copy()
    large[-2:] = np.finfo(dtype).max
    gaps = np.linspace(1, 2, 2 * n).astype(dtype)[::2]
    check(running, x, y, n, also=((large, y, n), (large, y, n + 1)))
    check(running, x, gaps, n, also=((large, gaps, n), (large, gaps, n + 1)))


def test_values_that_have_arguments_in_common():
    """As a tree the last of them has 2**40 leaves."""
    lines = ["def doubled(x, n):", "    for i in range(n):", "        k = i"]
    lines += ["        k = k + k"] * 40
    lines += ["        if -1 < k < 7:", "            x[k] += 1.0", "        x[k % n] += x[i]"]
    scope = {}
    exec("\n".join(lines), scope)
    check(scope["doubled"], vector(30), 30, also=((vector(9), 9),), captured=False)


def read_then_written(x, y, n):
    s = np.float64(0)
    for i in range(n):
        if y[i] > 0:
            s += y[i]
    for i in range(n):
        y[i] = s - x[i]
    for i in range(1, n):
        x[i] += y[i - 1]
    return s


def test_an_array_that_a_later_loop_writes():
    """The loop that reads it has ended."""
    also = tuple((vector(m), vector(m), n) for m, n in ((9, 9), (9, 10), (1, 1), (4, 0)))
    check(read_then_written, vector(20), vector(20), 20, also=also, whole=True)


def fill_and_fail(x, out, at):
    for i in range(len(x)):
        for j in range(len(x) - 3):
            out[i, j] = x[i] * j
        out[i, at[i]] += 1.0


def scattered(x, out, at):
    for i in range(len(x)):
        out[at[i] % 7, at[i]] += x[i]


@pytest.mark.parametrize("function", [fill_and_fail, scattered])
@pytest.mark.parametrize("shape", [(7, 7), (60, 60), (60, 600)])
def test_arrays_of_one_number_are_restored(function, shape):
    """As a whole, by rows, by elements: an error comes last, and Python does it all again."""
    n = shape[0]
    layouts = (
        lambda: np.full(shape, 2.5),
        lambda: np.full(shape[::-1], -0.0).T,
        lambda: np.full((2 * n, shape[1]), np.nan)[::2],
        lambda: np.where(np.arange(shape[1]) == shape[1] - 1, 1.0, np.zeros(shape)),
    )
    for make in layouts:
        for wrong in (3, shape[1]):
            at = np.full(n, 3)
            at[-1] = wrong
            check(function, np.arange(1.0, n + 1), make(), at, captured=False)
