"""Kept loops that begin with a number whose class an earlier loop has decided."""

import numpy as np
import pytest

import pycompile
from tests.differential import MANY, check


def twice(x, y, n):
    s = 0.0
    for i in range(n):
        if x[i] > 0:
            s += x[i]
    for i in range(len(y)):
        s += y[i]
    return s


def some_each_time(x, y, n):
    s = t = 0.0
    for i in range(n):
        if x[i] > 0:
            s += x[i]
    for i in range(len(y)):
        if y[i] > 5:
            s = s + y[i]
            t = s
    for i in range(n):
        if x[i] > 100:
            s -= 1.0
        y[0] = s
    return s, t


def in_a_while(x, y, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            s += x[j]
    k = 0
    while k < len(y) and s < 50:
        s = y[k] + s
        k += 1
    while k > 0:
        if x[k - 1] > 90:
            s *= x[k - 1]
        k -= 1
    return s, k


def from_an_int(x, y, n):
    s = 0
    for _ in range(n):
        for v in x:
            s = s + v
    for v in y:
        if v > 2:
            s = s + v
    return s


def divided(x, y, n):
    s = 1.0
    for i in range(n):
        if x[i] > 4:
            s = x[i]
    for i in range(len(y)):
        if y[i] > 1:
            s = y[i] / s
    return s


def used_between(x, y, n):
    s = 0.0
    for i in range(n):
        if x[i] > 0:
            s += x[i]
    y[0] = s
    t = s
    for i in range(len(y)):
        s += y[i] * 0.5
        if s > 3:
            t = s
    return s, t, type(t) is float


def becomes_a_float(x, y, n):
    s = 0.0
    for i in range(n):
        if x[i] > 0:
            s += x[i]
    for i in range(len(y)):
        s = float(s) + 1.0
        y[i] = s
    return s


def carried_over(x, y, n):
    s = t = u = 1
    for a in x:
        if a > s:
            u = t
            t = s
            s = a - s
    return s, t, u


def carried_over_in_two_classes(x, y, n):
    s, t, u, v = 1, 0.0, 1.5, 2
    for a in x:
        if a > s:
            u = t
            t = s
            s = a - s
        if a > 3:
            v = u
    return s, t, u, v


def asked_by_type(x, y, n):
    s, k = 0.0, 0
    for v in x:
        k += type(s) is float
        s = s + v
    return s, k


def asked_by_isinstance(x, y, n):
    s, k = 0, 0
    for v in x:
        if isinstance(s, int):
            k += 10
        s = s + v
    return s, k


def asked_for_attributes(x, y, n):
    s, k = 0.0, 0
    for v in x:
        if hasattr(s, "dtype"):
            k += 1
        elif s.__class__ is float:
            k += 10
        s = s + v
    return s, k


def follows_links(x, y, n):
    """i is Python's int until a link is followed."""
    links = np.array([0, 0, 1, 2, -1])
    i = n % 4
    while links[i] != i:
        i = links[i]
    y[i] = n
    return i


FUNCTIONS = [twice, some_each_time, in_a_while, from_an_int, divided, used_between, becomes_a_float]
FUNCTIONS += [carried_over, carried_over_in_two_classes]
FUNCTIONS += [follows_links]
FUNCTIONS += [asked_by_type, asked_by_isinstance, asked_for_attributes]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_class_goes_from_loop_to_loop(function, dtype):
    rows = [np.arange(12) - 3, np.zeros(12), np.full(12, -1), np.arange(12)[::-1]]
    arrays = [np.asarray(row).astype(dtype) for row in rows]
    args = [(x, y, n) for x in arrays for y in (*arrays, arrays[0][:0]) for n in (12, 0, 1, 4)]
    check(function, *args[0], also=tuple(args[1:]), captured=False, options=MANY)


@pytest.mark.parametrize("function", [twice, some_each_time, in_a_while, follows_links])
def test_they_are_one_graph(function):
    compiled = pycompile.compile(function, fullgraph=True)
    x = np.arange(12.0)
    compiled(x, x.copy(), 9)
    assert compiled.stats()["plan_runs"] == 1


# ---- Python's own classes, where an inner loop makes no turn ----


def an_int_for_a_bool(x, n):
    s = True
    for _v in x:
        for _ in range(1, n):
            s = 0
    return s


def an_int_for_a_comparison(x, n):
    s = n > 1
    for _v in x:
        for _ in range(1, n):
            s = 7
    return s


def an_int_for_a_float(x, n):
    s = 0.5
    for _v in x:
        for _ in range(1, n):
            s = n
    return s


def a_float_for_a_bool(x, n):
    s = True
    for _v in x:
        for _ in range(1, n):
            s = 0.5
    return s


@pytest.mark.parametrize(
    "function", [an_int_for_a_bool, an_int_for_a_comparison, an_int_for_a_float, a_float_for_a_bool]
)
def test_a_number_stays_what_it_was_where_an_inner_loop_makes_no_turn(function):
    x = np.arange(3.0)
    args = [(x, 1), (x[:0], 3), (x, 2), (x, 0)]
    check(function, x, 3, also=tuple(args), captured=False, options=MANY)


def added_up(x, m):
    s = 0
    for i in range(len(x)):
        s += x[i]
    return s


def added_items(x, m):
    s = 0
    for v in x:
        s += v
    return s


def added_from_a_float(x, m):
    s = 0.0
    for v in x:
        s = v + s
    return s


def added_in_a_nest(x, m):
    s = 0
    for i in range(m):
        for j in range(i):
            s += x[j]
    return s


def added_where_it_is_more(x, m):
    s = t = 1
    for v in x:
        if v > s:
            t = s
            s = v - s
    return s, t


def assigned(x, m):
    s = t = 3
    for v in x:
        if v > 2:
            s = v
        t = v
    return s, t


SUMS = [added_up, added_items, added_from_a_float, added_in_a_nest, added_where_it_is_more]
REAL = [np.float64, np.float32, np.int64, np.int32, np.uint8, np.int16]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("function", [*SUMS, assigned])
def test_sums_that_begin_with_a_number_of_pythons(function, dtype):
    rows = [np.arange(12) - 3, np.zeros(12), np.full(12, 120), np.full(5, 0.1), np.full(1, -0.0)]
    arrays = [np.asarray(row).astype(dtype) for row in rows]
    args = [(x, m) for x in (*arrays, arrays[0][:0]) for m in (len(x), 1, 0)]
    if dtype == np.float32:
        args += [(np.full(3, 1e38, dtype), 3), (np.array([-0.0, np.nan, np.inf], dtype), 2)]
    check(function, *args[0], also=tuple(args[1:]), captured=False, options=MANY)


KEPT = [(function, dtype) for function in SUMS for dtype in (np.float64, np.float32, np.int64)]
KEPT += [(assigned, dtype) for dtype in REAL]


@pytest.mark.parametrize(("function", "dtype"), KEPT)
def test_such_sums_are_kept_loops(function, dtype):
    compiled = pycompile.compile(function, fullgraph=True)
    for n in (40, 300):
        compiled(np.arange(n).astype(dtype) % 7, n)
    stats = compiled.stats()
    assert stats["compiles"] == 1 and stats["plan_runs"] == 2, stats


def in_double_at_first(x, m):
    """Python's 0.1 is no float32."""
    s = 0.0
    for v in x:
        s += 0.1
        s += v
    return s


def compared(x, m):
    s, k = 0.5, 0
    for v in x:
        k += s < 0.1
        s = v
    return s, k


def doubled(x, m):
    s = 16777215
    for v in x:
        s = s + s
        x[0] = s
        s = s + v
    return s


def no_float32(x, m):
    s = 16777217
    for v in x:
        s = s + v
    return s


def asked_for_its_class(x, m):
    s, k = 0.0, 0
    for v in x:
        if type(s) is float:
            k += 1
        if isinstance(s, float):
            k += 10
        s = s + v
    return s, k


def with_a_wider_one(x, m):
    s, t = 0, 0.0
    for v in x:
        t = s + np.float64(v)
        s = s + v
    return s, t


NARROW = [in_double_at_first, compared, doubled, no_float32, asked_for_its_class, with_a_wider_one]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("function", NARROW)
def test_numbers_whose_class_matters_before_they_are_narrow(function, dtype):
    arrays = [np.asarray(row).astype(dtype) for row in (np.full(9, 0.1), np.arange(5), [3])]
    args = [(x, 1) for x in (*arrays, arrays[0][:0])]
    check(function, *args[0], also=tuple(args[1:]), captured=False, options=MANY)


# ---- an int on one way and NumPy's float on the other ----


def negated(x, y, n):
    for i in range(len(y)):
        a = 0
        if x[i] > 1:
            a = x[i]
        y[i] = -a
    return y


def negated_by_a_factor(x, y, n):
    for i in range(len(y)):
        a = x[i] if x[i] > 1 else 0
        y[i] = a * -1 + -(a - a) - abs(a)
    return y


def nothing_of_a_negative_number(x, y, n):
    for i in range(len(y)):
        a = x[i] if x[i] > 1 else -1
        y[i] = a * 0
    return y


def larger_than_floats_have(x, y, n):
    for i in range(len(y)):
        a = x[i] if x[i] > 1 else 1
        y[i] = a + 9007199254740992 + 1 - 9007199254740992
    return y


def powers(x, y, n):
    a = 3
    for i in range(40):
        if i == n:
            a = x[0]
        a = a * 3
    return a


def sums_of_itself(x, y, n):
    s, t = 1, 1
    for i in range(90):
        if i == n:
            s = x[0]
        s, t = s + t, s
    return s, t


def from_a_constant_of_numpy(x, y, n):
    a = 0.0
    c = np.float64(2)
    for i in range(len(x)):
        if x[i] > n:
            break
        a = a + c
    return a


def under_a_condition(x, y, n):
    a, c = 0.0, np.float64(2)
    for v in x:
        if v > n:
            a -= c
    return a


@pytest.mark.parametrize(
    "function",
    [
        negated,
        negated_by_a_factor,
        nothing_of_a_negative_number,
        larger_than_floats_have,
        powers,
        sums_of_itself,
        from_a_constant_of_numpy,
        under_a_condition,
    ],
)
def test_an_int_is_told_from_a_float(function):
    rows = [np.zeros(3), np.array([0.5, 3.0, 2.0]), np.array([7.0, 0.0, -0.0])]
    args = [(x, np.ones(len(x)), n) for x in rows for n in (0, 2, 99)]
    check(function, *args[0], also=tuple(args[1:]), captured=False, options=MANY)


def both_true(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] > 0 and i > 3
    return out


def last_true(x, y, out):
    ok = False
    for i in range(len(x)):
        ok = x[i] > 0 and i % 3 == 1
        if ok:
            out[i] = True
    return ok, out


def compared_bools(x, y, out):
    n = 0
    for i in range(len(x)):
        a = x[i] > 0 and i % 3 == 1
        if a == (y[i] > 0 or i < 5):
            n += 1
        if not a and a != True:  # noqa: E712
            n += 2
    return n


def added_bools(x, y, out):
    n = 0
    for i in range(len(x)):
        n = n + ((x[i] > 0 and i % 3 == 1) + (y[i] > 0 or i % 2 == 1))
    return n


def appended_bools(x, y, out):
    found = []
    for i in range(len(x)):
        found.append(x[i] > 0 and i % 3 == 1)
    return found


BOOLS = [both_true, last_true, compared_bools, added_bools, appended_bools]


@pytest.mark.parametrize("function", BOOLS)
def test_bools_of_two_classes(function):
    """`x[i] > 0 and i > 3`: NumPy's bool, or Python's, of which the sum of two is an int."""
    x = np.sin(np.arange(80))
    also = tuple((a, a * k, np.zeros(80, bool)) for a in (x[:0], x[:1], -abs(x)) for k in (1, -1))
    check(function, x, -x, np.zeros(80, bool), also=also, captured=function in BOOLS[:3])


def the_one_true(x, y, out):
    n = 0
    for i in range(len(x)):
        a = x[i] > 0 and i % 3 == 1
        if a is True:
            n += 1
        n += (a is not False) * 100
    return n


def the_last_is_true(x, y, out):
    s = a = False
    for i in range(len(x)):
        a = i > 5 or x[i] > 0
        s = a is True
    return s, a


def the_same_bool(x, y, out):
    n = 0
    for i in range(len(x)):
        a = i > 5 or x[i] > 0
        n += a is (i > 7)
    return n


@pytest.mark.parametrize("function", [the_one_true, the_last_is_true, the_same_bool])
def test_which_bool_it_is(function):
    """Only Python's True is True."""
    x = np.sin(np.arange(80))
    also = tuple((a, a, np.zeros(80, bool)) for a in (x[:0], x[:3], -abs(x), abs(x)))
    check(function, x, -x, np.zeros(80, bool), also=also, captured=False)


def added_arrays_without_axes(x, y, n):
    s = 0
    for i in range(len(x)):
        s = s + np.where(i > 1, x[i], i)
    return s


def added_one_of_two(x, y, n):
    s = t = 0
    for i in range(len(x)):
        if y[i] > n:
            s = s + np.where(x[i] > 1, x[i], 3)
            t += s
    return s, t


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("function", [added_arrays_without_axes, added_one_of_two])
def test_arrays_without_axes_are_numpys(function, dtype):
    x = (np.arange(40) * 7 % 12).astype(dtype)
    args = [(a, a, n) for a in (x, x[:0], x[:1], x[:9]) for n in (3, 50)]
    check(function, *args[0], also=tuple(args[1:]), captured=False, options=MANY)
