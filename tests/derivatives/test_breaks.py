"""Functions with graph breaks: plan by plan, and never a silent zero."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from differences import check

import pycompile
from pycompile import DerivativeError, grad

rng = np.random.default_rng(1)
X = rng.random((4, 5)) + 0.1
V = np.sort(rng.random(6)) + 0.2
PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


@program
def brk(x, v):
    y = np.sin(v)
    eval("1")
    z = y * y
    eval("2")
    return z.sum() * y


@program
def brkloop(x, v):
    y = v
    out = []
    for i in range(5):
        y = np.sin(y) * v
        out.append(y)
        if float(y.sum()) > 1000:
            raise ValueError
    return np.stack(out)


@program
def brkwrite(x, v):
    y = v * 2
    eval("1")
    y[0] = v[1] ** 2
    eval("1")
    return y * v


@program
def brkview(x, v):
    y = np.exp(x)
    eval("1")
    r = y[1]
    eval("1")
    r *= v[0]
    eval("1")
    return y * r[0]


class Scaled:
    """Each operator ends a graph."""

    __array_ufunc__ = None

    def __init__(self, a):
        self.a = a

    def __add__(self, other):
        doubled = self.a * 2
        eval("1")
        return Scaled(doubled + (other.a if isinstance(other, Scaled) else other))

    def __iadd__(self, other):
        eval("1")
        self.a = self.a * other
        return self

    def __lt__(self, other):
        eval("1")
        return Scaled(self.a * other.a)

    def __neg__(self):
        eval("1")
        return Scaled(-self.a)

    def __getitem__(self, key):
        eval("1")
        return self.a[key] * 3

    def __setitem__(self, key, value):
        eval("1")
        self.a = self.a.copy()
        self.a[key] = value

    def __enter__(self):
        eval("1")
        return Scaled(self.a**2)

    def __exit__(self, *error):
        pass

    def __contains__(self, value):
        eval("1")
        self.found = self.a * value
        return True

    __radd__ = __add__


@program
def operators(x, v):
    a, b = Scaled(v), Scaled(np.sin(v))
    c = 2.0 + a + b + v
    c += v
    c = -c
    c[0] = v[1] ** 2
    d = a < c
    assert 2.0 in d
    with d as e:
        e.a = e.a * v
    return d.found * c[::-1] + d.a + e.a


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_break(f):
    check(f, X.copy(), V.copy(), h=0.01)


GLOBAL = np.array([1.0, 2.0, 3.0])


def test_constants_behind_a_break():
    local = np.array([3.0, 4.0, 5.0])

    def f(x):
        y, view = x * 2, GLOBAL[::-1]
        eval("1")
        return (y * GLOBAL * local * view * 0.5).sum()

    assert np.array_equal(pycompile.grad(f)(np.ones(3)), GLOBAL * local * GLOBAL[::-1])


def test_adaptive_steps():
    """Steps that are taken again with half the length: captured turn by turn for each time and length, which
    are constants, also where an error that depends on y is the same number."""

    def solve(rate, y):
        def slope(y):
            out = np.empty_like(y)
            out[0] = rate["up"] * y[1]
            out[1] = -y[0]
            return out

        t, h = 0.0, 0.5
        while t < 0.3:
            step = h * slope(y)
            error = np.abs(step).max()
            if error > 0.2:
                h = h * 0.5
                continue
            y = y + step
            t += h
        return y

    check(solve, {"up": np.float64(1.0)}, np.array([0.5, 1.0]), h=1e-4)


def made_elsewhere(x):
    return eval("x * 2").sum()


def came_back(x):
    y = np.sin(x)
    z = eval("y * 2")
    return (z * x).sum()


def result_elsewhere(x):
    y = np.sin(x)
    return eval("y.sum()")


def written_elsewhere(x):
    y = np.sin(x)
    eval("y.sort()")
    eval("y.__imul__(2)")
    return (y * y).sum()


@pytest.mark.parametrize("f", (made_elsewhere, came_back, result_elsewhere, written_elsewhere))
def test_what_no_graph_follows_raises(f):
    with pytest.raises(pycompile.DerivativeError, match="no graph follows"):
        pycompile.grad(f)(np.array([3.0, 1.0, 2.0]))


def test_side_effects_happen_once(capsys):
    seen = []

    def f(x):
        y = x * 2
        print("here", y.sum())
        seen.append(y.sum())
        return y.sum()

    assert np.array_equal(pycompile.grad(f)(np.ones(3)), [2, 2, 2])
    assert capsys.readouterr().out == "here 6.0\n"
    assert seen == [6.0]


def test_warnings_of_the_forward_pass():
    def f(x):
        return np.log(x)[1:].sum()

    x = np.array([0.0, 1.0, 2.0])
    with warnings.catch_warnings(record=True) as plain:
        warnings.simplefilter("always")
        expected = f(x)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        value, _ = pycompile.value_and_grad(f)(x)
    assert value == expected
    assert [(str(w.message), w.lineno) for w in found] == [
        (str(w.message), w.lineno) for w in plain
    ]


def test_exceptions_of_the_forward_pass():
    def f(x):
        if (x * 2).sum() > 3:
            raise KeyError("no")
        return x.sum()

    with pytest.raises(KeyError):
        pycompile.grad(f)(np.ones(3))


def test_values_of_two_branches():
    def f(x):
        if x.sum() > 2:
            return (x * x).sum()
        return np.sin(x).sum()

    g = pycompile.grad(f)
    for x in (np.ones(3), np.zeros(3), np.ones(3)):
        expected = 2 * x if x.sum() > 2 else np.cos(x)
        assert np.allclose(g(x), expected, rtol=1e-14)


def test_what_is_kept_and_written_elsewhere_raises():
    def f(x):
        y = np.tanh(x)
        z = y * y
        eval("y.__setitem__(0, 7.0)")
        return z.sum()

    with pytest.raises(pycompile.DerivativeError, match="no graph follows"):
        pycompile.grad(f)(np.ones(3))


def test_a_store_that_no_output_tells_of_raises():
    def f(x):
        y = np.sin(x).sum()
        x[[2, 0]] = 5.0
        return y

    with pytest.raises(pycompile.DerivativeError, match="copy"):
        pycompile.grad(f)(np.ones(3))


def test_a_write_in_python_is_seen_in_views():
    """The store ends a graph, since another array shows the memory; a loop's graph follows."""

    def f(m, r):
        a = r * m
        eval("1")
        view = a[:, ::-1]
        eval("1")
        a[1:, 2] = r[1]
        s = 0.1
        for i in range(1, 4):
            for k in range(i):
                s += r[k] * r[i - k]
        return view

    with pytest.raises(pycompile.DerivativeError, match="written where no graph follows"):
        pycompile.vjp(f, np.ones((3, 4)), np.arange(1.0, 5.0))


PLACE = np.array(1)


def stored_part(x, y):
    i = int(PLACE)
    u = x * 1
    u[i : i + 2] = y
    return u


def stored_in_an_argument(x, y):
    i = int(PLACE)
    x[i : i + 2] = y
    return x * 2


def stored_under_a_view(x, y):
    u = x * 1
    part = u[1:]
    i = int(PLACE)
    u[i : i + 2] = y
    return part * 2


@pytest.mark.parametrize("f", (stored_part, stored_in_an_argument, stored_under_a_view))
def test_a_store_of_the_numbers_that_are_there_is_seen(f):
    with pytest.raises(pycompile.DerivativeError, match="was written where no graph follows it"):
        pycompile.vjp(f, np.ones(5), np.ones(2))


def test_lists_of_many_lengths():
    def f(x, width):
        return np.pad(x, width).sum()

    for _ in range(2):
        for width in ([1, 2], [2], [[2, 3]], [[2, 3], [4, 5]], [0]):
            assert np.array_equal(pycompile.grad(f)(np.ones((2, 2)), width), np.ones((2, 2)))


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_what_is_kept_is_written_behind_a_break(dtype):
    y = np.arange(1, 4).astype(dtype)

    def f(x, y):
        z = x * y
        eval("y.fill(7)")
        return z.sum()

    assert np.array_equal(pycompile.grad(f)(np.ones(3), y), [1.0, 2.0, 3.0])


def test_fractions_of_what_is_differentiated():
    """Their ints are no numbers that the graph follows: no zero is given for them."""
    for function in (
        lambda x: float(Fraction(x) * 2),
        lambda x: float(Fraction(x) * 2) * x,
        lambda x: float(Fraction(x * 1.5) * 2) * x,
    ):
        with pytest.raises(DerivativeError, match="as_integer_ratio, whose integers"):
            grad(function)(1.5)
