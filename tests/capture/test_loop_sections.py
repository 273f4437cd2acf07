"""Statements over slices and rows in kept loops, with bounds and indices out of the loops."""

import re

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.differential import MANY, check, check_whole

RNG = np.random.default_rng(41)
A, B = RNG.random((9, 7)) + 0.5, RNG.random((7, 9))
X, Y = RNG.random(9) + 0.5, RNG.random(9)


def told(function, *args):
    report = pycompile.explain(function)(*args)
    return _explain_text.verbose(report)


def lu(a):
    n = min(a.shape)
    for k in range(n):
        for i in range(k + 1, a.shape[0]):
            f = a[i, k] / a[k, k]
            a[i, k] = f
            a[i, k + 1 :] -= f * a[k, k + 1 :]
    return a


def sweeps(a):
    for i in range(1, len(a)):
        a[i] = 0.3 * a[i - 1] + a[i]
    for i in range(len(a) - 2, -1, -1):
        a[i] = 0.3 * a[i + 1] + a[i]
    return a


def rank_one(a, x):
    for i in range(len(x)):
        a[i, : i + 1] += x[i] * x[: i + 1]
    return a


def columns(a, x):
    for j in range(1, a.shape[1]):
        a[:, j] -= a[:, j - 1] * x[j]
    return a


def back_substitution(a, b, x):
    for j in range(len(b) - 1, -1, -1):
        x[j] = b[j] / a[j, j]
        b[:j] -= x[j] * a[:j, j]
    return x


def prefixes(y, x):
    for k in range(1, len(x)):
        y[k:] += 0.1 * x[: len(x) - k]
    return y


def in_time(a):
    for t in range(1, len(a)):
        a[t, 1:-1] = 0.5 * (a[t - 1, :-2] + a[t - 1, 2:])
        a[t, -1] = -a[t, 0]
    return a


def moved_up(x):
    for k in range(1, len(x)):
        x[k:] = x[k - 1 : -1] * 0.5
    return x


def moved_down(x):
    for k in range(1, len(x)):
        x[k - 1 : -1] = x[k:] + 1.0
    return x


def named(a, x):
    for i in range(1, a.shape[1]):
        t = a[i, :i] * x[:i]
        row = a[i]
        row[i:] += 1.0
        a[i, :i] = t + a[i - 1, :i]
    return a


def strides(x, y):
    for k in range(1, 20):
        y[k::3] = x[k::3] - y[k::3]
    return y


def sieve(flags):
    for i in range(2, len(flags)):
        if flags[i]:
            flags[2 * i :: i] = 0
    return flags


def negative_bounds(x, y):
    for k in range(-12, 12):
        y[k:] += 0.1
        y[: k - 1] -= x[: k - 1]
        y[-3:k] = 2.0
    return y


def of_either_end(a, x):
    for i in range(len(a)):
        a[-1] += a[i]
        a[:, -1] -= x[i]
    return a


def filled(a, n):
    for i in range(n):
        a[i, i:] = i
        a[:i, i] = -0.5
    return a


def copied(a, b):
    for i in range(len(a)):
        a[i] = b[:, i]
    return a


def of_many_axes(a):
    for i in range(1, len(a)):
        a[i, 0, :, -1, 0, 1] += a[i - 1, 0, :, 0, 0, 0] * 2
        a[i, 0, 1, 0, 0, 0] = a[i - 1, 0, 0, 1, 0, 1]
    return a


ARGUMENTS = [
    (lu, (A,)),
    (sweeps, (A,)),
    (rank_one, (B, X[:7])),
    (columns, (A, X)),
    (back_substitution, (A[:7], X[:7], Y[:7])),
    (prefixes, (Y, X)),
    (in_time, (A,)),
    (moved_up, (X,)),
    (moved_down, (X,)),
    (named, (A, X)),
    (strides, (RNG.random(50), RNG.random(50))),
    (sieve, (np.ones(60, "u1"),)),
    (negative_bounds, (X, Y)),
    (of_either_end, (A, X)),
    (filled, (A, 7)),
    (filled, (np.zeros((8, 8), "i4"), 7)),
    (copied, (A, B)),
    (of_many_axes, (RNG.random((9, 1, 2, 2, 1, 2)),)),
]


@pytest.mark.parametrize(("function", "arguments"), ARGUMENTS)
def test_loops_stay_loops(function, arguments):
    check_whole(function, *arguments)


@pytest.mark.parametrize(("function", "arguments"), ARGUMENTS)
def test_other_layouts(function, arguments):
    turned = [x.T.copy().T if isinstance(x, np.ndarray) else x for x in arguments]
    wide = [np.repeat(x, 2, -1)[..., ::2] if isinstance(x, np.ndarray) else x for x in arguments]
    check(function, *arguments, also=[tuple(turned), tuple(wide)], options=MANY)


@pytest.mark.parametrize("dtype", ["f4", "i8", "i2", "u1"])
@pytest.mark.parametrize(("function", "arguments"), ARGUMENTS)
def test_other_dtypes(function, arguments, dtype):
    with np.errstate(all="ignore"):
        cast = [x.astype(dtype) if isinstance(x, np.ndarray) else x for x in arguments]
        check(function, *cast, options=MANY)


@pytest.mark.parametrize(("function", "arguments"), ARGUMENTS)
def test_no_elements(function, arguments):
    empty = [x[:0] if isinstance(x, np.ndarray) else 0 for x in arguments]
    one = [x[:1] if isinstance(x, np.ndarray) else 1 for x in arguments]
    check(function, *arguments, also=[tuple(empty), tuple(one)], options=MANY)


def one_more(x, y):
    for k in range(1, len(x)):
        y[k:] = x[k - 1 :]
    return y


def out_of_bounds(a, x):
    for i in range(12):
        a[i, i:] += x[0]
    return a


def beyond_an_empty_slice(a, x):
    for i in range(12):
        a[i, 5:2] += x[0]
        a[0, i:] -= 1.0
    return a


def of_one_element(x, y):
    for k in range(1, 4):
        y[k:] = x[k : k + 1]
    return y


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (one_more, (X, Y)),
        (out_of_bounds, (A, X)),
        (beyond_an_empty_slice, (A, X)),
    ],
)
def test_what_raises(function, arguments):
    check(function, *arguments, options=MANY)


def test_one_element_for_many():
    check(of_one_element, X, Y, captured=False, options=MANY)


def divides(a, x):
    for i in range(1, len(a)):
        a[i] /= x[i]
        a[i, i:] = a[i, i:] * 1e300
    return a


def test_warnings():
    zeros = X.copy()
    zeros[3:6] = 0.0
    check(divides, A, zeros, also=[(A, X)], options=MANY)


def both_sides(x):
    for k in range(2, len(x)):
        x[1:k] = x[: k - 1] + x[2 : k + 1]
    return x


def unused(x, y):
    for k in range(1, len(x)):
        x[k:] * y[k:]
        y[k] = x[k]
    return y


def written_between(x, y):
    for k in range(1, len(x)):
        t = x[k:] * 2.0
        x[k] = 1.0
        y[k:] = t
    return y


def under_a_condition(x, y):
    for k in range(1, len(x)):
        t = x[k:] * 2.0
        if y[k] > 0.5:
            y[k:] = t
    return y


def in_an_arm(x, y):
    for k in range(1, len(x)):
        if y[k] > 0.5:
            y[k:] = x[k:] * 2.0
        else:
            y[:k] -= 1.0
    return y


def turned_over(a):
    for k in range(min(a.shape)):
        a[k, :k] = a[:k, k] + 1.0
    return a


def rows_by_columns(a, x):
    for k in range(1, 4):
        a[k] = a[:, k][: a.shape[1]]
    return a


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (both_sides, (X,)),
        (unused, (X, Y)),
        (written_between, (X, Y)),
        (under_a_condition, (X, Y)),
        (in_an_arm, (X, Y)),
        (turned_over, (A,)),
        (rows_by_columns, (A, X)),
    ],
)
def test_the_program_cannot_tell(function, arguments):
    check(function, *arguments, options=MANY)


def integers(a, x):
    for i in range(1, len(a)):
        a[i] += a[i - 1]
    return a


def test_integers_wrap_round():
    check(integers, np.full((9, 5), 2**62), X, options=MANY)


def test_a_branch_with_a_statement_in_each_arm_stays_in_the_loop():
    check_whole(in_an_arm, X, Y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [both_sides, unused, written_between])
def test_other_statements_are_steps_of_one_plan(function):
    x = RNG.random(5000)
    arguments = (x, x.copy())[: function.__code__.co_argcount]
    check(function, *arguments, whole=True, exits=["return"])


def few_turns(a):
    for i in range(1, 5):
        a[i] += a[i - 1]
    return a


def same_slices(x, y):
    for k in range(1, len(x)):
        y[1:] += x[k] * x[1:]
    return y


def long_rows(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1]
    return a


def test_what_is_unrolled_as_before():
    long = np.ones((12, 20_000))
    for function, arguments in ((few_turns, (A,)), (same_slices, (X, Y)), (long_rows, (long,))):
        check(function, *arguments, options=MANY)
        pycompile.reset()
        assert not re.search(r" = (loop|repeat|enter)\(", told(function, *arguments)), function


def overlapping(x, y):
    for k in range(1, len(x)):
        y[k:] = x[:-k] + y[k:]
    return y


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2])
def test_arrays_that_share_memory(shift):
    base = RNG.random(14)
    check(overlapping, base[2:12], base[2 + shift : 12 + shift], options=MANY)
