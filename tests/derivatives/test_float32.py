"""Gradients of float32 are float32, and close to those of float64: a case for each rule."""

from __future__ import annotations

import numpy as np
import pytest
from differences import weights_of

import pycompile
from pycompile.derivatives import _trees
from tests.derivatives import test_library, test_rules

FULL = (test_rules.X, test_rules.V)
SMALL = (np.random.default_rng(0).random((4, 3)) + 0.1, np.arange(1.0, 4.0) / 3, 0.7)
CASES = {
    text: (test_rules.function_of(text, "x, v"), FULL)
    if text in test_rules.LATER
    else (test_rules.function_of(text, "x, v, f"), SMALL)
    for text in test_rules.EXPRESSIONS
}
CASES |= {f.__name__: (f, FULL) for f in test_library.PROGRAMS}
QUICK = list(CASES)[::12]


def gradient(f, args, dtype):
    args = [x.astype(dtype) if isinstance(x, np.ndarray) else x for x in args]
    out, pullback = pycompile.vjp(f, *args)
    return [np.asarray(g) for _, g in _trees.leaves(pullback(weights_of(out)))]


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CASES],
)
def test_close_to_float64(name):
    f, args = CASES[name]
    rounded = [np.float32(x).astype(float) if isinstance(x, np.ndarray) else x for x in args]
    pairs = zip(gradient(f, rounded, np.float32), gradient(f, rounded, float), args, strict=True)
    for small, large, x in pairs:
        assert small.dtype == (np.float32 if isinstance(x, np.ndarray) else np.float64)
        assert np.max(np.abs(small - large)) <= 1e-4 * max(np.max(np.abs(large)), 1e-30)


def by_position(x, kept):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.6:
            s += x[i] * x[i]
    return s


def by_item(x, kept):
    s = 0.0
    for i, is_kept in enumerate(kept):
        if is_kept:
            s += x[i] * x[i]
    return s


@pytest.mark.parametrize("f", [by_position, by_item])
def test_sum_under_a_branch(f):
    """A number of Python's becomes one of NumPy's in the first turn that adds.  The graph behind that
    is of the turns that are left, and asks that nobody but the frame has the iterators."""
    x = np.array([0.5, 1, 2], np.float32)
    value, gradient = pycompile.value_and_grad(f)(x, x > 0.6)
    assert type(value) is np.float32 and value == f(x, x > 0.6)
    assert np.array_equal(gradient, np.array([0, 2, 4], np.float32))
