"""Functions of math, and max and min of numbers of different classes, in kept loops."""

import math

import numpy as np
import pytest

from pycompile import _C
from tests.differential import MANY, check, check_whole
from tests.reports import keeps_loop

RNG = np.random.default_rng(46)
X, Y = RNG.standard_normal((2, 60))


def functions(x, y):
    for i in range(len(x)):
        v = abs(x[i]) + 0.1
        y[i] = math.log10(v) + math.log2(v) + math.log1p(v) - math.expm1(-v)
        y[i] += math.asin(v % 1) + math.acos(v % 1) + math.sinh(v) - math.cosh(v)
        y[i] -= math.asinh(x[i]) + math.acosh(1 + v) + math.atanh(v % 0.9)
    return y


def functions_of_two(x, y):
    for i in range(len(x)):
        y[i] = math.atan2(x[i], y[i]) + math.fmod(x[i], 0.3) + math.copysign(2, x[i])
        y[i] += math.pow(abs(x[i]), 1.5) + math.atan2(i, 2)
    return y


def classified(x, y):
    for i in range(len(x)):
        if math.isnan(x[i]) or math.isinf(y[i]):
            y[i] = 7.0
        elif math.isfinite(x[i] * y[i]):
            y[i] = x[i]
    return y


def rectified(x, y):
    for i in range(len(x)):
        y[i] = max(0.0, x[i]) + min(x[i], 0.5) * max(0, x[i] - y[i])
    return y


def clipped_walk(x, y):
    s = 0.0
    for i in range(len(x)):
        s = max(-1.0, min(1.0, s + x[i]))
        y[i] = s
    return s


def leaves_either(x, y):
    s = 0.5
    for i in range(len(x)):
        s = max(0.5, x[i])
    return s


def signs(x, y):
    for i in range(len(x)):
        y[i] = -max(0, x[i])
    return y


def domain(x, y, what):
    for i in range(len(x)):
        if what == 0:
            y[i] = math.log10(x[i])
        elif what == 1:
            y[i] = math.acos(2 * x[i])
        elif what == 2:
            y[i] = math.fmod(x[i], y[i] * 0)
        else:
            y[i] = math.cosh(900 * x[i])
    return y


@pytest.mark.slow
def test_functions_of_math():
    for function in (functions, functions_of_two, classified):
        check_whole(function, X.copy(), Y.copy())
        assert keeps_loop(function, X.copy(), Y.copy())
    odd = X.copy()
    odd[3], odd[9], odd[20] = np.nan, np.inf, -0.0
    check(classified, odd, odd[::-1].copy(), options=MANY)
    check(functions_of_two, odd, odd[::-1].copy(), captured=False)


@pytest.mark.slow
def test_what_math_raises_is_left_to_python():
    for what in range(4):
        check(domain, X.copy(), Y.copy(), what, captured=False)


@pytest.mark.slow
def test_extremes_of_pythons_and_numpys_numbers():
    for function in (rectified, clipped_walk):
        check_whole(function, X.copy(), Y.copy())
        assert keeps_loop(function, X.copy(), Y.copy())
    check(leaves_either, X.copy(), Y.copy(), captured=False)
    check(leaves_either, X - 9, Y.copy(), captured=False)
    check(signs, X.copy(), Y.copy(), captured=False)
    for zeros in (np.array([0.0, -0.0, np.nan]), np.array([-0.0, 0.0, np.nan])):
        check(rectified, zeros, zeros[::-1].copy(), options=MANY)


@pytest.mark.parametrize("variants", [1, 2])
def test_each_variant_of_the_loop(variants):
    _C.test_variants(variants)
    try:
        for function in (functions, functions_of_two, rectified, clipped_walk):
            check_whole(function, X.copy(), Y.copy())
    finally:
        _C.test_variants(0)


def chosen_before(x, y, k):
    s = x[0]
    t = len(y)
    for i in range(1, len(x)):
        x[i] += s if k <= i else y[i]
        y[i] -= t if k > i else i


def test_a_number_from_before_the_loop_that_is_but_chosen():
    """No node of the loop takes it: it is a result of an arm."""
    for k in (-1, 3, 9):
        check(chosen_before, np.arange(1.5, 9), np.arange(2.5, 10), k)


def overwritten_by_a_bool(h, t):
    for _ in h:
        t = True
    return t


def test_a_float_before_a_loop_that_makes_it_a_bool():
    """What is converted is never read; as an int it was stored over the kernel's stack."""
    for t in (0.5, 3, False):
        check(overwritten_by_a_bool, np.arange(9), t)


def complex_before_an_index(a, y, k):
    s = 0.0
    for q in a:  # noqa: B007
        s += 0.1
    for p, q in zip(y, range(k)):  # noqa: B007
        s += p
    return s, q


def overwritten_by(values, z):
    for v in values:
        z = v
    return z


@pytest.mark.slow
def test_a_complex_number_before_a_loop_that_makes_it_real():
    """What is converted is never read, and there is no such conversion."""
    y = np.arange(9.0)
    for dtype in (np.complex128, np.complex64):
        for k in (4, 1, 0):
            check(complex_before_an_index, np.ones(5, dtype), y, k)
    for values in (np.arange(5), np.arange(5.0), np.arange(5) > 2, np.arange(0)):
        for z in (2 + 1j, np.complex128(2 + 1j), np.complex64(1j)):
            check(overwritten_by, values, z)
    assert keeps_loop(complex_before_an_index, np.ones(5, complex), y, 4)
    assert keeps_loop(overwritten_by, np.arange(5), 2 + 1j)
