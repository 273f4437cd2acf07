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
