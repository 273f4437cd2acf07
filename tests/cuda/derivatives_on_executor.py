"""Gradients of arrays on a device, executed on the CPU (executor.cpp), against those of NumPy's; test_cuda.py
runs this file as it does on_executor.py."""

import ml_dtypes
import numpy as np
import pytest
from calls_on_executor import CALLS
from deviceless import cp, device, host, once, values

import pycompile
from pycompile import value_and_grad

BF16 = np.dtype(ml_dtypes.bfloat16)
V, X, W, B = (values(shape, "f4", 3) ** 2 + 0.1 for shape in ((7,), (5, 7), (7, 4), (4,)))


def written(xp, x, y, unread):
    z = xp.tanh(x) * y + x.reshape(7, 5).T / y
    z[1:3] = x[0]
    z[:, 0] *= x[:, 1]
    return xp.where(z > 0.5, z * z, xp.sqrt(x)).sum() + (z[:, ::2] ** 3)[1:3].sum()


def attended(xp, x, w):
    scores = x @ w @ w.T
    each = xp.exp(scores - scores.max(axis=-1, keepdims=True))
    return ((each / each.sum(axis=-1, keepdims=True)) * x).sum()


def normed(xp, x, w):
    apart = x - x.mean(-1, keepdims=True)
    return (apart / xp.sqrt((apart**2).mean(-1, keepdims=True) + 1e-5) * w).sum()


PROGRAMS = {
    "layer": (lambda xp, x, w, b: (xp.maximum(x @ w + b, 0.5) ** 2).mean(), X, W, B),
    "softmax": (attended, X, W),
    "norm": (normed, X.astype("f8"), V.astype("f8")),
    "written": (written, X, V, B),
    "calls": (lambda xp, x, y: xp.cumsum(xp.concatenate([x, y]) ** 2).sum(), V, V * 2),
}


def same(made, wanted):
    assert made.dtype == wanted.dtype
    np.testing.assert_allclose(host(made), wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name):
    f, *args = PROGRAMS[name]
    numbers = tuple(range(len(args)))
    value, gradients = value_and_grad(lambda *args: f(np, *args), numbers)(*args)
    of_arrays = value_and_grad(lambda *args: f(cp, *args), numbers)
    function = of_arrays if name == "layer" else once(lambda *args: of_arrays(*args))
    function(*map(device, args))
    CALLS.clear()
    made, found = function(*map(device, args))
    assert set(CALLS) <= {"@", "cumsum", "concatenate"}  # the rest is kernels
    np.testing.assert_allclose(host(made), value, rtol=2e-6)
    for each, wanted in zip(found, gradients, strict=True):
        same(each, wanted)


def norm_of_half(xp, x, w):
    """As in a layer: float32 within, the result as x."""
    y = x.astype("f4")
    apart = y - y.mean(axis=-1, keepdims=True)
    out = (apart / xp.sqrt((apart * apart).mean(axis=-1, keepdims=True) + 1e-5)).astype(x.dtype)
    return ((out @ w).astype("f4") ** 2).sum() + x[:, 1:3].reshape(-1).astype("f4").sum()


@pytest.mark.parametrize("dtype", ["f2", BF16])
def test_floats_of_16_bits(dtype):
    x, w = X.astype(dtype), W.astype(dtype)
    _, wanted = value_and_grad(lambda x, w: norm_of_half(np, x, w), (0, 1))(
        x.astype("f8"), w.astype("f8")
    )
    _, found = value_and_grad(lambda x, w: norm_of_half(cp, x, w), (0, 1))(device(x), device(w))
    for each, plain in zip(found, wanted, strict=True):
        assert each.dtype == dtype
        distance = abs(host(each).astype("f8") - plain).max() / abs(plain).max()
        assert distance < (2**-8 if dtype == "f2" else 2**-5)


def test_a_step():
    def loss(p, x):
        return (cp.tanh(x @ p["w"] + p["b"]) ** 2).mean()

    def step(p, x):
        value, gradient = value_and_grad(loss)(p, x)
        for key in p:
            p[key] -= 0.5 * gradient[key]
        return value

    p, compiled = {"w": device(W.copy()), "b": device(B.copy())}, once(step)
    losses = [float(host(compiled(p, device(X)))) for _ in range(4)]
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]


@pytest.mark.parametrize("f", [lambda x: eval("x * 2").sum(), lambda x: cp.linalg.svd(x)[1].sum()])
def test_what_is_not_one_graph_raises(f):
    with pytest.raises(pycompile.DerivativeError, match="derivatives_on_executor.py"):
        pycompile.grad(f)(device(X))


def test_lengths_and_functions_that_change():
    """One graph each: neither what varies nor how many there are ends the graph."""
    of_many = pycompile.grad(lambda x: (cp.tanh(x) * x).sum())
    for n in range(2, 15):
        x = np.arange(float(n))
        wanted = pycompile.grad(lambda x: (np.tanh(x) * x).sum())(x)
        np.testing.assert_allclose(host(of_many(device(x))), wanted)
    for n in range(12):
        f = eval(f"lambda x: (x * {n}).sum()")
        assert (host(pycompile.grad(f)(device(np.ones(3 + n % 2)))) == n).all()
