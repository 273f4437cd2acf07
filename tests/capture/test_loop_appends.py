"""Kept loops that append numbers, and tuples of numbers, to lists."""

import signal
import warnings

import numpy as np
import pytest

import pycompile
from pycompile import _C
from tests.differential import check
from tests.reports import breaks

RNG = np.random.default_rng(5)
X = RNG.standard_normal(60).round(2)
H = RNG.integers(-5, 60, 60)


def squares(x):
    out = []
    for i in range(len(x)):
        out.append(x[i] * x[i])
    return out


def where_positive(x):
    found = []
    for i in range(len(x)):
        if x[i] > 0:
            found.append(i)
    return found


def pairs(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append((i, x[i], x[i] > 1.0))
    return out


def comprehension(x):
    return [x[i] * 2 + 1 for i in range(len(x)) if x[i] < 1]


def both_sides(x):
    low, high = [], []
    for v in x:
        if v < 0:
            low.append(float(v))
        else:
            high.append(float(v) * 2)
    return low, high


def in_both_loops(a):
    out = [1, "two"]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 0.5:
                out.append(i * 10 + j)
        out.append(-i)
    return out


def by_a_while(x):
    out, i = [], 0
    while i < len(x) and x[i] < 2.2:
        if x[i] < -1:
            i += 3
            continue
        out.append(x[i] + i)
        i += 1
    return out, i


def add(out, v):
    out.append(v * 2)


def by_a_function(x):
    out = []
    for i in range(len(x)):
        add(out, x[i])
    return out


def by_a_bound_method(x):
    out = []
    append = out.append
    for i in range(len(x)):
        append(x[i] - 1)
    return out


class Log:
    def __init__(self):
        self.seen = []

    def add(self, v):
        self.seen.append(v)


def by_an_object(x):
    log = Log()
    for i in range(len(x)):
        log.add(x[i] * 3)
    return log.seen


def twice(x):
    out = []
    for i in range(len(x)):
        out.append(x[i])
    out.append(7.5)
    for i in range(len(x) // 2):
        out.append(x[i] * x[i + 1])
    return out


def used_behind(x):
    out = []
    for i in range(len(x)):
        out.append(x[i] * 2)
    y = np.array(out)
    return y.sum(), len(out), out[-1:], sum(out), [v for v in out if v > 1]


def complex_numbers(x):
    out = []
    for i in range(len(x)):
        out.append(complex(x[i], 1.0))
    return out


def small_numbers(x):
    out, y = [], x.astype(np.float32)
    for i in range(len(x)):
        out.append(y[i] + y[i])
    return out


def bools(x):
    out = []
    for i in range(len(x)):
        out.append(x[i] > 0 and i > 3)
    return out


def in_no_turn(x):
    out = []
    for i in range(len(x), len(x)):
        out.append(x[i])
    return out


def left(x):
    out = []
    for i in range(len(x)):
        if x[i] > 1.9:
            return out, i
        out.append(x[i])
    return out


def sums_and_items(x):
    out, s = [], 0.0
    for i in range(len(x)):
        s += x[i]
        out.append(s)
    return out, s


FUNCTIONS = [
    squares,
    where_positive,
    pairs,
    comprehension,
    both_sides,
    by_a_while,
    by_a_function,
    by_a_bound_method,
    by_an_object,
    twice,
    used_behind,
    complex_numbers,
    small_numbers,
    bools,
    in_no_turn,
    left,
    sums_and_items,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_appends(function):
    check(function, X, also=((X[:0],), (X[::2],), (np.full(9, np.nan),), (np.ones(2000),)))


def test_nested_loops():
    a = RNG.random((13, 11))
    check(in_both_loops, a, also=((a[:, :0],), (a[:0],), (a.T,)), whole=True)


def test_a_few_turns_are_unrolled():
    """So that what is in the list is known."""

    def few(x):
        out = []
        for i in range(4):
            out.append(x[i])
        return np.array(out) * 2.0, np.array([x[i] for i in range(3)]).sum(), len(out)

    check(few, X, whole=True, also=((X[:9],),))


@pytest.mark.slow
@pytest.mark.parametrize("variants", [1, 2, 3])
def test_each_variant(variants):
    _C.test_variants(variants)
    try:
        for function in (squares, pairs, by_a_while, both_sides):
            plain, compiled = function(X), pycompile.compile(function)(X)
            assert repr(plain) == repr(compiled)
            pycompile.reset()
    finally:
        _C.test_variants(0)


def extends(x, log):
    for i in range(len(x)):
        if x[i] > 0.5:
            log.append(x[i])
    return len(x)


def test_a_list_from_outside_stays_that_object():
    compiled = pycompile.compile(extends)
    for before in ([], [1, 2], ["text"], []):
        plain, ours = list(before), list(before)
        other = ours
        extends(X, plain)
        compiled(X, ours)
        assert other is ours and repr(plain) == repr(ours)
    assert compiled.stats()["plans"] == 1 and compiled.stats()["plan_runs"] >= 3


def two_lists(x, a, b):
    for i in range(len(x)):
        a.append(x[i])
        if x[i] > 0:
            b.append(i)
    return len(x)


@pytest.mark.slow
def test_two_lists_that_are_one():
    for order in ((False, True), (True, False), (True, True)):
        compiled = pycompile.compile(two_lists)
        for same in order * 2:
            plain, ours = ([], []), ([], [])
            if same:
                plain, ours = plain[:1] * 2, ours[:1] * 2
            two_lists(X, *plain)
            compiled(X, *ours)
            assert repr(plain) == repr(ours)
        pycompile.reset()


def reads_the_other(x, log, other):
    for i in range(len(x)):
        log.append(x[i])
    return other[0] if len(other) > 2 else len(other)


def test_a_list_that_is_read_and_appended_to():
    compiled = pycompile.compile(reads_the_other)
    for same in (False, True, False, True):
        plain, ours = ([1.5], [2.5]), ([1.5], [2.5])
        if same:
            plain, ours = plain[:1] * 2, ours[:1] * 2
        assert reads_the_other(X, *plain) == compiled(X, *ours)
        assert repr(plain) == repr(ours)


def reads_within(x):
    out = [0.0]
    for i in range(len(x)):
        out.append(out[-1] + x[i])
        if len(out) > 40:
            break
    return out


def walked(x):
    out = [1.0, 2.0]
    it = iter(out)
    for i in range(len(x)):
        out.append(x[i])
    return list(it)


def made_inside(x):
    out = []
    for i in range(4):
        row = []
        for k in range(len(x)):
            row.append(x[k] * i)
        out.append(row)
    return out


def other_changes(x):
    out = []
    for i in range(len(x)):
        out.append(x[i])
        if x[i] < -1:
            out.pop()
    return out


def of_several_types(x):
    out = []
    for i in range(len(x)):
        out.append(x[i] if x[i] > 0 else 0)
        if x[i] > 1:
            out.append("large")
    return out


@pytest.mark.parametrize(
    "function", [reads_within, walked, made_inside, other_changes, of_several_types]
)
def test_what_python_does(function):
    check(function, X, captured=False)


def out_of_bounds(x, h, out):
    for i in range(len(h)):
        out.append(x[h[i]])
    return len(h)


def test_an_index_out_of_bounds_leaves_what_was_appended_before():
    check(out_of_bounds, X, H, [1], also=((X[:30], H, []), (X[:30], H, [3])))


def overflows(h, out):
    s = 1
    for i in range(len(h)):
        s = s * 3 + h[i].item()
        out.append(s)
    return s


def test_ints_beyond_64_bits():
    check(overflows, H[:5], [], also=((H, []), (H, [1])))


def divides(x, out):
    for i in range(len(x)):
        out.append(1.0 / x[i])
    return len(x)


def test_warnings_and_errors():
    zero = X.copy()
    zero[7] = 0.0
    check(divides, X, [], also=((zero, []), (zero, [1])))

    def divides_python(x, out):
        for i in range(len(x)):
            out.append(1.0 / float(x[i]))

    check(divides_python, X, [], also=((zero, []), (zero, [1])))


def endless(x, out):
    i = 0
    while x[0] > -1:
        i = (i + 1) % len(x)
        out.append(x[i])


def test_a_signal():
    class Stop(BaseException):
        pass

    def stop(number, frame):
        raise Stop

    compiled = pycompile.compile(endless)
    compiled(np.full(4, -2.0), [])
    before = signal.signal(signal.SIGALRM, stop)
    out = []
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Stop):
            compiled(np.arange(4.0), out)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert out[:8] == [1.0, 2.0, 3.0, 0.0] * 2 or out == []


@pytest.mark.parametrize("function", [squares, pairs, both_sides, complex_numbers, bools])
def test_the_reference_executor(function):
    compiled = pycompile.compile(function, backend="eager")
    for x in (X, X[:0], X[::2]):
        assert repr(compiled(x)) == repr(function(x))


def test_memory_is_given_back():
    compiled = pycompile.compile(squares)
    for length in (10, 100_000, 10, 300_000, 5):
        x = np.arange(float(length))
        assert compiled(x) == squares(x)


def test_nothing_is_appended_twice_where_a_later_step_fails():
    def fails_behind(x, out, y):
        for i in range(len(x)):
            out.append(x[i])
        return np.sqrt(x.sum()) + y.sum()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(fails_behind, X, [], X, also=((-np.abs(X), [], X), (-np.abs(X), [2], X)))


def large(x, t):
    out = []
    for i in range(len(x)):
        if x[i] > t:
            out.append(i)
    return out


def into_two(x, n):
    numbers, places = [], []
    for i in range(n):
        numbers.append(x[i])
        places.append(i)
    return numbers, places


def in_nests(a):
    out = []
    for i in range(len(a)):
        for j in range(a.shape[1]):
            if a[i, j] > 0:
                out.append((i, j))
    return out


def test_few_items_are_left_to_the_interpreter():
    """Their plan takes longer than CPython does; it is kept for calls with more of them."""
    pycompile.reset()
    compiled = pycompile.compile(large, options={"plan_always": False})
    x = np.linspace(0.0, 1.0, 500)
    for few in (x[:1], x[:3], x[:0], x[:4]):
        assert compiled(few, -1.0) == large(few, -1.0)
    assert compiled.stats()["plan_runs"] == 0
    for _ in range(3):
        assert compiled(x, 0.5) == large(x, 0.5)
    assert compiled.stats()["plan_runs"] >= 2
    before = compiled.stats()["plan_runs"]
    for few in (x[:1], x[:2], x[:3]):
        assert compiled(few, -1.0) == large(few, -1.0)
    assert compiled.stats()["plan_runs"] == before


@pytest.mark.slow
def test_few_and_many_by_turns():
    x = np.linspace(-1.0, 1.0, 60)
    also = tuple((x[:n], 0.0) for n in (4, 5, 3, 60, 0, 59))
    check(large, x, 0.0, also=also)
    check(into_two, x, 60, also=((x, 3), (x, 16), (x, 17), (x, 0), (x, 59)))
    wide = x.reshape(2, 30)
    check(in_nests, wide, also=((x.reshape(30, 2),), (x[:0].reshape(0, 30),)))


# ---- what is done with such a list behind the loop ----


def reversed_behind(x):
    found = []
    for i in range(len(x)):
        if x[i] > 0:
            found.append(i)
    return found[::-1]


def counted_behind(x):
    found = []
    for i in range(len(x)):
        if x[i] > 0:
            found.append(i)
    return found, len(found)


def added_behind(x):
    found = []
    for i in range(len(x)):
        if x[i] > 0:
            found.append(x[i])
    return np.array(found) * 2.0


def taken_behind(x):
    return [v * 2 for v in x][:3]


def sorted_behind(x):
    found = []
    for i in range(len(x)):
        if x[i] > 0:
            found.append(x[i])
    found.sort()
    return found


@pytest.mark.parametrize(
    "function", [reversed_behind, counted_behind, added_behind, taken_behind, sorted_behind]
)
def test_other_uses_are_told_as_uses_of_such_a_list(function):
    check(function, X, also=((-X,), (X[:7],)))
    (item,) = breaks(function, X)
    assert item["code"] == "PC0053", item
    assert "Nothing has to change" in item["hint"] and "return the list" in item["hint"]


def fills(x):
    out = np.zeros(len(x))
    m = 0
    for i in range(len(x)):
        if x[i] > 0:
            out[m] = x[i]
            m += 1
    return out, m


def test_what_the_hint_says_is_no_break():
    check(where_positive, X, whole=True)
    check(fills, X, whole=True)
