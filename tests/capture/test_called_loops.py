"""Loops in functions that are called from kept loops, or from code that has none."""

import math

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.differential import MANY, check, check_whole

RNG = np.random.default_rng(23)
N = 40
EDGES = RNG.integers(0, N, N), RNG.integers(0, N, N)


# ---- functions with a loop, called in one ----


def find(p, i):
    while p[i] != i:
        i = p[i]
    return i


def joined(p, a, b):
    ra, rb = find(p, a), find(p, b)
    if ra == rb:
        return False
    p[ra] = rb
    return True


def sets_by_index(p, u, v):
    n = 0
    for k in range(len(u)):
        ra = find(p, u[k])
        rb = find(p, v[k])
        if ra != rb:
            p[ra] = rb
            n += 1
    return n


def sets_by_items(p, u, v):
    for a, b in zip(u, v):
        ra, rb = find(p, a), find(p, i=b)
        if ra != rb:
            p[ra] = rb


def sets_by_calls(p, u, v):
    """The function that is called writes, and so does none that stands in the loop."""
    n = 0
    for k in range(len(u)):
        if joined(p, u[k], v[k]):
            n += 1
    return n


@pytest.mark.parametrize("function", [sets_by_index, sets_by_items, sets_by_calls])
def test_union_find(function):
    chain = np.minimum(np.arange(N) + 1, N - 1)
    odd = (
        np.arange(9),
        np.array([3, 12]),
        np.array([4, 5]),
    )  # an index out of bounds, after writes
    back = (np.arange(9), np.array([-3, 2, 8]), np.array([4, -9, 6]))
    check_whole(function, np.arange(N), *EDGES, also=((chain, *EDGES), odd, back, odd))


class Sets:
    def __init__(self, n):
        self.p = np.arange(n)
        self.size = np.ones(n, np.int64)

    def find(self, i):
        while self.p[i] != i:
            self.p[i] = self.p[self.p[i]]
            i = self.p[i]
        return i

    def join(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.p[b] = a
        self.size[a] += self.size[b]
        return True


def sets_of_an_object(sets, u, v):
    n = 0
    for k in range(len(u)):
        if sets.join(u[k], v[k]):
            n += 1
    return n, sets.p, sets.size


def sets_of_an_object_made_here(u, v):
    sets = Sets(len(u))
    for k in range(len(u)):
        sets.join(u[k], v[k])
    return sets.p, sets.size


def sets_of_a_closure(u, v):
    p = np.arange(len(u))

    def find(i):
        while p[i] != i:
            p[i] = p[p[i]]
            i = p[i]
        return i

    for k in range(len(u)):
        ra, rb = find(u[k]), find(v[k])
        if ra != rb:
            p[ra] = rb
    return p


SHARED = np.arange(N)


def find_shared(i):
    while SHARED[i] != i:
        i = SHARED[i]
    return i


def sets_of_a_global(u, v):
    SHARED[:] = np.arange(N)
    for k in range(len(u)):
        ra, rb = find_shared(u[k]), find_shared(v[k])
        if ra != rb:
            SHARED[ra] = rb
    return SHARED.copy()


def sets_in_a_tuple(both, u, v):
    n = 0
    for k in range(len(u)):
        n += joined(both[0], u[k], v[k])
        both[1][k] = n
    return both


@pytest.mark.slow
def test_arrays_that_are_in_no_variable():
    check_whole(sets_of_an_object, Sets(N), *EDGES, also=((Sets(N), *EDGES[::-1]),))
    check_whole(sets_of_an_object_made_here, *EDGES)
    check_whole(sets_of_a_closure, *EDGES)
    check(sets_of_a_global, *EDGES)
    check_whole(sets_in_a_tuple, (np.arange(N), np.zeros(N)), *EDGES)


def test_the_array_of_a_global_may_be_another_one():
    global SHARED
    compiled = pycompile.compile(sets_of_a_global)
    before = sets_of_a_global(*EDGES)
    for _ in range(3):
        assert np.array_equal(compiled(*EDGES), before)
        SHARED = SHARED.astype(SHARED.dtype)
    assert np.array_equal(SHARED, before)


# ---- ways out ----


def first_above(a, x):
    for k in range(len(a)):
        if a[k] > x:
            return k
    return -1


def first_or_none(a, x):
    for k, v in enumerate(a):
        if v > x:
            return k
    return None


def place(a, x):
    if x <= a[0]:
        return 0
    if x > a[-1]:
        return len(a)
    lo, hi = 0, len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


def newton(x, most=50, tol=1e-12):
    y = x
    for _ in range(most):
        z = y - (y * y - x) / (2 * y)
        if abs(z - y) < tol:
            return z
        y = z
    return y


def is_prime(n):
    if n < 2:
        return False
    i = 2
    while i * i <= n:
        if n % i == 0:
            return False
        i += 1
    return True


def escapes(x, y, most=30):
    zr = zi = 0.0
    for i in range(most):
        zr, zi = zr * zr - zi * zi + x, 2 * zr * zi + y
        if zr * zr + zi * zi > 4:
            return i
    return most


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def all_first(a, b):
    out = np.zeros(len(b), np.int64)
    for i in range(len(b)):
        out[i] = first_above(a, b[i])
    return out


def all_places(a, b):
    out = np.zeros(len(b), np.int64)
    for i, x in enumerate(b):
        out[i] = place(a, x)
    return out


def all_roots(a, b):
    for i in range(len(b)):
        b[i] = newton(b[i], tol=1e-6) + newton(a[i])
    return b


def all_primes(a, b):
    out = np.zeros(60, bool)
    for k in range(len(out)):
        out[k] = is_prime(k)
    return out


def all_escapes(a, b):
    out = np.empty((9, 12), np.int64)
    for i in range(9):
        for j in range(12):
            out[i, j] = escapes(-2 + 3 * j / 12, -1 + 2 * i / 9)
    return out


def all_gcds(a, b):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        out[i] = gcd(int(a[i] * 100), int(b[i] * 1000))
    return out


@pytest.mark.parametrize(
    "function", [all_first, all_places, all_roots, all_primes, all_escapes, all_gcds]
)
def test_returns_from_inside(function):
    a, b = np.sort(RNG.random(30)) + 0.1, RNG.random(30) * 1.3 + 0.05
    zeros = np.zeros(30)
    odd = b.copy()
    odd[7] = np.nan
    check_whole(function, a, b, also=((a, odd), (a[::2], b), (a, zeros), (a[:0], b), (a, b[:0])))


def sift(a, i, n):
    while True:
        c = 2 * i + 1
        if c >= n:
            return
        if c + 1 < n and a[c + 1] > a[c]:
            c += 1
        if a[i] >= a[c]:
            return
        a[i], a[c] = a[c], a[i]
        i = c


def heap_sorted(a):
    n = len(a)
    for i in range(n // 2 - 1, -1, -1):
        sift(a, i, n)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        sift(a, 0, end)
    return a


def partition(a, lo, hi):
    i = lo
    for j in range(lo, hi):
        if a[j] < a[hi]:
            a[i], a[j] = a[j], a[i]
            i += 1
    a[i], a[hi] = a[hi], a[i]
    return i


def kth(a, k):
    lo, hi = 0, len(a) - 1
    while lo < hi:
        p = partition(a, lo, hi)
        if p == k:
            return a[k]
        if p < k:
            lo = p + 1
        else:
            hi = p - 1
    return a[k]


def neighbours(g, i, j):
    n = 0
    for di in range(-1, 2):
        for dj in range(-1, 2):
            if (di or dj) and 0 <= i + di < g.shape[0] and 0 <= j + dj < g.shape[1]:
                n += g[i + di, j + dj]
    return n


def generation(g):
    out = np.zeros_like(g)
    for i in range(g.shape[0]):
        for j in range(g.shape[1]):
            n = neighbours(g, i, j)
            out[i, j] = 1 if n == 3 or (n == 2 and g[i, j]) else 0
    return out


@pytest.mark.slow
def test_functions_that_write_and_return_in_several_places():
    a = RNG.random(50).round(1)
    check_whole(heap_sorted, a, also=((a[:1],), (a[:0],), (a.astype(np.float32),)))
    check_whole(kth, a, 7, also=((a, 0), (a[::3], 5), (a, 99)))
    check_whole(generation, RNG.integers(0, 2, (9, 11)), also=((RNG.integers(0, 2, (1, 3)),),))


# ---- called from code without a loop ----


def dot(x, y, n=5):
    s = 0.0
    for i in range(n):
        s += x[i] * y[i]
    return s


def scaled(x, y):
    return np.sqrt(x * dot(x, y)) + dot(y, y, 7)


def behind_a_search(x, y):
    k = first_above(x, 0.5)
    z = x * 2 + y
    return z[k], k, z + k


def calls_of_many(x, y):
    """Each call has its own loop; none of them learns anew what the first one has learnt."""
    s = 0.0
    s += dot(x, y, 1) + dot(x, y, 2) + dot(x, y, 3) + dot(x, y, 4) + dot(x, y, 5) + dot(x, y, 6)
    s += dot(y, x, 1) + dot(y, x, 2) + dot(y, x, 3) + dot(y, x, 4) + dot(y, x, 5) + dot(y, x, 6)
    s += dot(x, x, 1) + dot(x, x, 2) + dot(x, x, 3) + dot(x, x, 4) + dot(x, x, 5) + dot(x, x, 6)
    s += dot(y, y, 1) + dot(y, y, 2) + dot(y, y, 3) + dot(y, y, 4) + dot(y, y, 5) + dot(y, y, 6)
    s += dot(x, y, 7) + dot(x, y, 8) + dot(x, y, 9) + dot(x, y, 10) + dot(x, y, 11) + dot(x, y, 12)
    s += dot(y, x, 7) + dot(y, x, 8) + dot(y, x, 9) + dot(y, x, 10) + dot(y, x, 11) + dot(y, x, 12)
    s += dot(x, x, 7) + dot(x, x, 8) + dot(x, x, 9) + dot(x, x, 10) + dot(x, x, 11) + dot(x, x, 12)
    return s


def total(x, s):
    for v in x:
        s += v
    return s


def totals_of_two_kinds(x, narrow):
    return total(x, 0.0), total(narrow, np.float32(1)), total(x, 0), total(narrow, 1.5)


@pytest.mark.slow
def test_called_from_straight_code():
    x, y = RNG.random(30), RNG.random(30)
    check_whole(scaled, x, y, also=((x, y[:4]), (x.astype(np.float32), y)))
    check_whole(calls_of_many, x, y)
    check(behind_a_search, x, y, also=((x * 0, y), (x[:0], y)), options=MANY)
    check(totals_of_two_kinds, x, y.astype(np.float32), options=MANY)


def steps(x, n):
    """The loop of this length could not be unrolled."""
    s = 0.0
    for i in range(n):
        s = s * 0.5 + x[i % len(x)]
    return s


def long_loops(x, n):
    y = np.sqrt(x) + 1
    return y * steps(y, n) + steps(x, n + 1)


def test_a_long_loop_in_a_function_that_is_called():
    x = RNG.random(30)
    check_whole(long_loops, x, 20000, also=((x, 0), (x[:0], 3)))


# ---- exceptions, warnings, overflow ----


def ratio(x, y, n):
    s = 0.0
    for i in range(n):
        s += x[i] / y[i]
    return s


def all_ratios(x, y, n):
    for i in range(len(x)):
        x[i] = ratio(y, x, n + i)
    return x


def grows(h, i):
    while h[i] < 2**62:
        h[i] = h[i] * 3
        i += 1
    return i * 2**61


def all_grow(h):
    n = 0
    for i in range(3):
        n += grows(h, i)
    return n


def quotient(n, d):
    q = 0
    while q < 50:
        q += n // d
        d -= 1
    return q


def all_quotients(w):
    for i in range(len(w)):
        w[i] = quotient(int(w[i]), 3)
    return w


@pytest.mark.slow
def test_what_python_tells_is_told_in_the_function():
    x, y = RNG.random(9) + 1, RNG.random(9) + 1
    zero = x.copy()
    zero[5] = 0
    check_whole(all_ratios, x, y, 0, also=((x, y, 1), (x, y, 4), (zero, y, 1), (x, y, -3)))
    check(all_grow, np.array([1, 5, 7, 2**61, 3]), captured=False)
    check(all_grow, np.array([1, 5, 7]), captured=False)
    check(all_quotients, np.array([9, 80, 1]), captured=False)


# ---- more than one way to the same function ----


def swapped(x, y, out):
    for i in range(len(out)):
        out[i] = dot(x, y, i) if i % 2 else dot(y, x, i) + dot(out, x, i)
    return out


def deep(x, i, n):
    s = 0.0
    for k in range(n):
        s += dot(x, x, k) * first_above(x, s)
    return s + i


def called_deep(x, y, out):
    for i in range(len(out)):
        out[i] = deep(x, i, i)
    return out


def aliased(x, y, out):
    """`find` of the array that the loop writes by another name."""
    mine = out
    for i in range(len(out)):
        mine[i] = first_above(out, x[i])
        out[i] += first_above(mine, y[i])
    return out


def by_name(x, y, out):
    use = dot if len(x) > 3 else ratio
    for i in range(len(out)):
        out[i] = use(x, y, i)
    return out


def recursive(x, i):
    s = 0.0
    for k in range(i):
        s += x[k]
    return s + recursive(x, i - 1) if i > 0 else s


def calls_itself(x, y, out):
    out[0] = recursive(x, 4)
    return out


@pytest.mark.parametrize("function", [swapped, called_deep, aliased, by_name, calls_itself])
def test_calls_of_one_function_from_several_places(function):
    x, y = RNG.random(12), RNG.random(12)
    check_whole(function, x, y, np.zeros(12), also=((x, x, np.zeros(12)), (x, y[::-1], y)))


# ---- what is told where such a loop does not stay one ----


def told(function, *args):
    found = _explain_text.found_breaks(pycompile.explain(function)(*args))
    return " | ".join(item["detail"] or "" for item in found)


def line_of(function, text="# here"):
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def has_a_slice(x, i):
    s = 0.0
    for k in range(i):
        s += x[k : k + 2].std()  # here
    return s


def goes_over_a_dict(x, i):
    s = 0.0
    for k in {1: 0, 2: i}:  # here
        s += x[k]
    return s


def calls_c(x, i):
    s = 0.0
    for k in range(i):
        s += math.lgamma(x[k])  # here
    return s


def has_none(x, i):
    return np.sort(x)[i]  # here


def two_deep(x, i):
    return has_a_slice(x, i) + 1


def makes_calls(helper):
    def function(x, n):
        out = np.zeros(n)
        for i in range(n):
            out[i] = helper(x, i)
        return out

    return function


@pytest.mark.slow
@pytest.mark.parametrize(
    ("helper", "inner", "words"),
    [
        (has_a_slice, has_a_slice, "'std' of a part of an array"),
        (two_deep, has_a_slice, "'std' of a part of an array"),
        (goes_over_a_dict, goes_over_a_dict, "only loops over ranges or arrays"),
        (calls_c, calls_c, "a call of 'lgamma'"),
    ],
)
def test_the_reason_is_the_inner_one(helper, inner, words):
    text = told(makes_calls(helper), RNG.random(480), 450)
    assert words in text and f"line {line_of(inner)}" in text, text
    assert f"the loop of '{inner.__name__}', which it calls, did not stay one" in text, text


def test_a_call_in_the_function_is_named_with_it():
    text = told(makes_calls(has_none), RNG.random(700), 600)
    assert f"a call of 'sort', line {line_of(has_none)} of 'has_none'" in text, text


def counts_found(x, n):
    s = 0
    for i in range(n):
        k = first_or_none(x, x[i])
        if k is not None:
            s += k
    return s


def test_a_result_of_two_kinds_is_named():
    text = told(counts_found, RNG.random(100), 100)
    assert (
        "one side has a value that is int after some branches and NoneType after others" in text
    ), text


# ---- called by itself, in whatever way it is called ----


class Iteration:
    def __init__(self, tol):
        self.tol = tol

    def run(self, x, most=200):
        for _ in range(most):
            new = np.cos(x)
            if np.abs(new - x).max() < self.tol:
                break
            x = new
        return x

    __call__ = run


def with_items(o, *given):
    return o.run(*given)


def with_keywords(o, x, **given):
    return o.run(x, **given)


def with_itself_as_item(o, *given):
    return Iteration.run(o, *given)


def called_object(o, x):
    return o(x)


def called_object_by_keyword(o, x):
    return o(x=x, most=150)


def called_object_with_items(o, *given):
    return o(*given)


@pytest.mark.parametrize(
    "function",
    [with_items, with_keywords, with_itself_as_item,
     called_object, called_object_by_keyword, called_object_with_items],
)  # fmt: skip
def test_methods_and_objects_that_are_called_are_compiled_by_themselves(function):
    o, x = Iteration(1e-9), np.linspace(0, 1, 30)
    assert pycompile.explain(function)(o, x).graphs
    check(function, o, x, captured=False)


def test_calls_of_methods_that_do_not_fit():
    def few(o, *given, **named):
        return o.run(*given, **named)

    o, x = Iteration(1e-9), np.linspace(0, 1, 30)
    compiled = pycompile.compile(few)
    compiled(o, x)
    for given, named in [((), {}), ((x, 1, 2), {}), ((x,), {"x": x}), ((x,), {"self": o})]:
        with pytest.raises(TypeError) as plain:
            few(o, *given, **named)
        with pytest.raises(TypeError) as same:
            compiled(o, *given, **named)
        assert str(same.value) == str(plain.value)


def test_a_class_s_call_that_is_no_function_is_left_to_python():
    class Other:
        __call__ = np.cos

    def asks(o, x):
        id(x)
        return o(x) * 2 + 1

    check(asks, Other(), np.linspace(0, 1, 30), captured=False)
