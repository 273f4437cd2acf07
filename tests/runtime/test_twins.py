"""Lengths at which a plan with symbols runs long get a plan of their own, its twin.

How long runs take is pretended (test_sample), so nothing here depends on the clock.
"""

import time

import numpy as np
import pytest

import pycompile
from pycompile import _C

S = 1_000_000_000  # nanoseconds


@pytest.fixture
def took():
    yield _C.test_sample
    _C.test_sample(0, 0)


def rows(x, y):
    return ((x - y) * (x - y)).sum(axis=1)


def compiled_of(function, **settings):
    settings.setdefault("dynamic", True)
    options = {"plan_always": True, "wait": True, **settings.pop("options", {})}
    return pycompile.compile(function, options=options, **settings)


def arguments(n, m=3):
    rng = np.random.default_rng(n)
    return rng.random((n, m)), rng.random((n, m))


def agree(compiled, *args):
    plain = compiled.__wrapped__(*(a.copy() for a in args))
    found = compiled(*args)
    assert found.dtype == plain.dtype and found.tobytes() == plain.tobytes()


def call_until_twins(compiled, count, *args, most=300):
    """Calls of these arguments until so many twins are there: their code is made in the background."""
    for _ in range(most):
        agree(compiled, *args)
        if compiled.stats()["twins"] >= count:
            return True
        time.sleep(0.01)
    return False


def test_lengths_that_run_long_get_a_twin(took):
    took(3 * S, 9 * S)
    pycompile.counters.reset()
    compiled, args = compiled_of(rows), arguments(40)
    assert call_until_twins(compiled, 1, *args)
    runs = compiled.stats()["plan_runs"]
    for _ in range(20):
        agree(compiled, *args)
    stats = compiled.stats()
    assert stats["plans"] == stats["twins"] == 1 and stats["plan_runs"] == runs + 20
    assert stats["compiles"] == 1 and stats["recompiles"] == 0
    assert pycompile.counters["twins"] == pycompile.counters["plans"] == 1


def test_a_twin_needs_no_fewer_calls_than_its_option_says(took):
    took(S // 1000, 9 * S)  # 1 ms
    compiled, args = compiled_of(rows), arguments(41)
    for _ in range(1000):
        compiled(*args)
    time.sleep(0.02)
    for _ in range(100):
        compiled(*args)
    assert compiled.stats()["twins"] == 0
    assert not call_until_twins(compiled_of(rows, options={"twin_after": 0}), 1, *args, most=50)


def test_other_lengths_run_the_plan(took):
    took(3 * S, 9 * S)
    compiled, args = compiled_of(rows), arguments(42)
    assert call_until_twins(compiled, 1, *args)
    took(1, 9 * S)
    with pycompile.set_stance("fail_on_recompile"):
        for n in (1, 2, 42, 17, 42, 33):
            agree(compiled, *arguments(n))
            agree(compiled, *arguments(n, 5))
    assert compiled.stats()["plans"] == compiled.stats()["twins"] == 1


def test_under_a_stance_that_rules_out_compiling_none_is_made(took):
    took(3 * S, 9 * S)
    compiled, args = compiled_of(rows), arguments(43)
    compiled(*arguments(44))
    with pycompile.set_stance("fail_on_recompile"):
        assert not call_until_twins(compiled, 1, *args, most=20)
    assert call_until_twins(compiled, 1, *args)
    with pycompile.set_stance("fail_on_recompile"):
        agree(compiled, *args)


def test_a_plan_has_a_few(took):
    took(3 * S, 9 * S)
    compiled = compiled_of(rows)
    for number, n in enumerate((20, 21, 22, 23, 24)):
        assert call_until_twins(compiled, min(number + 1, 3), *arguments(n))
    for _ in range(100):
        agree(compiled, *arguments(24))
        time.sleep(0.002)
    assert compiled.stats()["twins"] == 3 and compiled.stats()["plans"] == 1


def test_a_twin_that_is_no_faster_is_dropped(took):
    took(3 * S, 9 * S)
    compiled, args = compiled_of(rows), arguments(45)
    agree(compiled, *args)
    took(4 * S, 9 * S)
    assert call_until_twins(compiled, 1, *args)
    for _ in range(40):
        agree(compiled, *args)
    assert compiled.stats()["twins"] == 0
    assert not call_until_twins(compiled, 1, *args, most=20)


def test_twins_end_with_their_plan(took):
    took(3 * S, 9 * S)
    compiled, args = compiled_of(rows), arguments(46)
    assert call_until_twins(compiled, 1, *args)
    pycompile.reset()
    assert compiled.stats()["twins"] == 0
    took(0, 0)
    agree(compiled, *args)


def written(x, y):
    x += y
    x[0] = y.sum(axis=0)
    return x


def left_at_a_break(x, y):
    z = x * y
    pycompile.graph_break()
    return z + 1.0


def of_cells(x, y):
    def scaled(a):
        return a * y

    return scaled(x) + y


@pytest.mark.parametrize("function", [written, left_at_a_break, of_cells])
@pytest.mark.parametrize("dynamic", [True, None])
def test_calls_with_a_frame_have_twins(took, function, dynamic):
    took(3 * S, 9 * S)
    compiled, args = compiled_of(function, dynamic=dynamic), arguments(47)
    for n in (5, 6):
        agree(compiled, *arguments(n))
    assert call_until_twins(compiled, 1, *args)
    for n in (47, 5, 47):
        agree(compiled, *arguments(n))


def test_declared_lengths_have_twins(took):
    took(3 * S, 9 * S)
    declared = {"x": {0: "batch"}, "y": {0: "batch"}}
    compiled, args = compiled_of(rows, dynamic=declared), arguments(48)
    assert call_until_twins(compiled, 1, *args)
    for n in (48, 5, 48):
        agree(compiled, *arguments(n))
    assert compiled.stats()["plans"] == 1


def test_a_trace_tells_whose_twin_it_is(took):
    took(3 * S, 9 * S)
    compiled, args = compiled_of(rows), arguments(49)
    _C.report_begin()
    assert call_until_twins(compiled, 1, *args)
    plan, twin = _C.report_end()
    assert "twin_of" not in plan and twin["twin_of"] == plan["plan"] and "recompile" not in twin
