"""Long calls that CPython runs faster than their plan are left to it.

How long a plan and a plain call take is pretended (test_sample), so nothing here depends on the clock.
"""

import re

import numpy as np
import pytest

import pycompile
from pycompile import _C

MS = 1_000_000  # nanoseconds
X = np.linspace(-2.0, 2.0, 300)


@pytest.fixture
def took():
    yield _C.test_sample
    _C.test_sample(0, 0)


def polynomial(x):
    return ((x + 1.0) * x - 3.0) * x + 0.5


def sampled(function, **options):
    return pycompile.compile(function, options={"plan_always": False, "sample": True, **options})


def call(compiled, times, *args):
    """What `stats()` says more after so many calls, each of which gives the plain result's bits."""
    before, plain = compiled.stats(), compiled.__wrapped__
    for _ in range(times):
        found = compiled(*args)
        assert found.tobytes() == plain(*args).tobytes()
    after = compiled.stats()
    return {name: after[name] - before[name] for name in after}


def test_a_plan_that_is_slower_is_left(took):
    took(10 * MS, 5 * MS)
    compiled = sampled(polynomial)
    found = call(compiled, 200, X)
    assert found["slower"] == 1 and found["plan_runs"] < 100
    assert call(compiled, 50, X)["plan_runs"] == 0
    assert compiled.stats()["compiles"] == 1


def test_pairs_that_a_plan_loses_follow_at_once(took):
    took(10 * MS, 9 * MS)
    compiled = sampled(polynomial)
    calls = 1
    while call(compiled, 1, X)["slower"] == 0 and calls < 200:
        calls += 1
    assert calls < 50


def test_a_plan_that_is_as_fast_or_faster_stays(took):
    for plan in (5 * MS, 10 * MS):
        took(plan, 10 * MS)
        pycompile.reset()
        compiled = sampled(polynomial)
        found = call(compiled, 1000, X)
        assert found["slower"] == 0
        assert 900 < found["plan_runs"] < 1000  # some calls were plain, to compare


@pytest.mark.parametrize(("plan", "plain", "slower"), [(10, 5, 1), (5, 10, 0)])
def test_on_a_busy_machine_the_shortest_runs_count(took, plan, plain, slower):
    """Most calls take longer than they should, so that pairs are won and lost by chance."""
    rng = np.random.default_rng(0)
    compiled = sampled(polynomial)
    compiled(X)
    for _ in range(1000):
        took(*(int(ms * MS * rng.choice([1, 3, 4, 5])) for ms in (plan, plain)))
        compiled(X)
    assert compiled.stats()["slower"] == slower


def test_short_calls_are_not_compared(took):
    took(90_000, 1000)
    assert call(sampled(polynomial), 1000, X)["plan_runs"] == 1000


def test_short_calls_are_compared_when_there_have_been_many(took):
    took(5_000, 4_000)
    compiled = sampled(polynomial)
    call(compiled, 5000, X)
    assert compiled.stats()["slower"] == 1
    assert call(compiled, 50, X)["plan_runs"] == 0


def test_a_short_plain_call_counts_once_it_is_warm(took):
    """The first one after many runs of the plan takes longer than plain calls in a row."""
    compiled = sampled(polynomial)
    runs, ran = 0, True
    for _ in range(5000):
        took(5_000, 5_500 if ran else 4_000)
        compiled(X)
        ran = compiled.stats()["plan_runs"] > runs
        runs += ran
    assert compiled.stats()["slower"] == 1


@pytest.mark.parametrize("plan, plain", [(5_000, 4_800), (900, 100)])  # in ns
def test_short_calls_that_would_gain_nothing_by_it_keep_their_plan(took, plan, plain):
    """Calls that are left to CPython cost something, too; and the clock is too coarse."""
    took(plan, plain)
    compiled = sampled(polynomial)
    call(compiled, 5000, X)
    assert compiled.stats()["slower"] == 0


def test_what_asks_for_plans_is_not_compared(took):
    took(10 * MS, 5 * MS)
    for options in ({"sample": False}, {"plan_always": True}):
        assert call(sampled(polynomial, **options), 300, X)["plan_runs"] == 300
    whole = pycompile.compile(
        polynomial, fullgraph=True, options={"plan_always": False, "sample": True}
    )
    assert call(whole, 300, X)["plan_runs"] == 300
    assert call(sampled(polynomial, threads=2), 300, X)["plan_runs"] < 300


@pytest.mark.usefixtures("a_plan_for_each_shape")
def test_other_shapes_keep_their_plan(took):
    took(10 * MS, 5 * MS)
    compiled = sampled(polynomial)
    call(compiled, 200, X)
    took(5 * MS, 10 * MS)
    assert call(compiled, 4, X[:77])["plan_runs"] == 4
    assert call(compiled, 4, X)["plan_runs"] == 0


def test_what_was_found_is_looked_at_again(took):
    took(10 * MS, 5 * MS)
    compiled = sampled(polynomial)
    assert call(compiled, 200, X)["slower"] == 1
    took(5 * MS, 10 * MS)
    assert call(compiled, 1000, X)["slower"] == -1
    assert call(compiled, 20, X)["plan_runs"] == 20


def test_a_function_with_cells_has_a_frame(took):
    def with_cell(x):
        scale = 2.0

        def twice(y):
            return y * scale

        return twice(x) * x + 1.0 - x * 0.5

    took(10 * MS, 5 * MS)
    compiled = sampled(with_cell)
    assert call(compiled, 200, X)["slower"] == 1
    assert call(compiled, 50, X)["plan_runs"] == 0


def smooth(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def test_a_plan_with_a_short_kept_loop_is_compared(took):
    took(10 * MS, 5 * MS)
    compiled = sampled(smooth)
    assert call(compiled, 200, X)["slower"] == 1
    assert call(compiled, 50, X)["plan_runs"] == 0


@pytest.mark.slow
def test_a_plan_with_a_long_kept_loop_is_not(took):
    """A plain call could take a second."""
    took(10 * MS, 5 * MS)
    compiled, x = sampled(smooth), np.ones(1_000_000)
    for _ in range(200):
        compiled(x)
    assert compiled.stats()["plan_runs"] == 200


# ---- calls that go through several plans ----


def in_parts(x, n):
    """A graph, a call that is not followed, another graph."""
    y = x * 2.0 + 1.0 - x * x
    z = np.array(list(map(len, [str(n)])), dtype=object)
    return (y * y - x) * float(z[0]) + y


def test_a_call_in_parts_that_is_slower_is_left(took):
    took(10 * MS, 5 * MS)
    compiled = sampled(in_parts)
    assert call(compiled, 8, X, 7)["plan_runs"] >= 24  # three plans a call
    assert call(compiled, 300, X, 7)["slower"] == 1
    assert call(compiled, 50, X, 7)["plan_runs"] == 0
    assert call(compiled, 50, X[:77], 7)["plan_runs"] == 0  # smaller ones gain less
    # much larger ones are compared anew, and with them the others
    took(5 * MS, 10 * MS)
    assert call(compiled, 100, np.tile(X, 5), 7)["slower"] == -1
    assert call(compiled, 5, X, 7)["plan_runs"] == 15


def test_calls_in_parts_whose_gain_depends_on_their_size(took):
    """Most are slower with plans, most of the time is spent in those that are faster."""
    small, large = X[:20], np.tile(X, 5)
    compiled = sampled(in_parts)
    for _ in range(400):
        for x in (small, small, small, large):
            took(*((100 * MS, 200 * MS) if x is large else (2 * MS, MS)))
            call(compiled, 1, x, 7)
    assert call(compiled, 5, small, 7)["plan_runs"] == 0
    assert call(compiled, 5, large, 7)["plan_runs"] > 0


def test_a_call_in_parts_that_is_faster_or_short_stays(took):
    for plan, plain, least in ((5 * MS, 10 * MS, 900), (9000, 1000, 1000)):
        took(plan, plain)
        pycompile.reset()
        found = call(sampled(in_parts), 1000, X, 7)
        assert found["slower"] == 0
        assert 3 * least < found["plan_runs"] + 1 <= 3001
        assert (found["plan_runs"] < 3000) == (plan > MS)  # long calls are compared


@pytest.mark.parametrize(("plan", "plain", "slower"), [(3000, 1000, 1), (1000, 3000, 0)])
def test_short_calls_in_parts_are_compared_when_there_have_been_many(took, plan, plain, slower):
    took(plan, plain)
    compiled = sampled(in_parts)
    assert call(compiled, 1000, X, 7)["plan_runs"] >= 2997
    assert call(compiled, 7000, X, 7)["slower"] == slower
    assert call(compiled, 50, X, 7)["plan_runs"] == (0 if slower else 150)


def test_a_call_in_parts_that_ends_with_an_exception(took):
    def fails(x, n):
        y = in_parts(x, n)
        return y[int(str(n))] * 2.0 + np.zeros(n)[0]

    took(10 * MS, 5 * MS)
    compiled = sampled(fails)
    for _ in range(200):
        assert compiled(X, 7) == fails(X, 7)
        with pytest.raises(IndexError):
            compiled(X, 700)
    assert compiled.stats()["plan_runs"] < 150


def test_an_exception_in_a_timed_plain_call_is_the_programs(took):
    class Stop(Exception):
        pass

    def guarded(x, y):
        if y is not None:
            raise Stop
        return x * 2.0 + x * x - 1.0

    took(10 * MS, 5 * MS)
    compiled = sampled(guarded)
    for _ in range(100):
        compiled(X, None)
        with pytest.raises(Stop):
            compiled(X, 1)
    assert compiled.stats()["slower"] == 1


def test_a_call_that_writes_its_argument_does_so_once(took):
    def descend(x, g):
        x -= 0.5 * g
        x *= 1.0 + 2.0**-20
        return x

    took(10 * MS, 5 * MS)
    compiled = sampled(descend)
    a, b = X.copy(), X.copy()
    for _ in range(300):
        assert compiled(a, X) is a
        descend(b, X)
        assert a.tobytes() == b.tobytes()
    assert compiled.stats()["slower"] == 1


def test_the_log_says_so(took, caplog):
    took(10 * MS, 5 * MS)
    pycompile.set_logs("perf_hints")
    try:
        compiled = sampled(polynomial)
        call(compiled, 200, X)
    finally:
        pycompile.set_logs("")
    told = [r.getMessage() for r in caplog.records if "compared again" in r.getMessage()]
    assert len(told) == 1
    assert re.search(
        r"polynomial \(.*test_sample.py:\d+\): calls like the last one took 10.000 ms compiled and "
        r"5.000 ms plain",
        told[0],
    )
