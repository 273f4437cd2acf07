"""Dicts from outside whose keys are others at each call: single entries are guarded."""

import numpy as np
import pytest

import pycompile

X = np.arange(6.0)


def reads(d, x):
    return np.exp(x) * d["scale"] + d.get("shift", 1.0), "shift" in d


def stores(d, x):
    y = np.exp(x) * d["scale"]
    d["last"] = y + 1
    return d["last"] * 2, d.setdefault("first", y)


def misses(d, x):
    y = np.exp(x) * 2
    return y, d["nothing"]


def grown(n):
    d = {"scale": 2.0}
    for i in range(n):
        d[f"key{i}"] = i
    return d


def run(function, d, x):
    try:
        return function(d, x)
    except KeyError as error:
        return repr(error)


@pytest.mark.parametrize("function", [reads, stores, misses])
def test_a_key_more_at_each_call(function):
    compiled = pycompile.compile(function)
    for n in range(30):
        mine, yours = grown(n), grown(n)
        plain, seen = run(function, mine, X), run(compiled, yours, X)
        np.testing.assert_equal(seen, plain)
        np.testing.assert_equal(yours, mine)
        assert list(yours) == list(mine)
    if function is not misses:
        before = compiled.stats()["plan_runs"]
        compiled(grown(77), X)
        assert compiled.stats()["plan_runs"] > before


def test_what_is_read_is_guarded():
    compiled = pycompile.compile(reads)
    for n in range(12):
        compiled(grown(n), X)
    d = grown(40)
    for change in ({"scale": 5.0}, {"shift": 3.0}, {"shift": X}, {"scale": 7}):
        d.update(change)
        for _ in range(3):
            np.testing.assert_equal(compiled(d, X), reads(d, X))
    del d["shift"]
    np.testing.assert_equal(compiled(d, X), reads(d, X))


def aliased(o, d, x):
    o.scale = d["scale"] + 1
    return np.exp(x) * d["scale"]


class Plain:
    pass


def test_a_dict_that_is_an_objects():
    compiled = pycompile.compile(aliased)
    for n in range(15):
        np.testing.assert_equal(compiled(Plain(), grown(n), X), aliased(Plain(), grown(n), X))
    for function in (aliased, compiled):
        o = Plain()
        vars(o).update(grown(3))
        result = function(o, vars(o), X)
        np.testing.assert_equal(result, np.exp(X) * 3.0)


DROPPED = []


class Ends:
    def __del__(self):
        DROPPED.append(1)


def replaces(d, x):
    d["kept"] = 3
    return np.exp(x), len(DROPPED)


def over_calls(function, make):
    seen = []
    for n in range(20):
        DROPPED.clear()
        seen.append(function({f"key{n}": 0, "kept": make(n)}, X)[1])
    return seen


@pytest.mark.parametrize("plain", [Plain, float, list])
def test_what_a_store_drops_ends_at_the_store(plain):
    def make(n):
        return Ends() if n > 14 else plain()

    assert over_calls(pycompile.compile(replaces), make) == over_calls(replaces, make)
    assert over_calls(replaces, make)[-1] == 1
