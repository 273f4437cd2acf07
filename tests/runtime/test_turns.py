"""Loops whose turns have a plan each, which CPython runs faster, are left to it within a call.

How long turns take is pretended (test_sample), so nothing here depends on the clock.
Items are popped from the middle: loops that pop the first or the last of a list are kept.
"""

import sys
from collections import deque

import numpy as np
import pytest

import pycompile
from pycompile import _C

CUM = np.linspace(0.2, 1.0, 5)
N = 1500
SLOW, FAST = 500_000, 1  # nanoseconds, of a window of turns and of all that CPython makes


@pytest.fixture
def took():
    yield _C.test_sample
    _C.test_sample(0, 0)


def searched(cum, numbers, n):
    total = 0
    for i in range(n):
        u = numbers.pop(len(numbers) >> 1)
        j = 0
        while cum[j] < u:
            j += 1
        total += j * (i & 3)
    return total


def searched_in_a_deque(cum, numbers, n):
    """What leads to the turns is stepped from a refusal in each call."""
    total, numbers = 0, deque(numbers)
    for i in range(n):
        numbers.rotate(-1)
        u = numbers[0]
        j = 0
        while cum[j] < u:
            j += 1
        total += j * (i & 3)
    return total


def loops_behind(cum, numbers, n):
    total = searched(cum, numbers, 0)
    for i in range(n):
        u = numbers.pop(len(numbers) >> 1)
        j = 0
        while cum[j] < u:
            j += 1
        total += j * (i & 3)
    for value in cum:
        total += float(value)
    return total


def emptied(cum, numbers, n):
    """Nothing tells how many turns there are."""
    total = 0
    while numbers:
        u = numbers.pop(len(numbers) >> 1)
        j = 0
        while cum[j] < u:
            j += 1
        total += j
    return total


def runs(compiled, times):
    """How many plans each of so many calls runs."""
    counts = []
    for _ in range(times):
        numbers = [k * 0.37 % 1 for k in range(N)]
        before = compiled.stats()["plan_runs"]
        assert compiled(CUM, numbers[:], N) == compiled.__wrapped__(CUM, numbers[:], N)
        counts.append(compiled.stats()["plan_runs"] - before)
    return counts


def compiled(function, **options):
    return pycompile.compile(function, options={"plan_always": False, "sample": True, **options})


def test_slower_turns_are_left_in_that_call_and_the_next_ones(took):
    took(SLOW, FAST)
    first, *others = runs(compiled(searched), 12)
    assert 256 <= first < 1000 and max(others) < 10


def test_turns_that_nothing_counts_are_left_in_the_same_call(took):
    took(SLOW, FAST)
    first, *others = runs(compiled(emptied), 12)
    assert 256 <= first < 700 and max(others) < 10


def test_faster_turns_that_nothing_counts_stay(took):
    took(FAST, SLOW)
    assert min(runs(compiled(emptied), 12)) > N - 100


def ends(cum, numbers, events):
    total = 0
    while numbers:
        u = numbers.pop(len(numbers) >> 1)
        j = 0
        while cum[j] < u:
            j += 1
        total += j
        if events.pop():
            if events[-1] == "return":
                return total, j
            if events[-1] == "raise":
                numbers[total]
            break
    return total


@pytest.mark.parametrize("how", ["break", "return", "raise"])
def test_how_a_turn_that_is_stepped_may_end(took, how):
    took(SLOW, FAST)

    def ended(function, turn):
        numbers, events = [k * 0.37 % 1 for k in range(N)], [how, 1, *[0] * turn]
        try:
            return function(CUM, numbers, events), numbers
        except IndexError as error:
            return str(error), error.__traceback__.tb_next.tb_lineno, numbers

    for turn in (300, 310, 320, 321, 350):
        f = compiled(ends)
        for _ in range(2):
            assert ended(f, turn) == ended(ends, turn)
        assert f.stats()["plan_runs"] > 250


@pytest.mark.parametrize("function", [searched, searched_in_a_deque])
def test_they_are_compared_again(took, function):
    took(SLOW, FAST)
    f = compiled(function)
    for _ in range(20):  # a window with a compile in it does not count
        if runs(f, 1)[0] < 10:
            break
    else:
        raise AssertionError("the turns were not left")
    took(FAST, SLOW)
    assert sum(count > N - 100 for count in runs(f, 40)) > 10


def test_faster_turns_stay(took):
    took(FAST, SLOW)
    first, *others = runs(compiled(searched), 12)
    assert first < 1000 and min(others) > N - 100


@pytest.mark.parametrize(
    ("function", "options"), [(searched, {"sample": False}), (loops_behind, {})]
)
def test_not_compared(took, function, options):
    """Where the clock may decide nothing, and where CPython would run other loops, too."""
    took(SLOW, FAST)
    assert min(runs(compiled(function, **options), 3)) > N - 100


def stops(cum, numbers, items):
    for i in items:
        u = numbers.pop(len(numbers) >> 1)
        j = 0
        while cum[j] < u:
            j += 1
        if i == 1500:
            return j


def test_what_the_loop_goes_over_is_let_go(took):
    took(FAST, SLOW)
    f, items = compiled(stops), list(range(N))
    before = sys.getrefcount(items)
    for _ in range(5):
        f(CUM, [k * 0.37 % 1 for k in range(N)], items)
    assert sys.getrefcount(items) == before
