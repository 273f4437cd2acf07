"""The functions themselves: arguments, containers, errors, conventions, higher derivatives."""

from __future__ import annotations

import collections
import dataclasses
import math
import tempfile
import types

import numpy as np
import pytest
from differences import check, difference

import pycompile
from pycompile import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap
from pycompile.derivatives import _plan, _run, rules

X = np.array([0.3, 0.7, 1.9])


def test_argnums():
    def f(x, y, z):
        return (x * y**2 * z).sum()

    assert np.allclose(grad(f)(X, X, X), X**3, rtol=1e-15)
    assert np.allclose(grad(f, 1)(X, X, X), 2 * X**3, rtol=1e-15)
    both = grad(f, argnums=(0, 2))(X, X, X)
    assert type(both) is tuple and len(both) == 2
    assert np.allclose(both[1], X**3, rtol=1e-15)
    assert np.allclose(grad(f, -1)(X, X, X), X**3, rtol=1e-15)
    with pytest.raises(TypeError, match="argnums"):
        grad(f, "x")
    with pytest.raises(TypeError, match="argnums"):
        grad(f, 3)(X, X, X)


def test_has_aux():
    def f(x):
        return (x * x).sum(), {"x": x * 2, "n": 3}

    (value, aux), g = value_and_grad(f, has_aux=True)(X)
    assert value == (X * X).sum() and aux["n"] == 3 and np.array_equal(aux["x"], 2 * X)
    assert np.array_equal(g, 2 * X)
    g, aux = grad(f, has_aux=True)(X)
    assert aux["n"] == 3 and np.array_equal(g, 2 * X)
    out, pullback, aux = vjp(f, X, has_aux=True)
    assert np.array_equal(pullback(2.0)[0], 4 * X) and aux["n"] == 3
    with pytest.raises(TypeError, match="pair"):
        grad(lambda x: x.sum(), has_aux=True)(X)


Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Layer:
    weight: np.ndarray
    bias: np.ndarray
    name: str = "layer"


class Model:
    def __init__(self):
        self.layers = [Layer(np.ones((3, 2)), np.zeros(2)), Layer(np.ones((2, 1)), np.zeros(1))]
        self.depth = 2


def test_containers():
    def f(p):
        return (p["w"][0] * p["pair"].a).sum() * p["pair"].b[0]

    p = {"w": [X], "pair": Pair(X + 1, (np.array(2.0), None))}
    g = grad(f)(p)
    assert type(g["pair"]) is Pair and g["pair"].b[1] is None
    assert np.allclose(g["w"][0], (X + 1) * 2)
    assert np.allclose(g["pair"].b[0], (X * (X + 1)).sum())
    model = Model()

    def loss(model, x):
        for layer in model.layers:
            x = np.tanh(x @ layer.weight + layer.bias)
        return x.sum()

    g = grad(loss)(model, X)
    assert type(g) is Model and g.depth == 2 and g.layers[0].name == "layer"
    assert g.layers[0].weight.shape == (3, 2) and g.layers[1].bias.shape == (1,)
    assert np.array_equal(model.layers[0].bias, np.zeros(2))
    check(lambda w: loss(Model.__new__(Model) if False else _with(w), X), np.full((3, 2), 0.3))


def _with(weight):
    model = Model()
    model.layers[0].weight = weight
    return model


def test_numbers_of_python():
    assert grad(lambda x: x**3)(2.0) == 12.0
    assert type(grad(lambda x: x**3)(2.0)) is float
    assert type(grad(lambda x: x**3)(np.float64(2.0))) is np.float64
    g = grad(lambda p: math.sin(p["a"]) * p["b"][0] * math.exp(p["b"][1]))(
        {"a": 0.5, "b": (2.0, 0.1)}
    )
    assert g["a"] == pytest.approx(math.cos(0.5) * 2 * math.exp(0.1), rel=1e-14)
    assert grad(lambda x, n: x**n)(2.0, 5) == 80.0
    assert grad(lambda x, w: math.sin(x) * w.sum())(0.5, X) == pytest.approx(
        math.cos(0.5) * X.sum()
    )


def test_methods_and_other_callables():
    class Loss:
        def __init__(self):
            self.w = X * 2

        def __call__(self, x):
            return (self.w * x).sum()

        def method(self, x):
            return (self.w * x * x).sum()

    loss = Loss()
    assert np.array_equal(grad(loss)(X), X * 2)
    assert np.allclose(grad(loss.method)(X), 4 * X * X)
    assert np.array_equal(grad(np.sum)(X), np.ones(3))
    assert np.array_equal(grad(pycompile.compile(lambda x: (x * x).sum()))(X), 2 * X)
    with pytest.raises(TypeError, match="function"):
        grad(3)


def test_the_same_array_twice():
    assert np.array_equal(grad(lambda x, y: (x * y).sum())(X, X), X)
    gx, gy = grad(lambda x, y: (x * x * y).sum(), (0, 1))(X, X)
    assert np.allclose(gx, 2 * X * X) and np.allclose(gy, X * X)


def test_results_that_are_arguments():
    out, pullback = vjp(lambda x, y: (x, y, x * y, 3.0, "text"), X, X + 1)
    assert out[0] is X and out[4] == "text"
    gx, gy = pullback((X, X, X, 0.0, "text"))
    assert np.allclose(gx, X + X * (X + 1)) and np.allclose(gy, X + X * X)


def test_arrays_of_other_modules():
    """They were there before the call, as those in the globals were."""
    part, settings = types.ModuleType("part"), types.ModuleType("settings")
    settings.scale, settings.tables, settings.part = X * 2, {"k": X * 3}, part
    part.scale = X * 5
    exec("def scaled(x):\n    return x * scale", vars(part))
    holder = types.SimpleNamespace(module=settings)

    assert np.array_equal(grad(lambda x: (x * settings.scale).sum())(X), X * 2)
    assert np.array_equal(grad(lambda x: (x * settings.tables["k"]).sum())(X), X * 3)
    assert np.array_equal(grad(lambda x: settings.part.scaled(x).sum())(X), X * 5)
    assert np.array_equal(grad(lambda x, h: (x * h.module.part.scale).sum())(X, holder), X * 5)
    settings.made = None

    def late(x):
        settings.made = eval("x * 2")
        return (x * settings.made).sum()

    with pytest.raises(pycompile.DerivativeError, match="no graph follows"):
        grad(late)(X)


def test_what_numpys_own_code_reads_is_not_looked_through():
    reached = _run.Reached()
    reached.walk(rules.own_code(np.linalg.matrix_norm))
    assert len(reached.seen) < 200


def test_pullbacks_can_be_called_again():
    x = X.copy()
    out, pullback = vjp(lambda x: x * x, x)
    first = pullback(np.ones(3))[0]
    x[:] = 0
    assert np.array_equal(first, pullback(np.ones(3))[0])
    out, pullback = vjp(np.tanh, X)
    first = pullback(np.ones(3))[0]
    out[:] = 0
    assert np.array_equal(first, pullback(np.ones(3))[0])
    with pytest.raises(TypeError, match="shape"):
        pullback(np.ones(2))


@pytest.mark.parametrize(
    ("f", "arg", "error", "match"),
    (
        (lambda n: n * 2.0, 3, pycompile.DerivativeError, "int"),
        (lambda n: n * 2.0, True, pycompile.DerivativeError, "bool"),
        (lambda n: 1.0, "text", pycompile.DerivativeError, "str"),
        (lambda a: a.sum() * 1.0, np.arange(3), pycompile.DerivativeError, "int64"),
        (lambda a: 1.0, object(), pycompile.DerivativeError, "object"),
        (
            lambda d: d["a"].sum(),
            {"a": X, "n": 3},
            pycompile.DerivativeError,
            r"0\['n'\] of <lambda>",
        ),
        (
            lambda x: (x * x).sum(),
            np.memmap(tempfile.TemporaryFile(), float, shape=3),
            pycompile.DerivativeError,
            "a memmap.*asarray",
        ),
        (
            lambda x: sum([v * v for v in x if v > 1]),
            X,
            pycompile.DerivativeError,
            r"list\(array\)",
        ),
        (lambda x: x * np.ma.ones(3), X, pycompile.DerivativeError, "a MaskedArray.*asarray"),
        (lambda x: x * 2, X, TypeError, "shape"),
        (lambda x: None, X, TypeError, "NoneType"),
        (lambda x: (x * 1j).sum(), X, TypeError, "complex"),
        (
            lambda x: np.spacing(x).sum(),
            X,
            pycompile.DerivativeError,
            "no derivative",
        ),
    ),
)
def test_what_raises(f, arg, error, match):
    with pytest.raises(error, match=match):
        grad(f)(arg)


@pytest.mark.parametrize("dtype", [">f8", np.longdouble, ">c16"])
def test_a_dtype_that_no_graph_has(dtype):
    def f(x):
        return (abs(x) * 3.0).sum()

    x = np.array([1.0, 2.0])
    with pytest.raises(pycompile.DerivativeError, match="make it an array of float64"):
        pycompile.grad(f)(x.astype(dtype))
    assert pycompile.grad(f)(x).tolist() == [3.0, 3.0]


def test_the_line_of_a_missing_rule():
    def f(x):
        y = x * 2
        return np.spacing(y).sum()

    with pytest.raises(pycompile.DerivativeError, match=r"spacing.*test_api.py:\d+.*custom_vjp"):
        grad(f)(X)


# ---- conventions ----


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    (
        (lambda x: np.abs(x).sum(), [0.0], [0.0]),
        (lambda x: np.maximum(x, 0).sum(), [0.0], [0.5]),
        (lambda x: np.minimum(x[0], x[1]), [1.0, 1.0], [0.5, 0.5]),
        (lambda x: x.max(), [1.0, 2.0, 2.0], [0.0, 0.5, 0.5]),
        (lambda x: x.min(), [1.0, 1.0, 1.0, 1.0], [0.25, 0.25, 0.25, 0.25]),
        (lambda x: np.clip(x, 0, 1).sum(), [0.0, 0.5, 1.0, 2.0], [0.5, 1.0, 0.5, 0.0]),
        (lambda x: np.sign(x).sum(), [0.0, 2.0], [0.0, 0.0]),
        (lambda x: np.floor(x).sum(), [0.5], [0.0]),
        (lambda x: np.round(x).sum(), [0.5], [0.0]),
        (lambda x: x[np.argmax(x)], [1.0, 3.0], [0.0, 1.0]),
        (lambda x: x.astype(int).sum() * 1.0, [1.5], [0.0]),
        (lambda x: (x > 0).sum() * 1.0, [1.5], [0.0]),
        (lambda x: (x**0).sum(), [0.0, 2.0], [0.0, 0.0]),
        (lambda x: (x**1).sum(), [0.0, 2.0], [1.0, 1.0]),
        (lambda x: (x**2).sum(), [0.0, 2.0], [0.0, 4.0]),
        (lambda x: np.sort(x)[0], [2.0, 2.0], [1.0, 0.0]),
        (lambda x: np.where(x > 0, x, 0.0).sum(), [0.0, 1.0], [0.0, 1.0]),
        (lambda x: (x % 1.5).sum(), [2.0], [1.0]),
        (lambda x: np.sum(x), [], []),
        (lambda x: np.prod(x), [], []),
        (lambda x: np.prod(x), [0.0, 2.0], [2.0, 0.0]),
        (lambda x: np.sinc(x).sum(), [0.0], [0.0]),
    ),
)
def test_conventions(f, x, expected):
    assert np.array_equal(grad(f)(np.array(x, float)), np.array(expected, float))


def test_infinite_slopes():
    assert np.isinf(grad(lambda x: np.sqrt(x).sum())(np.zeros(1)))[0]
    assert np.isnan(grad(lambda x: np.linalg.norm(x))(np.zeros(2))).all()


# ---- higher derivatives ----


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def recurrence(x):
    s = 0.0
    for i in range(len(x)):
        s = np.tanh(s * x[i]) + x[i] * x[i]
    return s


def linear_algebra(x):
    a = np.outer(x, x) + np.eye(3)
    return np.linalg.slogdet(a)[1] + np.linalg.solve(a, x).sum() + np.linalg.inv(a)[0, 1]


FUNCTIONS = (
    rosenbrock,
    linear_algebra,
    lambda x: np.exp(-x).prod() * np.cumsum(x)[1],
    lambda x: np.sort(x)[1] * x.max() * np.where(x > 0.5, x, x * x).sum(),
)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_hessian(f):
    h = hessian(f)(X)
    assert h.shape == (3, 3)
    assert np.allclose(h, h.T, rtol=1e-9, atol=1e-12)
    g = grad(f)
    for i, unit in enumerate(np.eye(3)):
        for k in range(3):
            wanted = difference(lambda t: g(X + t * unit)[k], 0.02)
            assert abs(h[i, k] - wanted) <= 1e-8 * max(1, abs(wanted))
    assert np.allclose(jacfwd(grad(f))(X), h, rtol=1e-12)
    assert np.allclose(jacrev(grad(f))(X), h, rtol=1e-12)


def test_units_in_parts(monkeypatch):
    """Not all unit vectors are there at once, and second derivatives go through their parts, too."""
    x = np.linspace(0.5, 1.5, 7)

    def f(x):
        return np.cumsum(np.sin(x) * x.sum())

    kinds = (jacrev, jacfwd, lambda f: jacfwd(jacrev(f)))
    whole = [kind(f)(x) for kind in kinds]
    monkeypatch.setattr("pycompile.derivatives._api._UNITS_BYTES", 3 * x.nbytes)
    for kind, wanted in zip(kinds, whole, strict=True):
        assert np.allclose(kind(f)(x), wanted, rtol=1e-13, atol=0)


def test_second_derivative_of_a_loop():
    g = grad(recurrence)
    h = jacrev(g)(X)
    for i, unit in enumerate(np.eye(3)):
        wanted = difference(lambda t: g(X + t * unit)[0], 0.02)
        assert abs(h[0, i] - wanted) <= 1e-8 * max(1, abs(wanted))


def test_third_derivative():
    assert grad(grad(grad(lambda x: x**5)))(2.0) == pytest.approx(240.0)


def test_jvp_and_jacobians():
    def f(x, y):
        return np.sin(x) * y, (x @ y, y[:2])

    t = np.array([0.2, -0.5, 1.0])
    out, tangent = jvp(f, (X, X + 1), (t, 2 * t))
    assert np.array_equal(out[0], np.sin(X) * (X + 1))
    assert np.allclose(tangent[0], np.cos(X) * t * (X + 1) + np.sin(X) * 2 * t)
    assert np.allclose(tangent[1][0], t @ (X + 1) + X @ (2 * t))
    assert np.allclose(tangent[1][1], 2 * t[:2])
    for jac in (jacrev, jacfwd):
        j = jac(f, (0, 1))(X, X + 1)
        assert np.allclose(j[0][0], np.diag(np.cos(X) * (X + 1)))
        assert np.allclose(j[0][1], np.diag(np.sin(X)))
        assert np.allclose(j[1][0][1], X) and np.allclose(j[1][1][0], np.zeros((2, 3)))
    assert np.allclose(jacrev(lambda x: np.outer(x, x))(X), jacfwd(lambda x: np.outer(x, x))(X))
    for jac in (jacrev, jacfwd):
        assert jac(lambda x: x[:0])(np.ones(3)).shape == (0, 3)
        assert jac(lambda x: np.ones(3) + x.sum())(np.zeros(0)).shape == (3, 0)
    out, tangent = jvp(lambda x: x * x, (2.0,), (3.0,))
    assert (out, tangent) == (4.0, 12.0) and type(tangent) is float


def test_a_derivative_in_a_function():
    def f(x):
        g = grad(lambda y: (y**3).sum())(x * 2)
        return (g * x).sum()

    assert np.allclose(grad(f)(X), 36 * X**2)
    compiled = pycompile.compile(f)
    assert np.allclose(compiled(X), f(X))


# ---- rules of the program's own ----


def test_integers_among_the_primals():
    """Of vjp and jvp, as JAX has it: no derivative is by them, and their cotangents are of its float0."""

    def f(x, n, rows, p):
        return x[rows] ** n * p["k"] * p["y"], rows + 1

    rows, p, ones = np.array([2, 0, 2]), {"y": 2.0, "k": 3, "on": True}, np.ones(3)
    (out, more), pullback = vjp(f, X, 3, rows, p)
    assert np.array_equal(out, X[rows] ** 3 * 3 * 2.0) and np.array_equal(more, [3, 1, 3])
    x, n, by_rows, by_p = pullback((ones, more))
    rows[:] = 1  # what is written meanwhile changes nothing
    again = pullback((ones, more))[0]
    expected = np.zeros_like(X)
    np.add.at(expected, [2, 0, 2], 18 * X[[2, 0, 2]] ** 2)
    assert np.allclose(x, expected) and np.array_equal(x, again)
    assert n.shape == () and by_rows.shape == (3,) and by_p["k"].shape == by_p["on"].shape == ()
    assert {each.dtype.names for each in (n, by_rows, by_p["k"], by_p["on"])} == {("float0",)}
    assert np.isclose(by_p["y"], out.sum() / 2)  # rows were [2, 0, 2] in the forward pass

    for tangent in (0, False, np.zeros((), n.dtype)):
        out, direction = jvp(lambda x, n: x**n, (X, 3), (2 * X, tangent))
        assert np.allclose(direction, 6 * X**3)
    for tangent in (1, 0.0, np.zeros(2, int)):
        with pytest.raises(TypeError, match="tangent"):
            jvp(lambda x, n: x**n, (X, 3), (X, tangent))
    assert [type(vjp(lambda x, n: (n, x), X, n)[0][0]) for n in (3, True, np.int8(3))] == [
        int,
        bool,
        np.int8,
    ]
    with pytest.raises(pycompile.DerivativeError, match="no derivative"):
        vjp(lambda x, name: x, X, "name")


def test_custom_vjp():
    @pycompile.custom_vjp
    def f(x, k):
        return np.log1p(np.exp(x)) * k

    f.defvjp(lambda x, k: (f.__wrapped__(x, k), (x, k)), lambda saved, g: (g * 7 * saved[0], None))
    assert np.array_equal(f(X, 2.0), np.log1p(np.exp(X)) * 2)
    assert np.allclose(grad(lambda x: f(x * 2, 2.0).sum())(X), 28 * X)
    assert np.allclose(hessian(lambda x: f(x * 2, 2.0).sum())(X), 28 * np.eye(3))

    @pycompile.custom_vjp
    def g(x):
        return x

    with pytest.raises(pycompile.DerivativeError, match="defvjp"):
        grad(lambda x: g(x * 2).sum())(X)
    g.defvjp(lambda x: x, lambda saved, g: (g,))
    with pytest.raises(TypeError, match="fwd of g gives a pair"):
        grad(lambda x: g(x * 2).sum())(X)


def test_custom_jvp():
    @pycompile.custom_jvp
    def f(x, y):
        return x * y

    f.defjvp(lambda p, t: (p[0] * p[1], 5 * t[0] * p[1] + 3 * t[1] * p[0]))
    assert np.allclose(grad(lambda x: f(x, x * x).sum())(X), 11 * X * X)
    assert np.allclose(jvp(lambda x: f(x, x * x), (X,), (X,))[1], 11 * X**3)


def test_stop_gradient():
    assert np.array_equal(grad(lambda x: (pycompile.stop_gradient(x) * x).sum())(X), X)
    assert pycompile.stop_gradient(X) is X
    assert grad(lambda x: pycompile.stop_gradient(x) * x)(3.0) == 3.0


def test_checkpoint():
    inner = pycompile.checkpoint(lambda a, b: np.sin(a) * b)
    f = lambda x: inner(x, x * x).sum()  # noqa: E731
    assert np.array_equal(inner(X, X), np.sin(X) * X)
    assert np.allclose(grad(f)(X), np.cos(X) * X * X + 2 * np.sin(X) * X)
    expected = -np.sin(X) * X * X + 4 * np.cos(X) * X + 2 * np.sin(X)
    assert np.allclose(hessian(f)(X), np.diag(expected))

    def hides(x):
        y = x * 2
        return pycompile.checkpoint(lambda a: a * y)(x).sum()

    with pytest.raises(pycompile.DerivativeError, match="argument"):
        grad(hides)(X)


def test_vmap():
    m = np.arange(6.0).reshape(2, 3)
    f = vmap(lambda a, b: (a * b).sum(), (0, None))
    assert np.array_equal(f(m, X), (m * X).sum(axis=1))
    assert np.array_equal(vmap(np.sin)(m), np.sin(m))
    assert np.array_equal(vmap(lambda a: a * 2, 1, 1)(m), m * 2)
    assert np.array_equal(vmap(lambda d: {"s": d["a"].sum()})({"a": m})["s"], m.sum(axis=1))
    assert np.array_equal(vmap(grad(lambda a: (a**2).sum()))(m), 2 * m)
    assert np.array_equal(vmap(vmap(lambda a: a + 1))(m), m + 1)
    check(lambda m, x: f(m * x, x) ** 2, m, X)
    with pytest.raises(ValueError, match="length"):
        vmap(lambda a, b: a)(m, X)


def test_floats_of_a_gradient_that_is_made_anew(monkeypatch):
    """One graph serves all values, and all functions of one code."""
    made = []
    plain = _plan.Plan.__init__
    monkeypatch.setattr(_plan.Plan, "__init__", lambda *a: made.append(a) or plain(*a))

    def step(p, rate):
        return pycompile.grad(lambda p, rate: p["a"] * rate**2 + p["b"].sum(), (0, 1))(p, rate)

    for rate in (0.5, 1.5, 2.5):
        (gradient, by_rate) = step({"a": rate + 1, "b": np.ones(2)}, rate)
        assert gradient["a"] == rate**2 and type(by_rate) is float
        assert by_rate == (rate + 1) * 2 * rate
    assert len(made) == 1


def test_floats_of_instances():
    @dataclasses.dataclass(frozen=True)
    class Line:
        slope: float
        points: np.ndarray
        name: str = "line"

    pair = collections.namedtuple("pair", "slope points")
    for slope in (2.0, 3.0):
        for made in (Line, pair):
            p = {"line": made(slope, np.array([1.0, 3.0])), "scale": 2.0}
            gradient = grad(lambda p: (p["line"].points ** 2 * p["line"].slope * p["scale"]).sum())(
                p
            )
            assert type(gradient["line"]) is made and type(gradient["line"].slope) is float
            assert (gradient["line"].slope, gradient["scale"]) == (20.0, 10.0 * slope)
            assert np.array_equal(gradient["line"].points, 4 * slope * p["line"].points)
