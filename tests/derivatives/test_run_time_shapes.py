"""Arrays whose shape only the run tells, functions of NumPy's that are Python code, and other ways in which
a derivative was silently wrong."""

from __future__ import annotations

import numpy as np
import pytest
from differences import check

import pycompile

X = np.array([1.5, -0.3, 0.4, 0.8, -1.2, 2.6])


def masked_store(x):
    y = x * 1
    y[x > 1] = 2 * x[x > 1]
    return y


def filled(x):
    y = np.zeros((2, 3))
    np.copyto(y, x.reshape(2, 3) ** 2, where=x.reshape(2, 3) > 0.5)
    np.fill_diagonal(y, x[1] * 2)
    np.put(y, [1, 5], [x[0], 7.5])
    y.flat[2] = x[0]
    return y


def exchanged(x):
    """A loop over arrays that carries one as another."""
    a, b = x, x * 0.5
    for _ in range(len(x) - 3):
        z = a * 0.9
        a, b = b, (x + a) * -0.25
        if (a * x).sum() > 90.0:
            return z
    return a + b


FUNCTIONS = {
    "a store by a mask": masked_store,
    "a number times a selection": lambda x: x[0] * np.exp(x[x > 0.5]),
    "one element times a selection": lambda x: x[:1] * x[x > 0.5] - x[x < 0.4][:1],
    "Python's numbers": lambda x: (2.0 - x[x > 0]) / 3.0 + 2.0 ** x[x > 0],
    "limits by name": lambda x: np.clip(x[x > 0.5], min=0.9, max=x[5]),
    "parts": lambda x: (x * (1 + 2j))[x > 0.5].imag + x[x > 0.5].T,
    "a shape in numbers": lambda x: np.cbrt(x[x > 0.5].reshape(-1, 1)) + x[x > 0.5],
    "outer": lambda x: np.multiply.outer(x[x > 0.5], x[:2]),
    "joined": lambda x: np.concatenate([x[x > 0.5], x, [1.0]]),
    "chosen, with constants": lambda x: np.choose(x > 0.5, [x, np.array([True])]),
    "of a result": lambda x: np.linalg.lstsq(np.vander(x, 3), np.arange(6.0), 1e-15)[0].T * 2,
    "filled": filled,
    "exchanged": exchanged,
    "empty": lambda x: (x[6:], x[3:3] * 2, x),
    "heaviside": lambda x: np.heaviside(0.0 * x, x),
    "NumPy's code: outer": lambda x: np.outer(x[x > 0.5], x),
    "NumPy's code: vector_norm": lambda x: np.linalg.vector_norm(x, ord=3),
    "NumPy's code: corrcoef": lambda x: np.corrcoef(x[:3], x[3:]),
    "NumPy's code: ediff1d": lambda x: np.ediff1d(x),
    "NumPy's code: polyfit": lambda x: np.polyfit(x, x[::-1] ** 2, 2),
    "NumPy's code: nanmax": lambda x: np.nanmax(x.reshape(2, 3), axis=1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    check(FUNCTIONS[name], X, h=0.01, tolerance=1e-8)


def test_values_of_an_argument_have_graphs_of_their_own():
    """A function that a helper is given another number each time."""

    def part(x, k):
        return np.tril(x, k).sum(axis=k % 2)

    for k in (0, 1, -1, 2, -2, 0):
        check(lambda x, k=k: part(x, k), X.reshape(2, 3))


def test_jacobians():
    def f(x):
        y = x.copy()
        for i in range(1, len(y)):
            y[i] = np.tanh(y[i - 1]) + x[i]
        return y

    def g(p):
        return {"a": p["u"] * p["v"].sum(), "b": p["u"].sum() ** 2}

    tree = {"u": np.arange(1.0, 4.0), "v": np.arange(6.0).reshape(2, 3)}
    one, other = pycompile.jacrev(g)(tree), pycompile.jacfwd(g)(tree)
    assert one["a"]["v"].shape == (3, 2, 3) and one["b"]["u"].shape == (3,)
    for key in one:
        for name in tree:
            assert np.allclose(one[key][name], other[key][name])
    rows = [pycompile.vjp(f, X)[1](unit)[0] for unit in np.eye(len(X))]
    assert np.allclose(pycompile.jacrev(f)(X), rows) and np.allclose(pycompile.jacfwd(f)(X), rows)
    assert np.allclose(pycompile.hessian(lambda x: (f(x) ** 2).sum())(X), _hessian(f), atol=1e-5)


def test_a_gradient_through_a_jacobian():
    def f(x):
        return np.sin(np.outer(x, x)) + np.cos(np.dot(x, x))

    for jacobian in (pycompile.jacrev, pycompile.jacfwd):
        check(lambda x, jacobian=jacobian: np.sin(jacobian(f)(x)), X[:2], h=0.01)


def _hessian(f):
    gradient = pycompile.grad(lambda x: (f(x) ** 2).sum())
    return np.array(
        [(gradient(X + 1e-5 * e) - gradient(X - 1e-5 * e)) / 2e-5 for e in np.eye(len(X))]
    )


def test_a_batch_keeps_what_was_read_before_a_write():
    def exchange(x):
        y = x.copy()
        for i in range(len(y) - 1):
            first = y[i]
            y[i] = y[i + 1]
            y[i + 1] = first * 2
        return y

    rows = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(pycompile.vmap(exchange)(rows), [exchange(row) for row in rows])


def test_explain_tells_what_is_kept():
    def loss(x, w):
        h = np.tanh(x @ w)
        return (h * 2).sum()

    told = pycompile.explain(pycompile.grad(loss, 1))(np.ones((30, 4)), np.ones((4, 3)))
    (record,) = told.derivatives
    assert [value["what"] for value in record["kept"] if not value["argument"]] == ["tanh"]
    assert "def forward" in told.verbose() and "def backward" in told.verbose()
    assert "kept: 720 bytes" in str(told) and "marked with" not in str(told)
    assert told.to_dict()["derivatives"] == told.derivatives


def test_explain_tells_what_a_graph_for_any_length_keeps():
    def loss(w, x):
        y = np.sin(x) * w
        return (y * y).sum()

    @pycompile.compile(mode="wait", options={"plan_always": True})
    def step(w, x):
        return pycompile.value_and_grad(loss)(w, x)

    def x(n):
        return np.linspace(0, 1, 2 * n).reshape(n, 2)

    step(np.ones(2), x(30))
    step(np.ones(2), x(41))
    n = 52
    told = pycompile.explain(step)(np.ones(2), x(n))
    (record,) = told.derivatives
    assert {value["bytes"] for value in record["kept"] if not value["argument"]} == {16 * n}
    assert f"float64[{n}, 2]" in str(told)
