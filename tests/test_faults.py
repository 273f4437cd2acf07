"""The n-th allocation, the compiler or dlopen fails, for every n of a compile: plain results, no leak."""

import gc
import sys
import warnings

import numpy as np
import pytest

import pycompile
from pycompile import _C

X = np.linspace(0.0, 1.0, 24).reshape(4, 6)


def straight(x, scale):
    y = np.tanh(x * scale) + 1
    return y, y.sum(axis=1), [y[1:], {"scale": scale}]


def writes(x, scale):
    x *= scale
    x[1:3] = x.sum(axis=0) / 2
    return x.max()


def with_break(x, scale):
    y = x * scale
    sys.getrefcount(y)
    return y + 1


def with_loop(x, scale):
    y = x[0].copy()
    for i in range(1, len(y)):
        y[i] = scale * y[i - 1] + x[1, i]
    return y


def with_branch(x, scale):
    def inner(y, by=scale):
        return np.maximum(y, by) - y.mean(axis=0)

    y = inner(x[::-1]) if x.sum() > 0 else x
    if y.max() > scale:
        y[0] = 0
    return [inner(part) for part in (y, y[1:])], y.T


def flat(value):
    """Everything in a result as bytes and plain objects."""
    if isinstance(value, (list, tuple)):
        return [flat(item) for item in value]
    if isinstance(value, dict):
        return {key: flat(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype, value.shape, value.tobytes()
    return value


def attempt(function, n):
    """One first call in which everything after the n-th chance fails.  Was the n-th reached?"""
    pycompile.reset()
    _C.cache_clear()
    compiled = pycompile.compile(function)
    x, y = X.copy(), X.copy()
    wanted = function(x, 1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycompile.PycompileWarning)
        _C.test_fail_after(n)
        try:
            got = compiled(y, 1.5)
        finally:
            left = _C.test_fail_after(-1)
    assert flat(got) == flat(wanted) and flat(x) == flat(y), n
    y = X.copy()
    assert flat(compiled(y, 1.5)) == flat(wanted) and flat(x) == flat(y), n
    return left == 0


@pytest.mark.parametrize("function", [straight, writes, with_break, with_loop, with_branch])
def test_every_failure_of_a_compile(function):
    n = 0
    while attempt(function, n):
        n += 1 if n < 300 else 7
        assert n < 20_000
    assert n > 10


def test_failures_leave_nothing():
    for n in range(0, 60, 3):
        attempt(straight, n)
    gc.collect()
    before = sys.getallocatedblocks()
    for n in range(0, 60, 3):
        attempt(straight, n)
    gc.collect()
    assert sys.getallocatedblocks() - before < 500
