"""Calls leave nothing behind: reference counts of what went in, allocated blocks, resident memory.

PYCOMPILE_LEAK_CALLS sets the number of calls in each round (make leaks: 350,000).
"""

import functools
import gc
import os
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import pycompile

CALLS = int(os.environ.get("PYCOMPILE_LEAK_CALLS", "3000"))
# A leak shows in every round; what else lives in the process (threads of the test runner that take
# orders, pages that the kernel joins to huge ones) shows in some.
ROUNDS = 3


def whole(x, y):
    return np.tanh(x + y) * 2


def several(x, y):
    z = x + y
    return z, [z[1:], z.sum()], {"x": x, "n": 3}


def writes(x, y):
    x += y * 0.0
    x[0] = y[0]


def breaks(x, y):
    z = x * 2
    len(str(y.shape))
    return z + y


def branches(x, y):
    if x.sum() > y.sum():
        return x - y
    return y - x


def raises(x, y):
    z = x + y
    return z[100]


def inlines(x, y):
    def helper(a, b=1.0, *rest, **names):
        return a * b

    return helper(x, 2.0) + helper(y)


def loops(x, y):
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def generates(x, y):
    def products():
        for factor in (1.0, 2.0):
            sent = yield x * factor
            if sent:
                return

    return sum(products()), [part + y for part in products()]


def catches(x, y):
    try:
        x = x + {"a": y}["b"]
    except KeyError as error:
        return x * 2, error.args[0]


class Carrier:
    def __init__(self, x):
        self.x = x

    def scaled(self, factor):
        return Carrier(self.x * factor)


class Pair(NamedTuple):
    x: Any
    y: Any


def instances(x, y):
    return Carrier(x).scaled(2.0), Pair(x + y, x), functools.partial(np.add, x * y, y)


def merges(x, y):
    if x.sum() < 0.0:
        x = np.exp(x) + y
    else:
        x = np.tanh(x) - y
    return x * 2


def shapes_at_run_time(x, y):
    return x[x > 0.5] * 2, np.unique(y) + 1


generator = np.random.default_rng(1)


def draws(x, y):
    return x + generator.random(16) * y


FUNCTIONS = [whole, several, writes, breaks, branches, raises, inlines, loops]
FUNCTIONS += [generates, catches, instances, merges, shapes_at_run_time, draws]


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def call(function, count, *args):
    for _ in range(count):
        try:
            function(*args)
        except IndexError:
            pass


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_calls_leave_nothing(function):
    compiled = pycompile.compile(function)
    x, y = np.linspace(0.0, 1.0, 16), np.ones(16)
    watched = [x, y, function, compiled, function.__code__, np.dtype(float), None.__class__]
    call(compiled, 200, x, y)
    blocks, memory = [], []
    for _ in range(ROUNDS):
        gc.collect()
        counts = [sys.getrefcount(thing) for thing in watched]
        blocks_before, memory_before = sys.getallocatedblocks(), resident()
        call(compiled, CALLS, x, y)
        gc.collect()
        assert [sys.getrefcount(thing) for thing in watched] == counts
        blocks.append(sys.getallocatedblocks() - blocks_before)
        memory.append(resident() - memory_before)
    assert min(blocks) < 100
    assert min(memory) < 4_000_000


@pytest.mark.slow
def test_compiling_again_and_again_leaves_nothing():
    x = np.ones(8)

    def once():
        def f(x):
            y = x * 2
            print(end="")
            return np.tanh(y)

        compiled = pycompile.compile(f)
        compiled(x)
        compiled(x)

    for _ in range(20):
        once()
    gc.collect()
    blocks, memory = sys.getallocatedblocks(), resident()
    for _ in range(100):
        once()
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 500
    assert resident() - memory < 16_000_000


@pytest.mark.slow
def test_reset_frees_plans():
    compiled = pycompile.compile(whole)
    x = np.ones(8)
    for _ in range(20):
        pycompile.reset()
        compiled(x, x)
    gc.collect()
    count, blocks = sys.getrefcount(x), sys.getallocatedblocks()
    for _ in range(100):
        pycompile.reset()
        compiled(x, x)
    gc.collect()
    assert sys.getrefcount(x) == count
    assert sys.getallocatedblocks() - blocks < 500


def test_functions_are_freed():
    import weakref

    def f(x):
        return x + 1

    compiled = pycompile.compile(f)
    compiled(np.ones(3))
    compiled(np.ones(4))
    function, wrapper = weakref.ref(f), weakref.ref(compiled)
    del f, compiled
    gc.collect()
    assert wrapper() is None and function() is None


@pytest.mark.slow
def test_results_and_arguments_are_freed():
    import weakref

    compiled = pycompile.compile(several)
    x = np.ones(16)
    argument = weakref.ref(x)
    result = compiled(x, x)
    result = compiled(x, x)
    view = weakref.ref(result[1][0])
    del result, x
    gc.collect()
    assert argument() is None and view() is None
