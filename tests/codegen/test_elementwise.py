"""Elementwise kernels: their bits, and the floating-point flags that NumPy would raise."""

import numpy as np
import pytest
from differential import check

X = np.array([-0.75, -2.0, 2.5])


def counted(*shape):
    return np.arange(float(np.prod(shape))).reshape(shape) - 2.0


def unused_sqrt(x, s):
    x1 = np.sqrt(x)  # noqa: F841
    return x * 2


def unused_write(x, s):
    x1 = np.maximum(x, s)
    x2 = x1[1:, None]
    x2 *= 1e308
    return x


@pytest.mark.parametrize("function", [unused_sqrt, unused_write])
def test_what_nobody_uses_still_warns(function):
    assert check(function, X, 3.0, captured=False).warned


def spread(x, y):
    return x + y, (x * 2).sum(axis=-1), y - x


@pytest.mark.parametrize("dtype", ["f8", "i2", "b1"])
def test_rows_without_elements(dtype):
    check(spread, np.ones((3, 0), dtype), np.ones((3, 1), "f4"), captured=False)
    check(spread, np.ones(0, dtype), np.ones((3, 1), "i2"), captured=False)
    check(spread, np.ones((0, 3), dtype), np.ones(3, "i2"), captured=False)


def scaled(x, s):
    return x * s


def test_the_scalar_operand_of_an_empty_array_is_cast():
    empty = np.empty(0, np.float16)
    assert check(scaled, empty, 1e308, captured=False).warned
    check(scaled, empty, 2.0, captured=False)


def divided(x, y):
    a = x.max()
    return y / y, a, x * 2


def test_loops_of_ufuncs_leave_the_flags_of_others():
    x, y = np.ones(3, np.float32), np.array([3, 0.75, 0], np.float32)
    assert check(divided, x, y, captured=False).warned
    check(divided, x, x)


def test_signs_of_nan_are_those_of_the_operations_written():
    def f(x, y):
        return x * -1.0, x / -1.0, x - (-y), (-x) * (-y), (-x) / (-y), x + (-y), -(x - y)

    for dtype in ("f4", "f8", "c8", "c16"):  # of two NaN, which one wins depends on the place
        x = np.array([np.nan, -np.nan, np.inf, 1.0] * 5, dtype)
        y = np.array([1.0, 2.0, np.inf, -np.nan] * 5, dtype)
        with np.errstate(all="ignore"):
            check(f, x, y, whole=True)


@pytest.mark.parametrize("function", [np.cbrt, np.negative, np.arctan, np.isnan])
def test_a_cast_operand_is_iterated_in_its_own_order(function):
    def f(x, y):
        return function(x), function(y), np.power(x, y), np.add(x, y * 1.0)

    for dtype in ("u1", "f4", "i8"):
        x = np.asfortranarray(np.arange(12).reshape(3, 4).astype(dtype))[:, None]
        with np.errstate(all="ignore"):
            check(f, x, x.T)


def test_a_ufunc_that_warns_of_a_third_operand():
    def f(x, y):
        return np.maximum(x, y), np.minimum(x, y)

    x = np.asfortranarray(counted(3, 4).astype("f2"))
    check(f, x, x[::-1], whole=True)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f2", "c8"])
def test_sums_beside_what_no_vector_holds(dtype):
    def f(x, y):
        a = np.arctan(x)
        return a.astype(dtype), a.mean(), np.arctan(y), y.conj(), x.sum(), x.var()

    rng = np.random.default_rng(3)
    for shape in ((2, 3, 4), (5, 37), (3, 300)):
        check(f, rng.normal(size=shape).astype("f4"), np.ones(shape, dtype), whole=True)


@pytest.mark.parametrize("function", [np.abs, lambda x: np.copysign(x, 1.0)])
def test_products_of_absolute_values_keep_the_sign_of_nan(function):
    def f(x):
        a = function(x + 0)
        return a * a, a**2

    for dtype in ("f8", "f4"):
        check(f, np.array([-np.nan, np.nan, -1.0], dtype), whole=True)


def test_a_cast_beside_what_runs_backwards():
    def f(a, b):
        return np.arctan2(a, b[::-1]), np.arctan2(a, b) + 1

    rng = np.random.default_rng(0)
    check(f, rng.integers(1, 6, (2, 1)), rng.normal(size=12))


@pytest.mark.parametrize("function", [np.fmax, np.fmin])
def test_zeros_of_fmax_beside_a_broadcast_and_a_cast(function):
    def f(x, y, n):
        backwards = function(np.ceil(x[:, ::-1]), x)
        return function(np.ceil(x), y), function(n, y), function(x.T, x.T[::-1]), backwards

    rng = np.random.default_rng(1)
    x, y = (rng.choice([0.0, -0.0, 1.0], shape) for shape in ((5, 7), 7))
    check(f, x, y, rng.integers(0, 2, (2, 5, 7)))


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_loops_of_numpy_see_all_equal_elements(dtype):
    """np.square of one complex number has other bits than of four equal ones."""
    rng = np.random.default_rng(5)
    z = (rng.normal(size=64) + 1j * rng.normal(size=64)).astype(dtype)

    def f(x):
        return np.square(x), np.square(x) + 1

    for number in z:
        check(f, np.broadcast_to(number, (4,)))


@pytest.mark.parametrize("divisor", [3, -3, 0, -1, np.int64(5), np.array(7, "u1")])
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8"])
def test_integers_divided_by_one(dtype, divisor):
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.max, 0, 1, 7, 100] * 12, dtype)

    def f(x, d):
        return x // d, (x // d + 1) % 5

    check(f, x, divisor, captured=False)
    check(f, x[::-2], divisor, captured=False)


def sum_of_choices(x, y):
    return np.where(x > 0, x / y, y * x).sum(axis=1), x


def test_a_choice_of_what_takes_two_registers():
    """Sums take eight elements at a time: of float64 they are several registers, which asm has no
    operand for."""
    x = np.random.default_rng(0).standard_normal((5, 99))
    check(sum_of_choices, x, x + 9, whole=True)
