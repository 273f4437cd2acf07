"""Exceptions that the function itself handles: it goes on as the plain program does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pycompile import grad, jvp, value_and_grad

NEARLY = np.ones((2, 2)) - 1e-9 * np.eye(2)


def jitter(x):
    more = 0.0
    while True:
        try:
            low = np.linalg.cholesky(x + more * np.eye(2))
            break
        except np.linalg.LinAlgError:
            more = max(2 * more, 1e-3)
    return np.log(np.diag(low)).sum()


def jittered(x):
    return np.log(np.diag(np.linalg.cholesky(x + 1e-3 * np.eye(2)))).sum()


def each(x):
    for more in (0.0, 1e-12, 1.0):
        try:
            return np.linalg.cholesky(x + more * np.eye(2)).sum()
        except np.linalg.LinAlgError:
            pass
    return x.sum()


def singular(x):
    done = 0
    try:
        z = np.linalg.solve(x, np.ones(2))
    except Exception:
        z = x[0] * x[1]
    else:
        z = z * 3
    finally:
        done += 1
    return z.sum() * done


def factor(x):
    return np.linalg.cholesky(x).sum()


def called(x):
    try:
        return factor(x) * 2
    except np.linalg.LinAlgError:
        return (x**2).sum()


def roots(x):
    total = 0.0
    for i in range(len(x)):
        try:
            total += math.sqrt(x[i])
        except ValueError:
            total += x[i] * x[i]
    return total


def rooted(x):
    return math.sqrt(x[0]) + x[1] * x[1] + math.sqrt(x[2]) + x[3] * x[3]


def domain(x):
    a, b = x
    try:
        return math.acos(a) * b
    except ValueError:
        return a * b


def zero(x):
    try:
        return 1.0 / x
    except ZeroDivisionError:
        return x * 3


def overflow(x):
    try:
        return math.exp(x * 1000)
    except OverflowError:
        return x * x * 7


@pytest.mark.parametrize(
    ("f", "same", "x"),
    [
        (jitter, jittered, NEARLY),
        (each, lambda x: np.linalg.cholesky(x + np.eye(2)).sum(), NEARLY),
        (singular, lambda x: (x[0] * x[1]).sum(), np.ones((2, 2))),
        (called, lambda x: (x**2).sum(), NEARLY),
        (roots, rooted, np.array([1.0, -2.0, 3.0, -4.0])),
        (domain, lambda x: x[0] * x[1], [2.0, 3.0]),
        (domain, lambda x: x[0] * x[1], np.array([2.0, 3.0])),
        (zero, lambda x: x * 3, 0.0),
        (overflow, lambda x: x * x * 7, 1.0),
    ],
)
def test_handled(f, same, x):
    """As a function without a handler that goes the same way."""
    derived = value_and_grad(f)
    for _ in range(2):
        value, gradient = derived(x)
        assert value == f(x)
        np.testing.assert_allclose(gradient, grad(same)(x), rtol=1e-12)


def test_handled_in_a_direction():
    x = np.ones((2, 2))
    np.testing.assert_allclose(jvp(singular, (x,), (x,))[1], 4.0, rtol=1e-12)


def test_handled_after_good_calls():
    derived = grad(singular)
    good = np.array([[2.0, 1.0], [1.0, 3.0]])
    first = derived(good)
    for _ in range(9):
        np.testing.assert_array_equal(derived(good), first)
    np.testing.assert_allclose(derived(np.ones((2, 2))), np.ones((2, 2)))
    np.testing.assert_allclose(derived(good), first, rtol=1e-12)


def test_not_handled():
    """It comes out, with the program's own line; what was before it is done once."""
    done = []

    def fails(x):
        done.append(1)
        y = x * 2
        return np.linalg.inv(y).sum()

    for count in range(1, 4):
        with pytest.raises(np.linalg.LinAlgError, match="Singular") as caught:
            grad(fails)(np.ones((2, 2)))
        lines = [entry.lineno for entry in caught.traceback if entry.name == "fails"]
        assert lines == [fails.__code__.co_firstlineno + 2]
        assert len(done) == count
