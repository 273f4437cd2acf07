"""Jacobians, directions and batches as part of one graph, against those of a tape."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

import pycompile
from pycompile import _api, grad, hessian, jacfwd, jacrev, jvp, vmap
from pycompile.derivatives import _repeated, _trees

RNG = np.random.default_rng(5)
X, A = RNG.normal(size=4), RNG.normal(size=(4, 4))


def close(got, expected):
    pairs = zip(_trees.leaves(got), _trees.leaves(expected), strict=True)
    for (place, a), (other, b) in pairs:
        assert place == other
        assert type(a) is type(b) and np.shape(a) == np.shape(b), place
        assert np.asarray(a).dtype == np.asarray(b).dtype
        if isinstance(a, np.ndarray):
            assert a.strides == b.strides
        assert np.allclose(a, b, rtol=1e-10, atol=1e-12), place
    assert type(got) is type(expected)


def swing(s):
    q, p = s[:2], s[2:]
    a = np.sin(q[0] - q[1])
    return np.array([p[0], p[1] * a, -a * p[1] ** 2, a * p[0] ** 2 - q[1]])


def wave(p):
    return {"a": np.tanh(A @ p["x"]) * p["k"], "b": p["x"].sum() * p["k"], "c": p["x"] * 1}


def energy(x):
    y = x.copy()
    y[1:] *= x[:-1]
    return (np.exp(-y) * y).sum()


STEPS = [
    lambda x: jacrev(swing)(x),
    lambda x: jacfwd(swing)(x),
    lambda x: jacrev(wave)({"x": x, "k": 0.5}),
    lambda x: jacfwd(wave)({"x": x, "k": np.float64(0.5)}),
    lambda x: jacfwd(lambda x, y: x * y, (0, 1))(x, x[::-1]),
    lambda x: hessian(energy)(x),
    lambda x: jvp(wave, ({"x": x, "k": 0.5},), ({"x": x[::-1], "k": 2.0},)),
    lambda x: jvp(grad(energy), (x,), (np.ones(4),)),
    lambda x: jacrev(lambda x: np.array([2.0, 1.0]) + 0 * np.floor(x[:2]))(x),
    lambda x: jacfwd(grad(lambda x: x.sum() ** 3))(x.astype(np.float32)),
    lambda x: grad(lambda x: (hessian(energy)(x) ** 2).sum())(x),
]


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_in_a_compiled_function(number):
    step = STEPS[number]
    compiled = pycompile.compile(step, fullgraph=True, backend="eager")
    close(compiled(X.copy()), step(X.copy()))


def test_a_derivative_that_leaves_the_graph():
    def made(x):
        return hessian(energy), x * 2

    made = pycompile.compile(made, fullgraph=True, backend="eager")
    close(made(X)[0](X), hessian(energy)(X))


@pytest.fixture
def done(monkeypatch):
    """From the second call on a graph is tried; a list of which calls one has done."""
    eager = functools.partial(pycompile.compile, backend="eager")
    monkeypatch.setattr(_api, "compile", eager)
    monkeypatch.setattr(_repeated.Whole, "times", 0)
    run, out = _repeated.Whole.run, []

    def noted(self, *args):
        got = run(self, *args)
        out.append(got is not _repeated.MISSED and not _repeated._calls.missed)
        return got

    monkeypatch.setattr(_repeated.Whole, "run", noted)
    return out


def item(x, p):
    y = p["k"] * x
    if y.sum() > 0:
        y = y * 2
    return (y**2).sum(), y[::-1]


@pytest.mark.parametrize(
    ("f", "axes", "args"),
    [
        (item, ((1, None), (0, 1)), (A, {"k": X})),
        (grad(lambda x, y: np.log(x * x) @ y), (0,), (A, A)),
        (jacfwd(swing), (0,), (A,)),
        (vmap(lambda x: np.sin(x) * x), (0,), (np.ones((2, 3, 2)),)),
        (lambda x: (jacrev(swing)(x) @ x).sum(), (0,), (A,)),
    ],
)
def test_batches(done, f, axes, args):
    batch = vmap(f, *axes)
    expected = batch(*args)
    for _ in range(3):
        close(batch(*args), expected)
    assert done and all(done)


def test_what_each_item_does_is_done_for_each(done):
    seen, counts = [], {"all": 0}

    def appends(x):
        seen.append(1)
        return x * 2

    def counted(x):
        counts["all"] = counts["all"] + 1
        return x * 2

    def outer(x):
        mine = []

        def inner(y):
            mine.append(1)
            return y * 2

        return vmap(inner)(x) * len(mine)

    def writes(x, y):
        y += x
        return y * 2

    total = np.zeros(4)
    for _ in range(4):
        vmap(appends)(A)
        vmap(counted)(A)
        vmap(writes, (0, None))(A, total)
    assert len(seen) == counts["all"] == 16
    assert np.allclose(total, 4 * A.sum(axis=0))
    batch = vmap(outer)
    for _ in range(4):
        assert np.array_equal(batch(np.ones((2, 3, 2))), np.full((2, 3, 2), 6.0))


def test_warnings_of_items(done):
    batch = vmap(lambda x: 1 / x)
    rows = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 2.0]])
    for given in (rows[:2], rows[:2], rows[:2], rows):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            got = batch(given)
        assert np.array_equal(got, np.where(given, 1 / np.where(given, given, 1), np.inf))
    assert [each.category for each in told] == [RuntimeWarning]


def test_directions_of_functions_that_are_made_anew(done):
    for _ in range(4):
        out = jvp(grad(energy), (X,), (A[0],))
        close(out[1], hessian(energy)(X) @ A[0])
    assert done and all(done)


def test_errors_of_items_are_those_of_the_loop(done):
    batch = vmap(lambda x, i: x[i], (0, 0))
    places = np.arange(4)
    for _ in range(3):
        assert np.array_equal(batch(A, places), np.diag(A))
    with pytest.raises(IndexError, match="axis 0 with size 4"):
        batch(A, places + 1)


def test_errors_are_those_of_the_tape(done):
    rows = jacrev(lambda x: np.linalg.inv(x).sum())
    for given in (A, A, A):
        rows(given)
    with pytest.raises(np.linalg.LinAlgError):
        rows(np.zeros((4, 4)))
    with pytest.raises(pycompile.DerivativeError, match="int64"):
        rows(np.eye(4, dtype=int))
