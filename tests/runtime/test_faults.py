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


def with_loops_that_are_unrolled(x, scale):
    found, y = [], x[0].copy()
    for i in range(1, len(y)):
        y[i] = scale * y[i - 1]
        found.append(i)
    for v in y:
        if v > scale:
            found.append(sys.getrefcount(found))
    return y * 2, len(found)


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


@pytest.fixture
def folders(tmp_path):
    """Kernel caches: one for the calls in which something fails, one for those in which nothing does.

    So a kernel is missing for the first kind of calls until one of them has got past its compile, and
    the compiler runs a few times for a kernel instead of twice for a chance.
    """
    return tmp_path / "failing", tmp_path / "calm"


def attempt(function, n, folders, monkeypatch):
    """A first call in which everything after the n-th chance fails.  Was the n-th reached?"""
    failing, calm = folders
    pycompile.reset()
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(failing))
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
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(calm))
    y = X.copy()
    assert flat(compiled(y, 1.5)) == flat(wanted) and flat(x) == flat(y), n
    return left == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "function", [straight, writes, with_break, with_loop, with_loops_that_are_unrolled, with_branch]
)
def test_every_failure_of_a_compile(function, folders, monkeypatch):
    n, kernels, reached = 0, set(), True
    while reached:
        reached = attempt(function, n, folders, monkeypatch)
        made = set(folders[0].glob("*.so"))
        if made > kernels:  # the same chance again: with the kernel there, they are numbered anew
            kernels, reached = made, True
            continue
        n += 1 if n < 300 else 7
        assert n < 20_000
    assert n > 10 and kernels


class Box:
    def __init__(self, v):
        self.v = np.full(3, v)


M = N = Box(0.0)


def boxes(x):
    return x + M.v + N.v * 10


def test_every_failure_while_guards_are_watched_anew():
    n, left = 0, 0
    while left == 0:
        globals().update(M=Box(1.0), N=Box(2.0))
        pycompile.reset()
        compiled = pycompile.compile(boxes, backend="eager")
        x = np.zeros(3)
        compiled(x), compiled(x)
        globals().update(M=Box(4.0))
        _C.test_fail_after(n)
        try:
            got = compiled(x)
        except MemoryError:
            got = None
        finally:
            left = _C.test_fail_after(-1)
        assert got is None or flat(got) == flat(boxes(x)), n
        for name in ("M", "N"):
            globals()[name] = Box(5.0 + n)
            assert flat(compiled(x)) == flat(boxes(x)), (n, name)
        n += 1
    assert n > 5


@pytest.mark.slow
def test_failures_leave_nothing(folders, monkeypatch):
    for n in range(0, 60, 3):
        attempt(straight, n, folders, monkeypatch)
    gc.collect()
    before = sys.getallocatedblocks()
    for n in range(0, 60, 3):
        attempt(straight, n, folders, monkeypatch)
    gc.collect()
    assert sys.getallocatedblocks() - before < 500
