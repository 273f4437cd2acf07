"""Plans whose undone runs cost more than the others save pause, and are tried again.

How long runs take is pretended (test_sample), so nothing here depends on the clock.
"""

import warnings

import numpy as np
import pytest

import pycompile
from pycompile import _C, _hints

MS = 1_000_000  # nanoseconds
SAMPLED = {"plan_always": False, "sample": True}
CLEAN = np.linspace(1.0, 2.0, 300)
ZERO = CLEAN.copy()
ZERO[7] = 0.0


@pytest.fixture
def took():
    yield _C.test_sample
    _C.test_sample(0, 0)


def ratio(x):
    return (x + 1.0) / x - 0.5 * x


def in_parts(x):
    """A graph, a call that is not followed, another graph, whose runs may be undone."""
    y = x * 2.0 + 1.0
    z = np.array(list(map(len, ["a"])), dtype=object)
    return (y * y - x) / x + float(z[0])


def compiled_of(function):
    return pycompile.compile(function, options=SAMPLED)


def seen_in(function, x):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = function(x)
    return result.tobytes(), [(str(w.message), w.filename, w.lineno) for w in seen]


def call(compiled, *arrays):
    """What `stats()` says more after these calls, each of which gives the plain result and warnings."""
    before = compiled.stats()
    for x in arrays:
        assert seen_in(compiled, x) == seen_in(compiled.__wrapped__, x)
    after = compiled.stats()
    return {name: after[name] - before[name] for name in after}


def mix(calls, every):
    """Every so many of the arrays have a zero."""
    return [ZERO if i % every == every - 1 else CLEAN for i in range(calls)]


@pytest.mark.parametrize("function", [ratio, in_parts])
def test_a_plan_that_is_always_undone_is_tried_seldom(took, function):
    took(5 * MS, 10 * MS, 4 * MS)
    compiled = compiled_of(function)
    found = call(compiled, *[ZERO] * 9)
    assert found["deopts"] <= 2
    found = call(compiled, *[ZERO] * 500)
    assert 5 <= found["deopts"] <= 25  # 0.4 of a plain call each: not above 1 part in 50


@pytest.mark.parametrize("function", [ratio, in_parts])
@pytest.mark.parametrize("bad", [1, 12, 300])
def test_clean_data_bring_the_plan_back(took, function, bad):
    took(5 * MS, 10 * MS, 4 * MS)
    compiled = compiled_of(function)
    call(compiled, *[ZERO] * bad)
    call(compiled, *[CLEAN] * 60)
    found = call(compiled, *[CLEAN] * 100)
    assert found["deopts"] == found["compiles"] == 0
    assert found["plan_runs"] >= (80 if function is ratio else 240)  # some are compared
    assert compiled.stats()["paused"] == 0


@pytest.mark.parametrize("undone", [1, 20])
def test_what_is_lost_is_weighed_against_what_is_saved(took, undone):
    """Three good runs save 6 ms of 10."""
    took(8 * MS, 10 * MS, undone * MS)
    compiled = compiled_of(ratio)
    call(compiled, *mix(100, 4))
    found = call(compiled, *mix(400, 4))
    if undone == 1:
        assert found["deopts"] > 80 and found["plan_runs"] > 220
    else:
        assert found["deopts"] < 10 and found["plan_runs"] < 50


def test_every_second_run(took):
    for saved, lost, stays in ((8, 2, True), (2, 8, False)):
        pycompile.reset()
        took((10 - saved) * MS, 10 * MS, lost * MS)
        compiled = compiled_of(ratio)
        call(compiled, *mix(100, 2))
        found = call(compiled, *mix(200, 2))
        assert (found["deopts"] > 80) == stays and (found["deopts"] < 10) != stays


def test_a_good_past_does_not_hide_a_bad_present(took):
    took(5 * MS, 10 * MS, 5 * MS)
    compiled = compiled_of(ratio)
    call(compiled, *[CLEAN] * 500)
    assert call(compiled, *[ZERO] * 30)["deopts"] <= 8


def test_rare_undone_runs_do_no_harm(took):
    took(8 * MS, 10 * MS, 8 * MS)
    compiled = compiled_of(ratio)
    call(compiled, *mix(200, 50))
    found = call(compiled, *mix(1000, 50))
    assert found["deopts"] == 20 and found["plan_runs"] > 900


def test_calls_that_raise(took):
    def raising(x):
        with np.errstate(divide="raise"):
            return (x + 1.0) / x

    took(5 * MS, 10 * MS, 4 * MS)
    compiled = compiled_of(raising)
    for _ in range(600):
        with pytest.raises(FloatingPointError):
            compiled(ZERO)
    assert compiled.stats()["deopts"] < 20
    call(compiled, *[CLEAN] * 300)
    assert call(compiled, *[CLEAN] * 20)["plan_runs"] >= 18


def test_a_paused_plan_runs_under_explain(took):
    took(5 * MS, 10 * MS, 4 * MS)
    compiled = compiled_of(ratio)
    call(compiled, *[ZERO] * 3)
    assert compiled.stats()["paused"] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = str(pycompile.explain(ratio, options=SAMPLED)(ZERO))
    assert "1 run of a plan given back to Python" in text
    assert "1 plan paused: runs that were undone cost more than others saved" in text


def test_without_the_clock_runs_are_counted():
    compiled = pycompile.compile(ratio)  # as the tests have it: no sampling
    found = call(compiled, *[ZERO] * 8)
    assert found["deopts"] == 8
    assert call(compiled, *[ZERO] * 100)["deopts"] < 10
    call(compiled, *[CLEAN] * 64)
    assert call(compiled, *[CLEAN] * 20)["plan_runs"] == 20


def test_the_hints_cost_of_undone_runs_is_measured(took):
    took(5 * MS, 10 * MS, 4 * MS)
    compiled = compiled_of(ratio)
    call(compiled, *[ZERO] * 200)
    record = next(r for r in _C.hints() if r["function"] == "ratio")
    assert record["undone_seconds"] == pytest.approx(4e-3 * record["deopts"])
    assert _hints.cost(record) == pytest.approx(4e-3 * record["deopts"])
    assert f"about {4 * record['deopts']:.3g} ms lost" in _hints.describe(record)


def test_the_log_says_so(took, caplog):
    took(5 * MS, 10 * MS, 4 * MS)
    pycompile.set_logs("perf_hints")
    try:
        compiled = compiled_of(ratio)
        call(compiled, *[ZERO] * 100)
    finally:
        pycompile.set_logs("")
    told = [r.getMessage() for r in caplog.records if "a plan pauses" in r.getMessage()]
    assert len(told) == 1
    assert told[0].startswith("ratio: a plan pauses: ")
