"""Derivatives of functions that take derivatives: what an inner one copies stays what it was."""

import numpy as np
import pytest
from differences import check

import pycompile
from pycompile import DerivativeError, grad, jacfwd, jacrev, jvp, value_and_grad, vjp
from pycompile.derivatives.rules import RULES

X = 0.7
SECOND, FIRST = -np.sin(X) * 2, np.cos(X)


def forward(x, v):
    return jvp(np.sin, (x,), (v,))[1]


def backward(x, v):
    return vjp(np.sin, x)[1](v)[0]


@pytest.mark.parametrize("f", [forward, backward])
@pytest.mark.parametrize("kind", [float, np.float64, np.array])
def test_by_primal_and_tangent(f, kind):
    x, v, one, zero = (kind(value) for value in (X, 2.0, 1.0, 0.0))
    assert np.allclose(vjp(f, x, v)[1](1.0), (SECOND, FIRST), rtol=1e-14)
    assert np.allclose(jvp(f, (x, v), (one, zero))[1], SECOND, rtol=1e-14)
    assert np.allclose(jvp(f, (x, v), (zero, one))[1], FIRST, rtol=1e-14)


def test_an_argument_that_the_function_reaches_another_way():
    given = (X, np.array(2.0))

    def f(pair):
        rest = list(given)
        rest[:2] = pair
        return forward(*rest)

    assert np.allclose(vjp(f, given)[1](1.0)[0], (SECOND, FIRST), rtol=1e-14)


def test_results_that_depend_on_nothing_outside():
    assert grad(grad(lambda x: x))(2.0) == 0.0
    assert grad(lambda x: value_and_grad(lambda y: y * 3)(2.0)[0] * x)(2.0) == 6.0


@pytest.mark.parametrize("inner", [jacrev, jacfwd])
def test_jacobians_that_depend_on_nothing_outside(inner):
    x = np.arange(1.0, 4)

    def f(x):
        return {"linear": 2 * x, "cube": x**3}

    for outer in (jacrev, jacfwd):
        found = outer(inner(f))(x)
        assert not found["linear"].any() and found["linear"].shape == (3, 3, 3)
        assert np.array_equal(np.einsum("iii->i", found["cube"]), 6 * x)
    assert not outer(inner(lambda x: x.sum()))(x).any()
    # of what the function has in its closure
    assert np.array_equal(grad(lambda y: (inner(lambda x: x**2 - y)(x) @ y).sum())(x), 2 * x)


@pytest.mark.parametrize("kind", [complex, np.complex128, np.array])
def test_complex_numbers(kind):
    z, v = 0.6 + 0.3j, kind(1 + 0j)

    def f(z, v):
        return jvp(np.log1p, (z,), (v,))[1]

    want = (-1 / (1 + z) ** 2, 1 / (1 + z))
    assert np.allclose(vjp(f, kind(z), v)[1](1 + 0j), want, rtol=1e-14)
    assert np.allclose(jvp(f, (kind(z), v), (v, kind(0j)))[1], want[0], rtol=1e-14)


@pytest.mark.parametrize("product", [np.dot, np.inner, lambda x, y: np.tensordot(x, y, 0)[()]])
def test_products_of_numbers(product):
    def f(x, v):
        return vjp(lambda x: product(x, 0.3), x)[1](v)[0]

    assert vjp(f, X, 2.0)[1](1.0) == (0.0, 0.3)


def test_a_rule_that_ends_a_graph(monkeypatch):
    monkeypatch.setitem(RULES[np.inner], "a", lambda g, o, a, b: g * 0.3 if eval("1") else g)

    def f(x, v):
        return vjp(lambda x: np.inner(x, 0.3), x)[1](v)[0]

    with pytest.raises(DerivativeError, match="own code"):
        vjp(f, X, 2.0)


@pytest.mark.parametrize("name", ("svd", "qr", "eigh"))
def test_directions_of_functions_with_several_results(name):
    a = np.random.default_rng(0).random((3, 3)) + np.diag([1.0, 2.0, 3.0])
    a, d = a + a.T, np.arange(9.0).reshape(3, 3)

    def f(a):
        return tuple(abs(part) for part in getattr(np.linalg, name)(a))

    d = d + d.T
    ahead, behind = (f(a + h * d) for h in (1e-5, -1e-5))
    for got, x, y in zip(jvp(f, (a,), (d,))[1], ahead, behind, strict=True):
        assert np.allclose(got, (x - y) / 2e-5, atol=1e-6)


def test_descent_in_a_loop():
    def descended(y, rate):
        w = np.zeros(2)
        for _ in range(3):
            w -= rate * pycompile.grad(lambda w: ((w - y**2) ** 2).sum())(w)
        return w

    check(descended, np.array([0.5, 1.0]), np.array(0.1))
