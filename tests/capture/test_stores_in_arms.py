"""A write under a condition costs what it touches: no array is copied that the program does not copy."""

import random

import numpy as np
import pytest
from differential import check, observe

import pycompile
from pycompile import _C

N = 1 << 20
PLANS = {"options": {"plan_always": True}}

# Of one turn: `a` of 2 * N elements, as rows of 2; `i` is an index, `u` a number, `r` a row.
STORES = {
    "an element": "a[i, 1] = u",
    "two": "a[i, 0] = u; a[i - 1, 1] = -u",
    "a row": "a[i] = r",
    "a row of what is computed": "a[i] = r * u + 1.0",
    "a number in a row": "a[i] = u",
    "rows": "a[i : i + 2] = u",
    "a row in rows": "a[i : i + 2] = r",
    "a column of rows": "a[i : i + 2, 1] = u",
    "an int": "a[i, 1] = i",
    "a list of rows": "a[[i, i - 1]] = r",
    "the last": "a[-i] = u",
    "of float32": "b[i] = u",
    "of ints": "c[i] = i; c[i - 1] = True",
    "of bools": "t[i] = True",
    "a known place": "a[3] = u; a[5] = r",
    "beside a list": "a[i] = r; held.append(u)",
}
ARMS = {
    "one": "if u > 0.5:\n        {}",
    "either": "if u > 0.5:\n        {}\n    else:\n        a[i, 0] = 7.0",
    "in an arm": "if u > 0.2:\n        if u > 0.5:\n            {}\n        elif u > 0.4:\n            a[0, i & 1] = u",
}


def function(arms, store, behind="pass"):
    scope = {}
    text = ARMS[arms].format(STORES[store])
    exec(f"def f(a, b, c, t, r, i, u, held):\n    {text}\n    {behind}\n    return u", scope)
    return scope["f"]


def arguments(n, i, u):
    rng = np.random.default_rng(n)
    a, r = rng.random((n, 2)), rng.random(2)
    return a, rng.random(n).astype("f4"), rng.integers(0, 9, n), np.zeros(n, "?"), r, i, u, []


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("arms", ARMS)
def test_either_side_leaves_what_python_does(arms, store):
    f = function(arms, store)
    others = [arguments(8, i, u) for i in (2, 6) for u in (0.9, 0.45, 0.1)]
    check(f, *arguments(8, 4, 0.9), also=tuple(others), options=PLANS)


@pytest.mark.parametrize("store", STORES)
def test_a_place_that_there_is_not(store):
    f = function("one", store)
    compiled = pycompile.compile(f, **PLANS)
    for i in (3, 4, 5, 7, 8, 9, -9, 10**20):
        plain, ours = (observe(g, arguments(8, i, 0.9), {}) for g in (f, compiled))
        assert str(plain.raised) == str(ours.raised)
        for a, b in zip(plain.args[0][:4], ours.args[0][:4], strict=True):
            assert a.tobytes() == b.tobytes()


def made(f, *calls):
    """The bytes that the largest of its plans makes, and whether one ran."""
    compiled = pycompile.compile(f, **PLANS)
    _C.report_begin()
    for args in calls:
        compiled(*args)
    records = _C.report_end()
    return max(r.get("bytes_made", 0) for r in records), compiled.stats()["plan_runs"]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("arms", ARMS)
def test_nothing_is_copied_that_nobody_reads(arms, store):
    n = 1 << 12  # 64 KiB: smaller arrays may be copied whole
    size, runs = made(function(arms, store), *(arguments(n, i, 0.9) for i in (4, 5, 6)))
    assert runs > 0 and size < n


# ---- behind a call that is not followed, in a loop ----

LOOPS = {
    "a draw": "u = random.random()",
    "an iterator": "u = next(numbers)",
    "a dict": "d[i % 7] = i; u = i * 0.37 % 1",
    "an attribute": "f.n = i; u = i * 0.37 % 1",
    "a list": "held.append(i); u = held.pop() * 0.37 % 1",
}
BEHIND = ["pass", "s += a[i - 1, 0]", "a[i, 0] += u", "s += r[0] * a[i].sum()"]


def loop(call, store, behind):
    scope = {"random": random}
    exec(
        f"def f(a, b, c, t, r, n):\n"
        f"    numbers, d, held, s = iter([0.9, 0.1] * n), {{}}, [], 0.0\n"
        f"    for i in range(2, n):\n"
        f"        {LOOPS[call]}\n"
        f"        if u > 0.5:\n            {STORES[store]}\n"
        f"        {behind}\n"
        f"    return s",
        scope,
    )
    return scope["f"]


@pytest.mark.parametrize(
    ("call", "store", "behind"), list(zip(list(LOOPS) * 4, STORES, BEHIND * 4, strict=False))
)
def test_a_loop_copies_no_array(call, store, behind):
    f = loop(call, store, behind)
    compiled = pycompile.compile(f, options={"plan_always": False})
    found = []
    for run in (f, compiled):
        random.seed(1)
        args = arguments(N // 4, 0, 0)[:5]
        _C.report_begin()
        result = run(*args, 40)
        found.append((result, [a.tobytes() for a in args]))
        assert all(record.get("bytes_made", 0) < N // 4 for record in _C.report_end())
    assert found[0] == found[1]
