"""Second derivatives, and derivatives in a direction, of what rules move: they are graphs themselves."""

from __future__ import annotations

import numpy as np
import pytest
from differences import check

import pycompile
from pycompile import grad
from pycompile.derivatives import rules

X = np.array([[1.5, -0.3, 0.4], [0.8, -1.2, 2.6]])

FUNCTIONS = {
    "selected": lambda x: x[x > 0] ** 3,
    "rows": lambda x: x[(x > 1).any(axis=1)] ** 3,
    "columns": lambda x: x.T[x[0] > 0] ** 3,
    "none": lambda x: x[x > 10] ** 3,
    "mean": lambda x: x[x > 0].mean() ** 3,
    "by places": lambda x: x.ravel()[np.isin(np.arange(6), [1, 4])] ** 3,
    "quantile": lambda x: np.quantile(x, 0.3, axis=0) ** 3,
    "median": lambda x: np.median(x, axis=1) ** 3,
    "rolled": lambda x: np.roll(x, (1, 2), (0, 1)) * x**2,
    "rolled alike": lambda x: np.roll(x, 1, (0, 1)) * x**2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second(name):
    f = FUNCTIONS[name]
    check(lambda x: grad(lambda x: f(x).sum())(x) * x, X, h=0.01, tolerance=1e-7)


def test_a_selections_pullback_is_one_plan_for_all_lengths():
    back = pycompile.compile(
        rules.places.unmasked, fullgraph=True, mode="wait", options={"plan_always": True}
    )
    for n in range(5, 25):
        x = np.random.default_rng(n).random(n)
        mask = x > 0.4
        expected = np.where(mask, x * 2, 0.0)
        assert np.array_equal(back(x[mask] * 2, x, mask), expected)
    assert back.stats()["compiles"] <= 3


@pytest.mark.parametrize("function", [np.extract, np.compress])
def test_a_write_of_zeros_is_seen(function):
    with pytest.raises(pycompile.DerivativeError, match="no graph follows"):
        pycompile.jvp(lambda x: (function(x > 0, x) ** 3).sum(), (X[0],), (X[0],))


def test_arrays_of_which_numpy_warns():
    def f(x):
        a, b = np.broadcast_arrays(x[:, None], x)
        return (a * b).sum()

    value, direction = pycompile.jvp(f, (np.arange(3.0),), (np.ones(3),))
    assert (value, direction) == (9.0, 18.0)


def test_a_mask_of_no_element():
    """NumPy takes it of an array of any length."""
    x = np.ones((4, 3))
    out, pull = pycompile.vjp(lambda x: x[np.zeros(0, bool)], x)
    (gradient,) = pull(np.ones(out.shape))
    assert out.shape == (0, 3) and not gradient.any() and gradient.shape == x.shape


def test_a_direction_of_a_direction_of_rows():
    """The pullback reshapes a number that was spread."""

    def f(x):
        return x[:, :-1][np.array([1, 0, -1])].sum()

    def along(x, v):
        return pycompile.jvp(f, (x,), (v,))[1]

    value, direction = pycompile.jvp(along, (X, X), (X, np.ones_like(X)))
    assert np.isclose(value, f(X))
    assert np.isclose(direction, f(np.ones_like(X)))
    assert np.allclose(pycompile.vjp(along, X, X)[1](1.0)[1], [[1, 1, 0], [2, 2, 0]])
