"""In-place writes, views of what is written, out=, np.add.at."""

from __future__ import annotations

import numpy as np
import pytest
from differences import check

import pycompile
from pycompile.derivatives import _trees

rng = np.random.default_rng(1)
X = rng.random((4, 5)) + 0.1
V = np.sort(rng.random(6)) + 0.2
idx = np.array([0, 2, 1, 2])
PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


@program
def addat(x, v):
    y = v * 2
    np.add.at(y, idx, v[:4])
    return y


@program
def setfancy(x, v):
    y = v.copy()
    y[idx] = v[:4] * 3
    return y


@program
def list_under_a_mask(x, v):
    y = np.zeros(4)
    y[np.array([True, False, True, False])] = [v[0], x[0, 0]]
    return y * v[1]


@program
def chosen_places_of_a_ufunc(x, v):
    is_large = v > np.mean(v)
    y = v * 2
    np.exp(y, out=y, where=is_large)
    np.divide(v[0], np.where(is_large, 1.0, 0.0), out=y, where=is_large)
    return y * np.multiply(x[0, 0], v, out=np.zeros_like(v), where=~is_large)


@program
def of_no_axis(x, v):
    y = np.array(v[0])
    y[None] *= 3
    y[None, None][:, :0] = v[:0]
    y[y > 0] *= x[0, 1]
    return y * x


@program
def setmask(x, v):
    y = x * 1
    y[x > 0.5] = v[0]
    return y


@program
def masks_of_floats(x, v):
    y, z, t = v * 0.5, np.zeros(6), v * 1
    np.putmask(y, [1.0, 0.0, 2.0, 0.0, 0.0, 1.0], v * 3)
    np.putmask(z, v - v[2], v)  # a mask that is differentiated decides, and no more
    np.place(t, np.array([0.0, 1.0, 0.0, 1.0, 0.0, 0.0]), v[:2] ** 2)
    return y, z, t


@program
def setcols(x, v):
    y = x.copy()
    y[:, [0, 2]] *= v[1]
    return y


@program
def outarg(x, v):
    y = np.empty(6)
    np.multiply(v, 2, out=y)
    np.sin(y, out=y)
    return y.sum()


@program
def write_input(x, v):
    x[1] = v[:5] * 2
    x[0] *= 3
    return x.sum() + x[0, 0] * x[1, 1], x


@program
def viewwrite(x, v):
    r = x[2]
    r *= v[0]
    x[:, 1] = x[:, 0] * x[2, 2]
    return x * r


@program
def overlap(x, v):
    v[1:] = v[:-1] * v[1:]
    v[::2] += v[1::2]
    return v


@program
def lists(x, v):
    ws = [x[i] * v[i] for i in range(4)]
    return sum(w.sum() for w in ws), {"a": ws[0], "b": (ws[1],)}


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_write(f):
    check(f, X.copy(), V.copy(), h=0.01)


def test_layouts_of_what_is_written():
    def f(x):
        x[1:, ::2] *= x[:-1, ::2]
        x[0] = x[1] + x[:, 0].sum()
        return x * x

    for x in (
        X.copy(),
        np.asfortranarray(X),
        np.repeat(X, 2, axis=1)[:, ::2],
        X[::-1],
        X.T.copy().T,
    ):
        check(f, x, h=0.01)


def test_a_cotangent_that_is_given_stays_the_callers():
    for function in (lambda x: x, lambda x: (x, x), lambda x: x.copy(), lambda x: [x]):
        out, pullback = pycompile.vjp(function, np.arange(3.0))
        given = _trees.rebuild(out, lambda: np.ones(3))
        (gradient,) = pullback(given)
        assert not any(np.shares_memory(gradient, each) for _, each in _trees.leaves(given))
