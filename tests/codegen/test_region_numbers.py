"""Kept loops: arithmetic, and numbers whose class (Python's or NumPy's) the loop keeps track of."""

import math

import numpy as np
import pytest

from tests.differential import check

RNG = np.random.default_rng(7)


def vector(n, dtype=np.float64):
    return RNG.standard_normal(n).astype(dtype)


def grid(*shape):
    return RNG.standard_normal(shape)


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


@pytest.mark.slow
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


def test_products_are_rounded_beside_one_another():
    """gcc has an instruction for a * b - c and a * b + c of two neighbours, which rounds once."""

    def products(x, y, out):
        for i in range(len(x)):
            out[i, 0] = x[i, 0] * y[i, 0] - x[i, 1] * y[i, 1]
            out[i, 1] = x[i, 0] * y[i, 1] + x[i, 1] * y[i, 0]
        return out

    def interleaved(x, y, out):
        for i in range(len(x) // 2):
            re, im = x[2 * i], x[2 * i + 1]
            out[2 * i] = re * y[2 * i] - im
            out[2 * i + 1] = re * y[2 * i + 1] + im
        return out

    for dtype in ("f8", "f4"):
        check(products, *grid(3, 400, 2).astype(dtype))
        check(interleaved, *grid(3, 800).astype(dtype))


# ---- numbers that do not fit their dtype ----


def narrow(a, b, out):
    most = out[0]
    for i in range(1, len(a)):
        s = max(a[i] + b[i], a[i - 1] - b[i])
        out[i] = s
        if s > most:
            most = s
    return most


def narrow_products(a, b, out):
    for i in range(len(a)):
        out[i] = a[i] * b[i] + a[i]
    return out


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("function", [narrow, narrow_products])
def test_overflow_of_any_iteration(function, dtype):
    """It is looked at behind the loop, and warned of where it was."""
    info = np.iinfo(dtype)
    args = []
    for at in (None, 0, 1, 20, 39):
        for edge, more in ((info.max, 1), (info.max, 0), (info.min, 1), (info.min, 2)):
            a, b = np.full(40, 5, dtype), np.full(40, 3, dtype)
            if at is not None:
                a[at], b[at] = edge, more
            args.append((a, b, np.zeros(40, dtype)))
    check(function, *args[0], also=tuple(args[1:]), captured=False)
    with np.errstate(over="ignore"):
        check(function, *args[0], also=tuple(args[1:]), captured=False)


def best_of(x, way):
    best = 0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
    if way == 0:
        return int(best)
    return float(best) if way == 1 else bool(best) if way == 2 else best


@pytest.mark.parametrize("dtype", ["i4", "f8", "u1"])
def test_a_number_of_either_class_that_is_converted(dtype):
    x = (RNG.random(30) * 99).astype(dtype)
    for way in range(4):
        check(best_of, x, way, also=((x * 0, way), (x[:0], way)), captured=False)


def powers(x, out):
    for i in range(len(x)):
        v = float(x[i])
        out[i, 0], out[i, 1], out[i, 2] = v**2, v**3, v**4
        out[i, 3], out[i, 4], out[i, 5] = v**5, v**12, v**31
    return out


def test_whole_powers():
    """Near the middle of two doubles, beyond the bounds, and exact ones."""
    scales = np.array([1e-200, 1e-60, 1e-4, 0.3, 1.0, 3.0, 1e4, 1e9])
    x = np.concatenate([vector(4000) * s for s in scales])
    exact = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, 10.0, np.nextafter(2, 0), 1e-320])
    tied = 1 + np.arange(1, 500) * 2.0**-27  # squares that lie between two doubles
    for y in (x, exact, tied, -tied):
        check(powers, y, np.zeros((len(y), 6)), captured=False)
    check(powers, np.array([1.0, np.nan, -np.inf]), np.zeros((3, 6)), captured=False)
    check(powers, np.array([1.0, 1e200]), np.zeros((2, 6)), captured=False)
