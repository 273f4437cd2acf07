"""Arenas that plans keep between runs: bounded in all, given back when their plans rest."""

import time

import numpy as np
import pytest

import pycompile
from pycompile import _C

ROWS = 1 << 20  # three temporaries of 8 MiB: above what a plan keeps for good


def function(number):
    """With an arena: cumulative sums are library calls, which take and give memory."""
    source = f"def f(x):\n    a = x * {number}.5\n    b = np.cumsum(a[::-1]) + a\n"
    source += "    y = np.zeros(len(x))\n    y[1:] = b[:-1]\n    y[:-1] += y[1:] * 2\n    return (y * b).sum()"
    namespace = {"np": np}
    exec(source, namespace)
    return namespace["f"], pycompile.compile(namespace["f"])


@pytest.fixture
def limits():
    """Sets them, and returns the bytes held."""
    _C.spare_limits(0, 60)
    yield _C.spare_limits
    _C.spare_limits(0, 60)


@pytest.mark.slow
def test_kept_and_bounded(limits):
    x = np.random.default_rng(1).random(ROWS)
    before = limits(1 << 40, 60)
    pairs = [function(number) for number in range(3)]
    held = []
    for plain, compiled in pairs:
        assert compiled(x) == plain(x)
        held.append(limits(1 << 40, 60) - before)
    one = held[0]
    assert one > 16 << 20
    assert held == [one, 2 * one, 3 * one]
    for plain, compiled in pairs * 2:
        assert compiled(x) == plain(x)
    assert limits(before + 2 * one, 60) - before == 3 * one
    pairs[0][1](x)  # put back: the one used longest ago goes
    assert limits(1, 60) <= before + 2 * one
    pairs[1][1](x)
    assert limits(0, 60) == 0
    for plain, compiled in pairs:
        assert compiled(x) == plain(x)


@pytest.mark.slow
def test_rested(limits):
    x = np.random.default_rng(1).random(ROWS)
    limits(1 << 40, 1)
    (plain, first), (_, second) = function(7), function(8)
    first(x)
    second(x)
    both = limits(1 << 40, 1)
    time.sleep(3)
    second(x)
    assert limits(1 << 40, 60) <= both // 2
    assert first(x) == plain(x)


def test_freed_with_its_plan(limits):
    x = np.random.default_rng(1).random(ROWS)
    before = limits(1 << 40, 60)
    _, compiled = function(11)
    compiled(x)
    assert limits(1 << 40, 60) > before
    pycompile.reset()
    del compiled
    assert limits(1 << 40, 60) <= before


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("size", [140_000, 262_144, 262_145, 700_001])
def test_fresh_arenas_of_any_size(size, threads):
    """Their pages are mapped and cleared in parts, on several threads."""
    x = np.random.default_rng(size).random(size)
    plain, _ = function(size + threads)
    compiled = pycompile.compile(plain, options={"threads": threads})
    for _ in range(2):
        assert compiled(x).tobytes() == plain(x).tobytes()
