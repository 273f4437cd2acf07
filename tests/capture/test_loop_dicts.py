"""Kept loops that change dicts from ints to numbers: counters, sums by key, where a key was last."""

import collections
import signal

import numpy as np
import pytest

import pycompile
from tests.differential import check

RNG = np.random.default_rng(7)
KEYS = RNG.integers(0, 50, 400) * 7 - 90
X = RNG.standard_normal(400).round(2)


def counted(keys):
    counts = {}
    for i in range(len(keys)):
        key = int(keys[i])
        counts[key] = counts.get(key, 0) + 1
    return counts


def counted_with_in(keys):
    counts = {}
    for k in keys:
        if k in counts:
            counts[k] += 1
        else:
            counts[k] = 1
    return counts


def sums(keys, x):
    total = {}
    for i in range(len(keys)):
        k = int(keys[i])
        total[k] = total.get(k, 0.0) + x[i]
    return total, len(keys)


def first_and_sum(keys, x):
    total = {}
    for i in range(len(keys)):
        k = int(keys[i])
        if k not in total:
            total[k] = 0.5
        total[k] = total[k] + float(x[i])
    return total


def gaps(keys):
    last, gap, sizes = {}, 0, 0
    for i in range(len(keys)):
        k = int(keys[i])
        if k not in last:
            last[k] = i
            continue
        gap += i - last[k]
        last[k] = i
        sizes += len(last)
    return gap, sizes, last


def from_known(keys, x):
    known = {7: 1000, 1000: 5, -90: int(x[0])}
    for i in range(len(keys)):
        known[int(keys[i])] = known.get(int(keys[i]) + 7, 3) + i
    return known


def nested(keys):
    counts, most = {}, 0
    for i in range(0, len(keys), 8):
        for k in range(i, min(i + 8, len(keys))):
            n = counts.get(int(keys[k]), 0) + 1
            counts[int(keys[k])] = n
            most = max(most, n)
        if counts:
            most += 1
    return counts, most


def remembered(n):
    steps, longest = {1: 0}, 0
    for start in range(2, n):
        at, count = start, 0
        while at not in steps:
            at = at // 2 if at % 2 == 0 else 3 * at + 1
            count += 1
        steps[start] = count + steps[at]
        longest = max(longest, steps[start])
    return steps, longest


@pytest.mark.parametrize(
    "function, args",
    [
        (counted, (KEYS,)),
        (counted_with_in, (KEYS,)),
        (sums, (KEYS, X)),
        (first_and_sum, (KEYS, X)),
        (gaps, (KEYS,)),
        (from_known, (KEYS, X)),
        (nested, (KEYS,)),
        (remembered, (200,)),
    ],
)
def test_a_loop_changes_a_dict(function, args):
    check(function, *args)
    graphs = pycompile.explain(pycompile.compile(function))(*args).graphs
    assert any("element_find" in str(graph) for graph in graphs)


def missing(keys, at, out):
    d = {}
    for i in range(len(keys)):
        out[i] = keys[i]
        if i != 200:
            d[int(keys[i])] = i
        out[i] += d[int(keys[i]) + (i == at)]
    return out


def test_a_missing_key():
    """What was written before it is there, and the exception has its line and its key."""
    for at in (0, 300, 1000):
        check(missing, KEYS, at, np.zeros(400), captured=False)
    check(missing, np.arange(400), 1000, np.zeros(400), captured=False)


def stored(keys, values):
    d = {3: 1}
    for i in range(len(keys)):
        d[keys[i]] = values[i]
    return d


LONG = list(range(100))


@pytest.mark.parametrize(
    "keys",
    [
        [k % 2 == 0 for k in LONG],
        [float(k % 7) for k in LONG],
        [0.5 * k for k in LONG],
        [str(k) for k in LONG],
        [2**62 + k for k in LONG],
        [2**63 + k for k in LONG],
        [-1, -2, *LONG[2:]],
        [True, *LONG[1:]],
        [(k, 1) for k in LONG],
        [float("nan") for k in LONG],
        [[k] for k in LONG],
        np.array(LONG),
        np.array(LONG, np.int32),
        np.array(LONG, np.uint64) + np.uint64(2**63),
        np.array(LONG) % 2 == 0,
        np.array(LONG, float),
    ],
)
def test_keys_and_values_of_each_class(keys):
    check(stored, keys, LONG, captured=False)
    if isinstance(keys, np.ndarray) or isinstance(keys[0], (int, float)):
        check(stored, LONG, keys, captured=False)


def both_classes(keys, x):
    d = {}
    for i in range(len(keys)):
        if x[i] > 0:
            d[int(keys[i])] = x[i]
        else:
            d[int(keys[i])] = 0.5
    return d, len(keys)


def two_types(keys, x):
    d = {}
    for i in range(len(keys)):
        d[int(keys[i])] = d.get(int(keys[i]), 0) + float(x[i])
    return d


def keys_of_both(keys):
    d = {}
    for i in range(len(keys)):
        d[keys[i] if i % 2 else int(keys[i])] = i
    return d


def other_uses(keys):
    d = {}
    for i in range(len(keys)):
        k = int(keys[i])
        d[k] = i
        if i % 50 == 7:
            del d[k]
        if i % 90 == 8:
            d.pop(next(iter(d)))
    return d, d.get(7), sorted(d), sum(d.values())


def behind(keys):
    d = {}
    for i in range(len(keys)):
        d[int(keys[i])] = d.get(int(keys[i]), 0) + 1
    e = d
    best = max(d, key=d.get)
    total = 0
    for i in range(len(keys)):
        total += d[int(keys[i])]
    e[5] = best
    return d is e, best, total, list(d.items())


def none_is_given(keys):
    d, n = {}, 0
    for i in range(len(keys)):
        if d.get(int(keys[i])) is None:
            n += 1
        d[int(keys[i])] = i
    return d, n


def never_stored(keys):
    d, n = {}, 0
    for i in range(len(keys)):
        if int(keys[i]) in d:
            n += d[int(keys[i])]
        if keys[i] > 10**6:
            d[int(keys[i])] = i
    return d, n


def beside_one_of_text(keys):
    """The loop is given up when the second dict is opened; nothing tells of what the first one is."""
    d, other = {}, {"a": 1}
    for i in range(len(keys)):
        d[int(keys[i])] = i
        other[int(keys[i])] = i
    return d, other


def left_early(keys):
    seen = {}
    for i in range(len(keys)):
        other = 45 - int(keys[i])
        if other in seen:
            return seen[other], i, seen
        seen[int(keys[i])] = i
    return None


class Counter:
    def __init__(self):
        self.counts = {}

    def count(self, keys):
        for i in range(len(keys)):
            key = int(keys[i])
            self.counts[key] = self.counts.get(key, 0) + 1


def of_an_object(keys):
    counter = Counter()
    counter.count(keys)
    return counter.counts


def of_a_defaultdict(keys):
    counts = collections.defaultdict(int)
    for i in range(len(keys)):
        counts[int(keys[i])] += 1
    return counts


def from_outside(keys, counts):
    for i in range(len(keys)):
        counts[int(keys[i])] = counts.get(int(keys[i]), 0) + 1
    return counts


def test_what_else_is_done():
    for function in (both_classes, two_types):
        check(function, KEYS, X, captured=False)
    others = (keys_of_both, other_uses, behind, none_is_given, never_stored, left_early)
    for function in (*others, beside_one_of_text, of_an_object, of_a_defaultdict):
        check(function, KEYS, captured=False)
    for counts in ({}, {7: 10**6}, {7.0: 2}, {"a": 1}):
        check(from_outside, KEYS, counts, captured=False)


def test_keys_stay_the_objects_that_they_are():
    def function(keys):
        d = {1000000: 1, 5: 2}
        for i in range(len(keys)):
            d[int(keys[i]) + 10**6] = i
        return d

    compiled = pycompile.compile(function)
    for f in (function, compiled):
        assert any(next(iter(f(np.arange(300)))) is c for c in function.__code__.co_consts)
    assert compiled.stats()["plan_runs"] > 0 and compiled.stats()["deopts"] == 0


def test_a_signal():
    """A handler runs while the loop does, and the counts are those of all keys."""
    rang = []

    def count(keys):
        counts = {}
        for turn in range(40):
            for i in range(len(keys)):
                counts[int(keys[i])] = counts.get(int(keys[i]), 0) + turn
        return counts

    keys = np.arange(100_000) % 1000
    before = signal.signal(signal.SIGALRM, lambda *_: rang.append(1))
    try:
        compiled = pycompile.compile(count)
        compiled(keys[:100])
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        counts = compiled(keys)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rang == [1] and counts == dict.fromkeys(range(1000), 100 * 780)
