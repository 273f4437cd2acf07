"""vmap in one run: the results are those of the loop over the items."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import pycompile
from pycompile import grad, hessian, jacfwd, jacrev, vmap
from pycompile.derivatives import _batch

rng = np.random.default_rng(4)


def R(*shape):
    return rng.normal(size=shape)


W, V = R(4, 4), R(4)


def branch(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = -x
    return y


def writes(x):
    y = np.zeros((2, 4))
    y[0] = x
    y[1, 1:] = x[:-1] * 2
    return y


def elements(x):
    y, s = np.zeros(4), 0.0
    for i in range(4):
        s = s + x[i] ** 2
        y[i] = s * 2
    return y


def stores(x, y):
    a, b = x * 1, np.zeros((3, 4))
    np.add.at(a, [1, 3], y)
    a[[0, 2]] = y * 2
    np.add.at(b, (np.array([2, 0]), np.argsort(x)[:2]), y)
    np.add.at(b, (slice(None), [1, 1]), y)
    return a, b, b[np.array([0, 1]), [3, 2]]


class Counted:
    """Tells whether items were run at once."""

    def __init__(self, monkeypatch):
        self.attempt, self.told = _batch.attempt, []
        monkeypatch.setattr(_batch, "attempt", self)

    def __call__(self, *args):
        out = self.attempt(*args)
        self.told.append(out is not None and out[1] is not None)
        return out


ONCE = {
    "layer": (lambda x: np.tanh(x @ W + V).sum(), (R(5, 4),), {}),
    "ranks": (lambda x, y: x * y + V, (R(5), R(5, 3, 4)), {}),
    "products": (lambda x, y: (W @ x, x @ x, y @ x, x @ y.T, y.T @ y), (R(5, 4), R(5, 2, 4)), {}),
    "stacks": (lambda x, y: x @ y, (R(5, 2, 3, 4), R(5, 4, 2)), {}),
    "axes": (lambda x: (x.max(axis=0), x.cumsum(axis=1), x.argmax(), x.std()), (R(5, 3, 4),), {}),
    "views": (lambda x: (x.T[::-1].reshape(-1), x[1:, ::2], x[0, 1]), (R(5, 3, 4),), {}),
    "joined": (lambda x: np.concatenate((x, V)), (R(5, 4),), {}),
    "gathers": (lambda x: (x[np.argsort(x)], V[np.argsort(x)], x[[0, 2]]), (R(5, 4),), {}),
    "stores": (stores, (R(5, 4), R(5, 2)), {}),
    "sort": (lambda x: np.sort(x, axis=0)[::-1], (R(5, 4, 2),), {}),
    "linalg": (lambda a, b: (np.linalg.inv(a), np.linalg.solve(a, b)), (R(5, 4, 4), R(5, 4)), {}),
    "einsum": (lambda x: np.einsum("i,ij->j", x, W), (R(5, 4),), {}),
    "branch": (branch, (R(5, 4),), {}),
    "writes": (writes, (R(5, 4),), {}),
    "elements": (elements, (R(5, 4),), {}),
    "dtypes": (lambda x: np.clip(x, -1, 1).astype(np.float32) * 2, (R(5, 4),), {}),
    "number": (lambda x: float(x.sum()) * 2, (R(5, 4),), {}),
    "trees": (
        lambda p: {"a": p["a"] * p["b"], "c": (p["a"].sum(),)},
        ({"a": R(3, 5), "b": R(3)},),
        {"in_axes": ({"a": 1, "b": None},), "out_axes": {"a": 1, "c": (0,)}},
    ),
    "grad": (grad(lambda x: (np.tanh(x @ W) ** 2).sum()), (R(5, 4),), {}),
    "grads": (
        grad(lambda w, x: np.log(np.exp(x @ w).sum())),
        (W, R(5, 4)),
        {"in_axes": (None, 0)},
    ),
    "hessian": (hessian(lambda x: (x**3).sum() * x[0]), (R(5, 4),), {}),
    "vmap": (vmap(lambda x: np.tanh(x @ W).sum()), (R(5, 3, 4),), {}),
}


def appends(x, into=[]):  # noqa: B006
    into.append(1)
    return x * len(into)


def fills(x):
    x[0] = 1.0
    return x * 2


def arms(x):
    if x[0] > 0:
        a = x * 2
        b = a.copy()
        b[0] = 5.0
        y = a + b
    else:
        y = x - 1
    return y


ONCE["arms"] = (arms, (R(5, 4),), {})
EACH = {
    "truths": (lambda x: (x.sum() > 0, x[0] > 0, x[1] < 0), (R(7, 4),), {}),
    "appends": (appends, (R(5, 4),), {}),
    "fills": (fills, (R(5, 4),), {}),
    "median": (lambda x: np.median(x), (R(5, 4),), {}),
    "break": (lambda x: eval("x * 2"), (R(5, 4),), {}),
}


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (tuple, list)):
        return type(one) is type(other) and all(map(same, one, other))
    alike = one.dtype == other.dtype and one.shape == other.shape
    return alike and np.allclose(one, other, rtol=1e-12, atol=1e-14)


def one_by_one(monkeypatch, f, args, axes):
    monkeypatch.setattr(_batch, "attempt", lambda *args: None)
    return vmap(f, **axes)(*copy.deepcopy(args))


@pytest.mark.parametrize("name", ONCE)
def test_at_once(name, monkeypatch):
    f, args, axes = ONCE[name]
    counted = Counted(monkeypatch)
    got = vmap(f, **axes)(*copy.deepcopy(args))
    assert all(counted.told)
    assert same(got, one_by_one(monkeypatch, f, args, axes))


@pytest.mark.parametrize("name", EACH)
def test_one_by_one(name, monkeypatch):
    f, args, axes = EACH[name]
    counted = Counted(monkeypatch)
    got = vmap(f, **axes)(*copy.deepcopy(args))
    assert counted.told == [False]
    appends.__defaults__[0].clear()
    if f is not appends:
        assert same(got, one_by_one(monkeypatch, f, args, axes))
    else:
        assert np.array_equal(got[4], args[0][4] * 5)


def test_gradient_of_a_batch(monkeypatch):
    x = R(5, 4)
    counted = Counted(monkeypatch)
    g = grad(lambda x: (vmap(lambda r: np.tanh(r @ W).sum())(x) ** 2).sum())(x)
    assert counted.told == [True]
    want = grad(lambda x: (np.tanh(x @ W).sum(axis=1) ** 2).sum())(x)
    assert np.allclose(g, want, rtol=1e-12)


def test_gradient_of_a_batch_that_is_given_up(monkeypatch):
    def f(r):
        return np.median(np.tanh(r)) ** 2

    x = R(5, 4)
    counted = Counted(monkeypatch)
    g = grad(lambda x: vmap(f)(x).sum())(x)
    assert counted.told == [False]
    assert np.array_equal(g, [grad(f)(row) for row in x])


def test_gradients_after_calls_that_were_no_batches():
    def f(x):
        return vmap(lambda r, q: r * q.sum(), in_axes=(0, None))(x, x).sum()

    x = np.array([1.0, 2.0, 3.0])
    for _ in range(12):
        f(x)
    assert grad(f)(x).tolist() == [12.0, 12.0, 12.0]


def test_one_array_twice():
    w, product = np.array([0.5, 2.0]), vmap(np.multiply)
    assert grad(lambda q: product(w, q).sum())(w).tolist() == [0.5, 2.0]
    assert grad(lambda q: product(q, w).sum())(w).tolist() == [0.5, 2.0]
    both = grad(lambda q, r: vmap(lambda a, b: a * b**2)(q, r).sum(), argnums=(0, 1))(w, w)
    assert [each.tolist() for each in both] == [[0.25, 4.0], [0.5, 8.0]]


def test_a_part_of_what_is_gone_through():
    x = R(3, 2)
    row, want = x[0], x * x[0]
    assert np.array_equal(vmap(lambda r, q: r * q, in_axes=(0, None))(x, row), want)
    assert np.array_equal(vmap(lambda r: r * row)(x), want)
    nested = vmap(lambda r: vmap(lambda a, b: a * b)(r, row))
    assert np.array_equal(nested(x), want)


def test_lists_in_a_batch():
    x = R(3, 2)

    def stores(r):
        a = np.zeros(2)
        a[:] = [r[0], 2 * r[1]]
        return a

    assert np.array_equal(vmap(stores)(x), x * [1, 2])
    assert vmap(lambda r: np.add(r[0], [r[1]]))(x).shape == (3, 1)


def test_jacobians_are_batches(monkeypatch):
    counted = Counted(monkeypatch)
    x = R(4)
    for jacobian in (jacrev, jacfwd):
        assert np.allclose(jacobian(elements)(x), np.tril(np.ones((4, 4))) * 4 * x, rtol=1e-14)
    assert np.allclose(hessian(lambda x: (elements(x) ** 2).sum())(x), _hessian(x), rtol=1e-12)
    assert all(counted.told)


def _hessian(x):
    """Of the sum of 4 s ** 2 for the running sums s of x ** 2."""
    s = np.cumsum(x**2)
    mixed = 32 * np.outer(x, x) * (4 - np.maximum.outer(range(4), range(4)))
    return mixed + np.diag(16 * np.cumsum(s[::-1])[::-1])


def test_warnings_and_errors_are_the_loops():
    with pytest.warns(RuntimeWarning, match="invalid value encountered in log"):
        out = vmap(lambda x: np.log(x))(np.array([1.0, -1.0]))
    assert out[0] == 0 and np.isnan(out[1])
    with pytest.raises(TypeError, match="in_axes"):
        vmap(lambda x: x, in_axes=((0, 1),))(X := np.ones((2, 2)))
    with pytest.raises(ValueError, match="one length"):
        vmap(lambda x, y: x)(X, np.ones(3))
    assert pycompile.vmap(np.negative)(X).tolist() == (-X).tolist()
