"""Plans for arrays of other sizes, which cannot be those of before, run the code of before."""

import numpy as np
import pytest

import pycompile
from pycompile import _C
from tests.differential import differences, observe


def recurrence(x):
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def neighbours(x):
    y = np.empty(len(x) - 1)
    for i in range(len(x) - 1):
        y[i] = 0.5 * x[i] + x[i + 1]
    return y


def grid(a):
    h, w = a.shape
    out = np.zeros((h, w))
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            out[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return out


def standardised(x):
    return (x - x.mean()) / x.std(ddof=1)


def columns(a):
    return (a - a.mean(axis=0)) / a.std(axis=0)


def rows(a):
    return a - a.mean(axis=1, keepdims=True)


def vector(n):
    return np.random.default_rng(n).random(n)


def matrix(n):
    return np.random.default_rng(n).random((n, n + 3))


def strip(n):
    return np.random.default_rng(n).random((n, n // 10))


@pytest.mark.parametrize(
    "function, make",
    [
        (recurrence, vector),
        (neighbours, vector),
        (standardised, vector),
        (grid, strip),  # plain Python takes ten times as long for a matrix
        (columns, matrix),
        (rows, matrix),
        (lambda x: (x - x.mean()).astype("f4") - x.astype("f4").mean(), vector),
    ],
)
def test_one_compile(function, make, monkeypatch, tmp_path):
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(tmp_path))
    compiled = pycompile.compile(function, options={"recompile_limit": 50})
    for n in (1000, 1010):
        assert not differences(observe(function, (make(n),), {}), observe(compiled, (make(n),), {}))
    before = _C.toolchain_info()["compiled"]
    for n in (1020, 1023, 1200, 1024):
        assert not differences(observe(function, (make(n),), {}), observe(compiled, (make(n),), {}))
    assert _C.toolchain_info()["compiled"] == before
    assert compiled.stats()["plan_runs"] == 6


def shares(x):
    return (x[1:] * x[:-1] + x.mean()) / (len(x) - 1.0)


@pytest.mark.parametrize("function", [shares, standardised, recurrence, neighbours])
def test_small_sizes_once_they_have_changed(function, monkeypatch, tmp_path):
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(tmp_path))
    compiled = pycompile.compile(function, options={"recompile_limit": 50})
    for n in (9, 10):
        assert not differences(
            observe(function, (vector(n),), {}), observe(compiled, (vector(n),), {})
        )
    before = _C.toolchain_info()["compiled"]
    for n in (11, 12, 13, 29, 31):
        assert not differences(
            observe(function, (vector(n),), {}), observe(compiled, (vector(n),), {})
        )
    assert _C.toolchain_info()["compiled"] == before
    assert compiled.stats()["plan_runs"] == 7


def test_small_sizes_stay_in_the_code():
    """Loops over a few elements are unrolled, and compilers know shorter ways for small numbers."""
    graph = """%0: f64[3] = input(0)
%1: f64 = const(3)
%2: f64[3] = divide(%0, %1)
outputs %2
"""
    assert "const 0x4008000000000000\n" in _C.lower_graph(graph)[0]
    larger = graph.replace("[3]", "[300]").replace("(3)", "(300)")
    assert "const 0x4072c00000000000, an argument" in _C.lower_graph(larger)[0]


def test_a_graph_tells_that_its_sizes_change():
    """So that one that is pasted into a test is lowered as it was."""
    graph = """%0: f64[3] = input(0)
%1: f64 = const(3)
%2: f64[3] = divide(%0, %1)
sizes change
outputs %2
"""
    assert "sizes change\noutputs" in str(pycompile.Graph.parse(graph))
    assert "const 0x4008000000000000, an argument" in _C.lower_graph(graph)[0]
