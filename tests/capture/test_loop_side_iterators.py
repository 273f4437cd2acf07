"""Side exits out of loops over zips, backwards, over enumerates of zips, and out of loops over arrays inside of
other loops: each is entered again with the iterator that the exit has left."""

import numpy as np
import pytest

import pycompile
from tests.differential import check

RNG = np.random.default_rng(6)
X = RNG.standard_normal(600).round(3)
X[[0, 41, 42, 300, 599]] = 9.0  # the first, neighbours, the last
Y = RNG.standard_normal(600)
W = RNG.integers(0, 30, 600)
SHORT = RNG.standard_normal(20).round(3)
SHORT[[0, 7, 19]] = 9.0


@pycompile.disable
def opaque(log, *values):
    log.append(values)


# ---- one loop ----


def zipped(x, y, w, log):
    s = 0.0
    for u, v in zip(x, y):
        if u > 4:
            opaque(log, u, v, s)
        s += u * v
    return s, u, v


def zipped_with_a_range(x, y, w, log):
    s = 0.0
    for i, u, k in zip(range(len(x)), x, w):
        if u > 4:
            opaque(log, i, k)
            if i == 300:
                continue
        s = s * 0.5 + u * k
    return s, i


def zipped_unlike(x, y, w, log):
    s, last = 0.0, x[: len(x) // 2]
    for u, v in zip(x, last):
        if u > 4:
            print("large", u, v, s)
        s += u - v
    return s


def zipped_backwards(x, y, w, log):
    s = 0.0
    for u, v in zip(reversed(x), y):
        if u > 4:
            opaque(log, u, v)
        s += u * v
    return s


def zipped_thrice(x, y, w, log):
    s = 0.0
    for (i, u), (v, k) in zip(enumerate(x, 5), zip(y, reversed(w))):
        if u > 4:
            opaque(log, i, u, v, k)
        s += u * v + k * i
    return s


def zipped_alone(x, y, w, log):
    s = 0.0
    for (u,) in zip(x):
        if u > 4:
            opaque(log, u)
        s += u
    return s


def zipped_with_itself(x, y, w, log):
    s = 0.0
    for u, v in zip(x, x):
        if u > 4:
            opaque(log, u, v)
        s += u * v
    return s


def backwards(x, y, w, log):
    s = 0.0
    for v in reversed(x):
        if v > 4:
            opaque(log, v)
        s = s * 0.5 + v
    return s, v


def backwards_enumerated(x, y, w, log):
    s = 0.0
    for i, v in enumerate(reversed(x)):
        if v > 4:
            opaque(log, i, v)
            if i > 400:
                break
        s = s * 0.5 + v * i
    else:
        s = -s
    return s, i


def enumerated_zip(x, y, w, log):
    s = 0.0
    for i, (u, v) in enumerate(zip(x, y)):
        if u > 4:
            opaque(log, i, u, v)
        s += u * v - i
    return s, i


def enumerated_zip_from(x, y, w, log):
    s = 0.0
    for i, (u, v) in enumerate(zip(x, y), 100):
        if u > 4:
            log.append(f"{i}: {u} {v}")
        s += u * v - i
    return s, i


def enumerated_range(x, y, w, log):
    s = 0.0
    for k, i in enumerate(range(len(x))):
        if x[i] > 4:
            opaque(log, k, i)
        s += x[i] * k
    return s


def writes_what_is_zipped(x, y, w, log):
    for i, (u, v) in enumerate(zip(x, y)):
        x[(i + 1) % len(x)] += v * 0.25
        if u > 8:
            opaque(log, i, u, x[i])
            y[-1] += 1
        y[i] = u
    return x.sum()


def ends_in_the_zip(x, y, w, log):
    for u, v, k in zip(x, y, w):
        if u > 4:
            opaque(log, k)
            if k > 10:
                return u, v
        if v > 2.9:
            break
    else:
        return "all"
    return u, v, k


# ---- loops inside ----


def inner_array(x, y, w, log):
    total = 0.0
    for i in range(4):
        s = 0.0
        for v in x:
            if v > 4 and i != 1:
                opaque(log, i, v, s)
            s += v * i
        total = total * 0.5 + s
    return total, i, v


def inner_array_in_a_while(x, y, w, log):
    total, t = 0.0, 0
    while t < 3:
        for v in x:
            if v > 4:
                opaque(log, t, v)
            total += v * 0.5
        t += 1
    return total, t


def inner_array_of_an_array(x, y, w, log):
    total = 0.0
    for k in w[:5]:
        for v in x:
            if v > 4:
                opaque(log, k, v)
            total += v * k
    return total


def inner_enumerate(x, y, w, log):
    total = 0.0
    for k in range(3):
        for i, v in enumerate(x):
            if v > 4:
                opaque(log, k, i, v)
                if i == 41:
                    break
            total += v * (i + k)
    return total, i


def inner_enumerate_from(x, y, w, log):
    total = 0.0
    for k in range(3):
        for i, v in enumerate(x, 7):
            if v > 4:
                opaque(log, k, i, v)
            total += v * (i + k)
    return total, i


def inner_zip(x, y, w, log):
    total = 0.0
    for k in range(3):
        for u, v in zip(x, y):
            if u > 4:
                opaque(log, k, u, v)
            total += u * v
        total *= 0.5
    return total


def inner_enumerated_zip(x, y, w, log):
    total = 0.0
    for k in range(3):
        for i, (u, v) in enumerate(zip(x, reversed(y))):
            if u > 4:
                opaque(log, k, i, u, v)
            total += u * v - i
        total *= 0.5
    return total


def inner_backwards(x, y, w, log):
    total = 0.0
    for j, k in enumerate(w[:4]):
        for v in reversed(x):
            if v > 4:
                opaque(log, j, v)
                continue
            total = total * 0.75 + v * k
    return total


def three_deep(x, y, w, log):
    total = 0.0
    for i in range(2):
        for k in w[:3]:
            for u, v in zip(x, y):
                if u > 4 and k > 3:
                    opaque(log, i, k, u)
                total += u * v * k
            if k > 20:
                opaque(log, "outer", total)
    return total


def ranges_and_arrays(x, y, w, log):
    total = 0.0
    for i, k in enumerate(w[:4]):
        for j in range(20):
            for v in x:
                if v > 4 and j == 3:
                    opaque(log, i, j, v)
                total += v * k
    return total


def two_loops_over_the_same(x, y, w, log):
    total = 0.0
    for i in range(3):
        for v in x:
            if v > 4:
                opaque(log, "first", i)
            total += v
        for v in x:
            if v > 8:
                opaque(log, "second", i)
            total -= v * 0.5
    return total


def two_loops_over_others(x, y, w, log):
    total = 0.0
    for i in range(3):
        for v in x:
            if v > 4:
                opaque(log, "first", i)
            total += v
        for v in y:
            if v > 2.5:
                opaque(log, "second", i)
            total -= v * 0.5
        for j in range(len(x)):
            if x[j] > 8:
                opaque(log, "third", j)
            total += y[j]
    return total


def inner_numbers_from_the_turn(x, y, w, log):
    total = 0.0
    for k in range(3):
        for i, v in zip(range(len(x) - k), x):
            if v > 4:
                opaque(log, k, i)
            total += v * i
    return total


def unrolled_inside(x, b, n, k, log):
    for u in x:
        s = 0.0
        for j in reversed(range(n, 0, -2)):
            if j > k:
                b[j + 1, n - j] += s - 3
            else:
                opaque(log, j, s, u)
            s = True
    return b


ONE = [zipped, zipped_with_a_range, zipped_backwards, zipped_thrice, zipped_alone, zipped_with_itself,
       zipped_unlike, backwards, backwards_enumerated, enumerated_zip, enumerated_zip_from,
       enumerated_range, writes_what_is_zipped, ends_in_the_zip]  # fmt: skip
NESTS = [inner_array, inner_array_in_a_while, inner_array_of_an_array, inner_enumerate,
         inner_enumerate_from, inner_zip, inner_enumerated_zip, inner_backwards, three_deep,
         ranges_and_arrays, two_loops_over_the_same, two_loops_over_others,
         inner_numbers_from_the_turn]  # fmt: skip


def arguments(x):
    return x, Y[: len(x)].copy(), W[: len(x)].copy(), []


@pytest.mark.parametrize("function", ONE)
def test_one_loop(function):
    also = (arguments(X[1:41]), arguments(X[::-1].copy()), arguments(X[:1]), arguments(X[:301]))
    check(function, *arguments(X), also=also)


@pytest.mark.slow
@pytest.mark.parametrize("function", NESTS)
def test_nests(function):
    check(function, *arguments(X), also=(arguments(X[1:41]), arguments(X[:1]), arguments(X[:43])))
    check(function, *arguments(SHORT), captured=False)


@pytest.mark.parametrize("function", ONE + NESTS)
def test_other_layouts_and_no_elements(function):
    wide = tuple(np.repeat(a, 2)[::2] for a in arguments(X)[:3])
    check(function, *arguments(X), also=((*wide, []),))
    if function in (writes_what_is_zipped, ends_in_the_zip):
        check(function, *arguments(X), also=(arguments(X[:2]),))


def plan_runs(function, *given):
    compiled = pycompile.compile(function)
    assert repr(compiled(*given, [])) == repr(function(*given, []))
    return compiled.stats()["plan_runs"]


@pytest.mark.parametrize(
    "function",
    [zipped, zipped_with_a_range, zipped_backwards, zipped_thrice, zipped_unlike, backwards,
     enumerated_zip, enumerated_zip_from, enumerated_range, inner_array, inner_enumerate_from,
     inner_array_of_an_array, inner_zip, inner_enumerated_zip, inner_backwards],
)  # fmt: skip
def test_plans_go_on_behind_each_exit(function):
    assert 4 <= plan_runs(function, X, Y, W) <= 40


@pytest.mark.parametrize(("n", "k"), [(2, 2), (4, 2), (2, 0.9), (6, 3)])
def test_a_loop_inside_that_is_unrolled(n, k):
    check(unrolled_inside, X[:12], np.zeros((9, 9)), n, k, [], captured=False)
