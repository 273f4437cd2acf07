"""What the function does with floating-point events, warnings and exceptions itself: as in Python, or an
error that says so; never the derivative of another way through it."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import pycompile
from pycompile import DerivativeError, grad, value_and_grad


def raised(x):
    with np.errstate(divide="raise"):
        return np.log(x).sum()


def raised_and_caught(x):
    with np.errstate(divide="raise"):
        try:
            y = np.ones(2) / x
        except FloatingPointError:
            y = x * 5
    return y.sum()


def set_by_seterr(x):
    old = np.seterr(divide="raise")
    try:
        return np.log(x).sum()
    except FloatingPointError:
        return x.sum() * 3
    finally:
        np.seterr(**old)


def recorded(x):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        y = np.log(x).sum()
    return y if not given else (x * x).sum() + x[0]


def as_an_error(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.log(x).sum()
        except RuntimeWarning:
            return x.sum()


CAUGHT = (raised_and_caught, set_by_seterr, recorded, as_an_error)


@pytest.mark.parametrize("f", CAUGHT)
def test_what_the_function_catches_is_no_derivative_of_another_way(f):
    for _ in range(2):
        with pytest.raises(DerivativeError, match="caught an exception|no graph follows"):
            grad(f)(np.array([0.0, 1.0]))
    given = np.array([4.0, 2.0])
    steps = np.eye(2) * 1e-6
    expected = [(f(given + step) - f(given - step)) / 2e-6 for step in steps]
    assert np.allclose(grad(f)(given), expected)


def test_what_it_does_not_catch_comes_out():
    for f, error in ((raised, FloatingPointError), (lambda x: math.log(x[0]), ValueError)):
        for taken in (grad(f), lambda x, f=f: pycompile.jvp(f, (x,), (x,))):
            with pytest.raises(error):
                taken(np.array([0.0, 1.0]))


def ignored(x):
    with np.errstate(divide="ignore"):
        return np.log(x).sum()


def test_what_it_ignores_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, gradient = value_and_grad(ignored)(np.array([0.0, 2.0]))
        assert value == -np.inf and gradient.tolist() == [np.inf, 0.5]
        rows = np.array([[0.0, 2.0], [1.0, 1.0]])
        assert pycompile.vmap(ignored)(rows).tolist() == [-np.inf, 0.0]
        halves = pycompile.vmap(set_by_seterr)(rows)
    assert halves.tolist() == [set_by_seterr(row) for row in rows]


def test_an_argument_twice_raises():
    for argnums in ((0, 0), (0, -2)):
        with pytest.raises(TypeError, match="twice"):
            grad(lambda x, y: (x * y).sum(), argnums)(np.ones(2), np.ones(2))
