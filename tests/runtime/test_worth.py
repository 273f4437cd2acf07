"""What would not pay is left to CPython, and stays there: by counters, not by the clock."""

import contextlib
import warnings

import numpy as np
import pytest

import pycompile


def same(a, b):
    return repr(a) == repr(b)


@contextlib.contextmanager
def untold():
    """No PycompileWarning; under an error filter it would be dropped."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield
    assert [str(w.message) for w in seen if w.category is pycompile.PycompileWarning] == []


def left(function, *args, calls=12):
    """Calls until nothing new is found out; the counters of the last call."""
    compiled = pycompile.compile(function, options={"plan_always": False})
    with untold():
        for _ in range(calls):
            assert same(compiled(*args), function(*args))
        before = compiled.stats()
        compiled(*args)
    after = compiled.stats()
    return after, {name: after[name] - before[name] for name in after}


def count_positive(x):
    total, count = 0.0, 0
    for v in x:
        if v > 0:
            total += v
            count += 1
    return total, count


def first_large(x):
    i = 0
    while i < 10 and x[i] < 2:
        i += 1
    return i


def ordered(x):
    if x[0] <= x[1]:
        return 1
    return 2


def filtered(x):
    return [y for y in x if y * 2 > 0.5]


def library(x):
    m = x[:4].reshape(2, 2)
    return np.linalg.inv(m @ m + np.eye(2))


@pytest.mark.parametrize("function", [count_positive, first_large, ordered, filtered, library])
def test_small_work_has_no_plan(function):
    stats, last = left(function, np.random.default_rng(0).normal(size=50) / 4)
    assert stats["plans"] == 0
    assert not any(last.values())


def test_small_work_by_keyword():
    compiled = pycompile.compile(ordered, options={"plan_always": False})
    for _ in range(8):
        assert compiled(x=np.arange(3.0)) == 1
    before = compiled.stats()
    compiled(x=np.arange(3.0))
    assert compiled.stats() == before and before["plans"] == 0


def test_work_behind_a_branch_is_found():
    def f(x):
        if x[0] > x[1]:
            y = x * 2
        else:
            y = x * 3
        return (y * x - y + 1) / (x + 2)

    stats, last = left(f, np.linspace(0, 1, 20000))
    assert stats["plans"] == 1 and last["plan_runs"] == 1 and last["compiles"] == 0


def test_work_in_a_function_behind_a_branch_is_found():
    def inner(x):
        y = np.exp(x) * x - x + 1
        print(end="")
        return y * y

    def f(x):
        if x[0] > x[1]:
            return 0
        return inner(x)

    x, options = np.linspace(0, 1, 20000), {"plan_always": False}
    compiled = pycompile.compile(f, options=options)
    counters = pycompile.compile(inner, options=options).stats  # of the code, whoever calls it
    for _ in range(8):
        assert same(compiled(x), f(x))
    before = counters()["plan_runs"]
    compiled(x)
    assert counters()["plan_runs"] > before


def test_size_decides():
    def f(x, w):
        return np.maximum(x @ w, 0)

    small = left(f, np.ones((2, 2)), np.ones((2, 2)))[0]
    large = left(f, np.ones((300, 2)), np.ones((2, 300)))[0]
    assert small["plans"] == 0 and large["plans"] == 1


def test_many_small_shapes_do_not_spoil_a_large_one():
    def f(x, w):
        return np.maximum(x @ w, 0)

    compiled = pycompile.compile(f, options={"plan_always": False})
    for n in range(2, 14):
        compiled(np.ones((n, 2)), np.ones((2, n)))
    compiled(np.ones((300, 2)), np.ones((2, 300)))
    assert compiled.stats()["plans"] == 1


def test_a_loop_variable_is_not_guarded_for_ever():
    def sieve(n):
        s = np.ones(n + 1, dtype=bool)
        s[:2] = False
        for i in range(2, int(n**0.5) + 1):
            if s[i]:
                s[i * i :: i] = False
        return np.nonzero(s)[0]

    for always in (False, True):
        compiled = pycompile.compile(sieve, options={"plan_always": always})
        with untold():
            for _ in range(6):
                assert same(compiled(2000), sieve(2000))
            before = compiled.stats()["compiles"]
            compiled(2000)
        assert compiled.stats()["compiles"] == before
        assert compiled.stats()["given_up"] == 0


def test_plans_past_the_limit_are_dropped_when_they_hardly_hold():
    @pycompile.compile(options={"recompile_limit": 2, "plan_always": False})
    def f(x):
        return x + 1

    with untold():  # small work
        for n in range(1, 60):
            assert f(np.ones(n)).shape == (n,)
    assert f.stats()["plans"] == 0 and f.stats()["given_up"] == 1


def test_plans_past_the_limit_that_hold_are_kept():
    @pycompile.compile(options={"recompile_limit": 2, "plan_always": False})
    def f(x):
        return x + 1

    for n in range(1, 100):
        f(np.ones(n))
        f(np.ones(2))
    assert f.stats()["plans"] == 2


def test_the_warning_names_the_guard():
    @pycompile.compile(options={"recompile_limit": 1, "plan_always": False})
    def f(x):
        return np.exp(x) + 1

    f(np.ones(20000))
    with pytest.warns(pycompile.PycompileWarning, match=r"x.shape\[0\] == 20000, now 30000"):
        f(np.ones(30000))
