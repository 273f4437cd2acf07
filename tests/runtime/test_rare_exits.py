"""Loops that are left a thousand times for what only CPython does, and gone on with.

The loop inside is native; behind it CPython does a statement, and the next plan begins.  What an
exit costs is a row of benchmarks/overhead.py.
"""

import numpy as np
import pytest

import pycompile
from tests.differential import differences, observe

EXITS = 1000


def values(n, every):
    x = np.random.default_rng(3).random(n)
    x[every // 2 :: every] = 4.0
    return x


def into_a_dict(x, seen):
    i, s = 0, 0.0
    while i < len(x):
        while i < len(x) and x[i] <= 3.0:
            s += x[i] * 0.5
            i += 1
        if i < len(x):
            seen[str(i)] = s
            i += 1
    return s


def printed(x, seen):
    i = 0
    while True:
        while i < len(x) and x[i] <= 3.0:
            x[i] *= 2.0
            i += 1
        if i == len(x):
            break
        print("large:", i, repr(float(x[i])), hash(str(i)) % 1)
        i += 1
    return i


class Counter:
    def __init__(self):
        self.calls = []

    def __call__(self, i, s):
        exec("self.calls.append((i, s))", {}, {"self": self, "i": i, "s": s})


def calls(x, seen):
    tell, s = seen.setdefault("tell", Counter()), 0.0
    i = -1
    while i < len(x) - 1:
        i += 1
        while i < len(x) and x[i] <= 3.0:
            s = s * 0.99 + x[i]
            i += 1
        if i < len(x):
            tell(i, s)
    seen["calls"] = tell.calls
    del seen["tell"]
    return s


@pytest.mark.parametrize("function", [into_a_dict, printed, calls])
def test_a_thousand_exits(function):
    compiled = pycompile.compile(function)
    for turn in range(3):
        x = values(100 * EXITS, 100)
        before = compiled.stats()
        plain, ours = observe(function, (x.copy(), {}), {}), observe(compiled, (x.copy(), {}), {})
        assert not differences(plain, ours)
        after = compiled.stats()
        if turn > 0:
            assert after["plan_runs"] - before["plan_runs"] >= EXITS
            assert after["compiles"] - before["compiles"] <= 8, "not one for each exit"
            assert after["deopts"] == before["deopts"]
