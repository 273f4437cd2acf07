"""Numbers, Python's and NumPy's, on which a derivative depends."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pycompile
from pycompile import grad, hessian, jvp, value_and_grad

X = np.array([0.3, 0.45, 0.7])


def kepler(m):
    e = 0.3
    x = m
    while True:
        d = (x - e * math.sin(x) - m) / (1 - e * math.cos(x))
        x -= d
        if abs(d) < 1e-14:
            break
    return math.cos(x) - e


def fixed(a):
    x = a
    for _ in range(300):
        n = math.cos(x) * a
        if abs(n - x) < 1e-13:
            return n
        x = n
    return x


def elementary(a):
    return math.exp(2 * math.log(a)) + math.sqrt(a) + math.sin(a)


def behind(x):
    s = x.sum()
    pycompile.graph_break()
    return math.sin(s) * x[0]


def hinge(x):
    return max(0.0, x[0] - 0.1) ** 2 + min(x.sum(), 1.0) * x[1] + max(x[2], 3)


def steps(x):
    t = 0.0
    y = x[0]
    while t < 1.0:
        h = min(x[1], 1.0 - t)
        y = y + h * (x[2] - y)
        t = t + h
    return y


def ordered(x):
    up = sorted([x[0], x[2], x[1] * 2])
    down = sorted([x[0], x[2], x[1] * 2], reverse=True)
    return up[1] * down[0] + up[0] ** 3


def joined(x):
    ends = np.diff(x**2, prepend=x[-1:], append=x[:1])
    return (ends * np.arange(4.0)).sum() + (np.diff(x, 2, prepend=x[1]) ** 2).sum()


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (kepler, 0.6),
        (kepler, np.float64(0.6)),
        (fixed, 0.4),
        (elementary, np.float64(0.6)),
        *((f, X) for f in (behind, hinge, steps, ordered, joined)),
    ],
)
def test_numbers(f, x):
    value, gradient = value_and_grad(f)(x)
    plain = f(x)
    assert value == plain
    assert type(value) is type(plain)
    step = 1e-5
    for i in range(np.size(x)):
        h = np.zeros(np.shape(x))
        h.reshape(-1)[i] = step
        h = h if isinstance(x, np.ndarray) else type(x)(h)
        rate = [f(x + k * h) - f(x - k * h) for k in (1, 2)]
        expected = (8 * rate[0] - rate[1]) / (12 * step)
        np.testing.assert_allclose(np.ravel(gradient)[i], expected, rtol=1e-9, atol=1e-10)


def test_round():
    assert grad(lambda a: round(a, 1) * 3 + a)(1.3) == 1.0


def test_rule_that_calls_the_function():
    """JAX's own way to write it."""

    @pycompile.custom_jvp
    def exponential(x):
        return np.exp(x)

    @exponential.defjvp
    def rule(primals, tangents):
        out = exponential(primals[0])
        return out, out * tangents[0]

    np.testing.assert_allclose(grad(lambda x: exponential(x).sum())(X), np.exp(X))
    np.testing.assert_allclose(jvp(exponential, (X,), (X,))[1], np.exp(X) * X)
    np.testing.assert_allclose(hessian(lambda x: exponential(x).sum())(X), np.diag(np.exp(X)))
