"""Numbers: taken out of arrays, stored in them, and beside them."""

import math

import numpy as np
import pytest
from differential import check

X = np.array([-0.75, -2.0, 2.5])


def reduced(x, axis):
    return x.prod(axis=axis)


def test_a_bool_is_no_axis():
    check(reduced, np.ones((2, 3)), 1, also=((np.ones((2, 3)), True),))


def one_element(x, y):
    z = x * 2
    z[0] = y
    return z


def test_one_element_takes_no_sequence():
    check(one_element, X, np.array([1.5]), also=((X, np.array(1.5)), (X, [1.5])))


def complex_scalars(x, c):
    d = 2 * c
    return x + d * c, d - c


def test_python_complex_numbers():
    check(complex_scalars, X, 1j, also=((X, 2.0), (X, 1 - 2j), (X, 3)))


def unused_int(x, y):
    a = int(x.max())  # noqa: F841
    return y * 2


def test_a_conversion_that_nobody_uses_still_fails():
    check(unused_int, X, X, also=((X * np.nan, X),))


def converted(x):
    y = x + 1
    return float(y.sum()), int(y.max()), bool(y.min()), y


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "?", "F", "D"])
def test_scalars_of_every_dtype_as_python_scalars(dtype):
    check(converted, np.ones(3, dtype), captured=False)


def truth(x):
    y = x * 2
    return bool(y.sum()), bool(y[0]), y if y[1] else x


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "?", "F", "D"])
def test_truth_of_every_dtype(dtype):
    check(truth, np.ones(3, dtype), captured=False)


def stored_scalar(x, s):
    y = x * 1
    y[0] = s
    y[1:] = s
    return y


@pytest.mark.parametrize("dtype", ["i2", "u1", "u8", "i8", "f4"])
def test_scalars_stored_in_integers_must_fit(dtype):
    x = np.arange(3).astype(dtype)
    values = (
        2,
        70000.0,
        -1.5,
        300,
        1e30,
        np.float64(70000),
        np.int64(300),
        np.int64(-1),
        True,
        2.5,
    )
    check(stored_scalar, x, 1, also=tuple((x, value) for value in values), captured=False)


def stored_in_loop(x, y):
    for i in range(1, len(x)):
        x[i] = 1.5 * x[i - 1] + y[i]
    return x


def test_results_stored_in_integers_must_fit():
    x = np.array([1, 30000, 3], np.int16)
    check(stored_in_loop, x, x, captured=False)


def negated(x, s):
    return x * 2, -s, x + -s


def test_negative_complex_numbers():
    check(negated, X, 1j, also=((X, 2.5), (X, 3), (X, True)))


def root(x, s):
    y = x * 2
    return y + math.sqrt(s)


def test_a_complex_scalar_taken_as_real_warns_at_its_line():
    check(root, X, np.complex64(1 + 2j), also=((X, 2.0), (X, np.float32(2)), (X, np.complex128(2))))


def test_dot_with_a_number_adds_to_zeros():
    def f(x, s):
        return np.dot(s, x), np.dot(x, s), x.dot(-2.0)

    check(f, np.array([[0.0, -0.0, 1.0]]), np.asarray(-1.0))
    check(f, np.array([0, 1, 2]), np.asarray(-1))


def test_a_number_of_an_array_written_in_place_afterwards():
    def f(x, y):
        total = np.asarray(x.sum())
        total *= total
        return total, y / total, (y + 1) / total

    check(f, np.arange(4.0), np.arange(5.0), whole=True)


@pytest.mark.slow
def test_a_recurrence_of_scalars_is_looked_through_once():
    def f(x, a, b):
        for _ in range(60):
            a, b = b, a + b * 0.5
        return x * a + b

    def g(x, a, b):
        if x.sum() > 0:
            for _ in range(60):
                a, b = b, a + b * 0.5
        return x * a + b

    check(f, X, 1.0, 2.0)
    check(g, X, 1.0, 2.0)


def test_an_int_of_more_than_64_bits_is_compared():
    def function(x, n):
        wide = 2**63
        y = x * 2.0
        if wide > n:
            y = y + 1.0
        return (
            y,
            n == wide,
            n != -wide,
            -wide <= n,
            n >= wide,
            n < wide,
            True < wide,
            n + 0.5 < wide,
        )

    check(
        function, np.arange(3.0), 1, also=((np.arange(3.0), -(2**63)), (np.arange(3.0), 2**63 - 1))
    )


@pytest.mark.parametrize("p", [np.arange(1), np.arange(5), np.arange(1.0)])
def test_what_a_bool_selects_as_a_number(p):
    def truth(p, i):
        return 1 if p[i] != i else 2

    def number(p, i):
        return int(p[i])

    for function in (truth, number):
        check(function, p, True, also=((p, False), (p, 0)), captured=False)


@pytest.mark.slow
def test_complex_scalars_are_multiplied_as_scalars():
    for step in range(40):
        w = np.exp(0.1j * step)

        def squared(a, w=w):
            return a + w * w

        def operator_and_ufunc(a):
            return a[0] * a[1], np.multiply(a[0], a[1])

        check(squared, np.zeros(3, complex))
        if step < 20:
            check(operator_and_ufunc, np.array([w, w * 1.7 - 0.3j]), captured=False)
