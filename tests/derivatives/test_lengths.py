"""Gradients outside of compiled functions where lengths, and numbers in closures, differ from call to call:
one text serves them all."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from differences import check

import pycompile
from pycompile import grad, value_and_grad
from pycompile.derivatives import _lengths, _repeated, _text

SIZES = (5, 8, 13, 7, 2, 21, 34, 6, 9, 10)


def recurrence(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = np.tanh(y[i - 1]) + x[i]
    return y


def written(x):
    y = np.zeros((len(x), 3))
    y[1:, 1] = x[:-1] * 2
    y[::-1, 0] += x
    return np.concatenate([y.ravel(), x, y[:, 2] * 3]) ** 2 / len(x)


def diffused(x):
    for _ in range(3):
        x = x + 0.1 * (np.roll(x, 1) - 2 * x + np.roll(x, -1))
    return x**2


OF_ANY_LENGTH = {
    "recurrence": recurrence,
    "written": written,
    "diffused": diffused,
    "chosen": lambda x: x[x > 0.25] ** 2,
    "reshaped": lambda x: x.reshape(1, -1) * x[:, None],
}


@pytest.mark.parametrize("name", OF_ANY_LENGTH)
def test_ten_lengths_have_two_texts(name, monkeypatch):
    # a gradient that takes long again and again has other texts, those of one graph
    monkeypatch.setattr(_repeated.Repeated, "is_ready", lambda self: False)
    f = OF_ANY_LENGTH[name]
    g = grad(lambda x: f(x).sum())
    for n in SIZES:
        g(np.linspace(0.2, 0.9, n))
        if n == SIZES[1]:
            made = _text._count
    assert _text._count == made
    for n in SIZES[:3]:
        check(f, np.linspace(0.2, 0.9, n), h=0.002, tolerance=1e-7)


SHORTER = [  # than a trial of a call has seen; 0 is what NumPy allows
    (lambda x: np.divmod(x[:2], 0.7)[1].sum(), (7, 9, 1)),
    (lambda x: np.modf(x[:2] + 0.3)[0].sum(), (7, 9, 1)),
    (lambda x: np.linalg.qr(np.vander(x, 3))[1].sum(), (7, 9, 3)),
    (lambda x: np.kron(x, x[:2]).sum(), (5, 8, 1)),
    (lambda x: np.correlate(x, np.ones(3), "valid").sum(), (7, 9, 2)),
    (lambda x: np.sort(x[:3]).sum(), (7, 9, 2)),
    (lambda x: (x * x).sum(), (3, 5, 0)),
]


@pytest.mark.parametrize("number", range(len(SHORTER)))
def test_shorter_ones_than_were_tried(number):
    f, sizes = SHORTER[number]
    gradient = value_and_grad(f)
    for n in sizes:
        x = np.linspace(0.9, 1.0, n)
        value, made = gradient(x)
        assert value == f(x) and made.shape == x.shape
        for i in range(n):
            step = np.where(np.arange(n) == i, 1e-6, 0.0)
            assert abs((f(x + step) - f(x - step)) / 2e-6 - made[i]) < 1e-6


def loss(w, t):
    return ((w * t - 1.0) ** 2).sum() * t


CLOSURES = {
    "number": (lambda t: grad(lambda w: loss(w, t))(np.ones(3))),
    "array": (lambda t: grad(lambda w: loss(w, np.full(3, t)).sum())(np.ones(3))),
    "float": (lambda t: grad(lambda s: (s * t) ** 2)(1.5)),
    "batch": (
        lambda t, x=None: (lambda batch: grad(lambda s: (s * batch).sum())(1.5))(np.full(4, t))
    ),
    "default": (lambda t: grad(lambda w, t=t: loss(w, t))(np.ones(3))),
}


@pytest.mark.parametrize("name", CLOSURES)
def test_a_function_made_anew_at_each_step_has_one_text(name):
    step = CLOSURES[name]
    for i in range(2):
        step(0.1 + i)
    made = _text._count
    for i in range(30):
        step(0.3 + i)
    assert _text._count == made


@pytest.mark.parametrize("taken", [pycompile.vjp, grad])
def test_what_a_function_made_anew_holds_is_let_go(taken):
    def step():
        data = np.ones(5)
        f = lambda w: (w * data).sum()  # noqa: E731
        taken(f, np.ones(5)) if taken is pycompile.vjp else taken(f)(np.ones(5))
        return weakref.ref(data)

    held = [step() for _ in range(5)]
    gc.collect()
    assert sum(each() is not None for each in held) <= 1


def test_a_list_that_began_with_constants():
    def f(x):
        items = [1.0]
        for i in range(len(x)):
            items.append(items[-1] * x[i])
        return sum(items)

    check(f, np.linspace(0.5, 1.2, 7))


def test_a_sum_of_many_items():
    def f(x):
        items = [0.0]
        for i in range(300):
            items.append(items[i] * 0.9 + float(x[i % 7]))
        total = 0.0
        for item in items:
            total += item * item
        return total

    check(f, np.linspace(0.5, 1.2, 7))


def ratio(x):
    above, below = float(x[0]).as_integer_ratio()
    return x.sum() * above / below


def ratio_of_numpy(x):
    above, below = x[0].as_integer_ratio()
    return x.sum() * above / below


@pytest.mark.parametrize("f", [ratio, ratio_of_numpy])
def test_a_number_as_two_integers_raises(f):
    place = f"{__file__}:{f.__code__.co_firstlineno + 1}"
    with pytest.raises(pycompile.DerivativeError, match="as_integer_ratio") as told:
        grad(f)(np.array([1.5, 2.0]))
    assert place in str(told.value)


def test_lengths_are_sums_of_products():
    n, m = _lengths.symbols({"d0_0": 7, "d1_0": 9}).values()
    assert n + m - n == m and n - n == 0 and hash(n * m) == hash(m * n)
    assert (n * m - m) // (n - 1) == m and (8 * n + 8) // 8 == n + 1
    assert str(2 * n - 3) == "(2 * size_d0_0 + -3)" and (n * 4) % 4 == 0
    assert _lengths.end(eval("min(3, n)", _lengths.NAMES, {"n": n}), n) == 3
    made = eval("(n // 2 + max(n, m)) % 5", _lengths.NAMES, {"n": n, "m": m})
    values = {"size_d0_0": 7, "size_d1_0": 9}
    assert eval(str(made), {}, values) == (7 // 2 + 9) % 5
