"""The library's functions written in Python (pycompile.decompositions) against the originals."""

import bisect
import heapq
import itertools
import operator
import random
import subprocess
import sys
import textwrap

import pytest

from pycompile import _C
from pycompile.decompositions import copying, functions, iteration, models

TABLE = {**copying.TABLE, **functions.TABLE, **iteration.TABLE, **models.TABLE}


def drained(value):
    """What an iterator gives, or how it fails; groups and tees within are drained too."""
    if isinstance(value, (str, bytes, int, float, list)) or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(drained(item) for item in value)
    return [drained(item) for item in itertools.islice(value, 50)]


def outcome(function, args, kwargs):
    try:
        return "gives", drained(function(*args(), **kwargs))
    except Exception as error:
        return "raises", type(error), str(error)


ITERTOOLS = [
    (itertools.accumulate, lambda: ([1, 2, 3],), {}),
    (itertools.accumulate, lambda: ([],), {}),
    (itertools.accumulate, lambda: ([1, 2, 3], operator.mul), {"initial": 5}),
    (itertools.accumulate, lambda: ([], max), {"initial": 5}),
    (itertools.chain, lambda: ("ab", [1], ()), {}),
    (itertools.chain, lambda: (), {}),
    (itertools.chain, lambda: ("ab", 3), {}),
    (itertools.chain.from_iterable, lambda: (["ab", [1]],), {}),
    *[
        (function, lambda n=n, r=r: (range(n), r), {})
        for function in (
            itertools.combinations,
            itertools.combinations_with_replacement,
            itertools.permutations,
        )
        for n in range(5)
        for r in range(4)
    ],
    (itertools.permutations, lambda: ("abc",), {}),
    (itertools.compress, lambda: ("abcd", [1, 0, 1]), {}),
    (itertools.count, lambda: (), {}),
    (itertools.count, lambda: (2.5,), {"step": -1}),
    (itertools.cycle, lambda: ("abc",), {}),
    (itertools.cycle, lambda: ((),), {}),
    (itertools.dropwhile, lambda: (lambda n: n < 3, [1, 2, 3, 1]), {}),
    (itertools.takewhile, lambda: (lambda n: n < 3, [1, 2, 3, 1]), {}),
    (itertools.filterfalse, lambda: (lambda n: n % 2, range(5)), {}),
    (itertools.filterfalse, lambda: (None, [0, 1, ""]), {}),
    (itertools.groupby, lambda: ("aabbba",), {}),
    (itertools.groupby, lambda: (range(7), lambda n: n // 3), {}),
    (itertools.groupby, lambda: ((),), {}),
    *[
        (itertools.islice, lambda args=args: (iter(range(10)), *args), {})
        for args in [
            (3,),
            (0,),
            (20,),
            (None,),
            (2, 5),
            (5, 2),
            (1, None),
            (0, 8, 3),
            (None, None, 4),
        ]
    ],
    (itertools.pairwise, lambda: ("abc",), {}),
    (itertools.pairwise, lambda: ("a",), {}),
    (itertools.product, lambda: ("ab", range(2)), {}),
    (itertools.product, lambda: ("ab",), {"repeat": 2}),
    (itertools.product, lambda: ("ab", ()), {}),
    (itertools.product, lambda: (), {}),
    (itertools.product, lambda: ("ab",), {"repeat": 0}),
    (itertools.repeat, lambda: (1, 3), {}),
    (itertools.repeat, lambda: (1,), {"times": -2}),
    (itertools.repeat, lambda: (1,), {}),
    (itertools.starmap, lambda: (pow, [(2, 3), (3, 2)]), {}),
    (itertools.starmap, lambda: (pow, [(2, 3), 3]), {}),
    (itertools.tee, lambda: (iter("abc"), 3), {}),
    (itertools.tee, lambda: ("abc", 0), {}),
    (itertools.zip_longest, lambda: ("abc", [1], ()), {}),
    (itertools.zip_longest, lambda: ("abc", [1]), {"fillvalue": 0}),
    (itertools.zip_longest, lambda: (), {}),
    (map, lambda: (abs, [-1, 2]), {}),
    (map, lambda: (pow, [1, 2, 3], [3, 2]), {}),
    *[
        (zip, lambda args=args: tuple(iter(range(n)) for n in args), {"strict": True})
        for args in [(), (2,), (2, 2), (1, 2), (2, 1), (2, 2, 1), (1, 1, 2), (1, 2, 1), (0, 0, 3)]
    ],
    (operator.countOf, lambda: ([1, 2, 1, 1.0], 1), {}),
    (operator.indexOf, lambda: ([1, 2, 1], 2), {}),
    (operator.indexOf, lambda: ([1, 2, 1], 3), {}),
    *[
        (function, lambda x=x: ([1, 2, 2, 3], x), {})
        for function in (bisect.bisect_left, bisect.bisect_right)
        for x in (0, 1, 2, 2.5, 3, 4)
    ],
    (bisect.bisect_left, lambda: ([1, 2, 2, 3], 2, -1), {}),
    (bisect.bisect_left, lambda: ([3, 2, 1], -2, 0, 2), {"key": operator.neg}),
]
if sys.version_info >= (3, 12):
    ITERTOOLS += [(itertools.batched, lambda n=n: (range(n), 3), {}) for n in (0, 1, 3, 7)]
if sys.version_info >= (3, 13):
    ITERTOOLS += [(itertools.batched, lambda n=n: (range(n), 3), {"strict": True}) for n in (3, 7)]


@pytest.mark.parametrize(
    "original, args, kwargs", ITERTOOLS, ids=lambda part: getattr(part, "__name__", "")
)
def test_as_the_original(original, args, kwargs):
    assert outcome(TABLE[original], args, kwargs) == outcome(original, args, kwargs)


def test_all_of_itertools_is_there():
    names = {name for name in dir(itertools) if name[0] != "_"}
    assert {getattr(itertools, name) for name in names} <= TABLE.keys()


def test_nothing_is_taken_beyond_the_end():
    for args in [(3,), (1, 6, 2), (0, 5, 3), (4, 2)]:
        mine, theirs = iter(range(10)), iter(range(10))
        a = list(TABLE[itertools.islice](mine, *args))
        b = list(itertools.islice(theirs, *args))
        assert a == b and list(mine) == list(theirs)


@pytest.mark.parametrize("seed", range(5))
def test_heaps_are_the_very_same(seed):
    draw = random.Random(seed)
    numbers = [draw.randrange(20) for _ in range(30)]
    mine, theirs = list(numbers), list(numbers)
    TABLE[heapq.heapify](mine)
    heapq.heapify(theirs)
    assert mine == theirs
    for _ in range(60):
        name = draw.choice(["heappush", "heappop", "heapreplace", "heappushpop"])
        original = getattr(heapq, name)
        args = () if name == "heappop" else (draw.randrange(20),)
        if len(mine) < 2:
            original, args = heapq.heappush, (draw.randrange(20),)
        assert TABLE[original](mine, *args) == original(theirs, *args)
        assert mine == theirs


def test_each_original_is_found():
    for original, ours in TABLE.items():
        assert _C._decomposition(original) is ours, original
    assert _C._decomposition(len) is None


def test_operators_are_the_originals():
    pairs = [(6, 4), (2, 3)]
    for original, ours in TABLE.items():
        if getattr(original, "__module__", "") != "_operator" or original.__name__ == "call":
            continue
        for a, b in pairs:
            for args in [(a,), (a, b)]:
                assert outcome_type(ours, args) == outcome_type(original, args), original


def outcome_type(function, args):
    try:
        return function(*args)
    except Exception as error:
        return type(error)


FIRST_CALL = """
    import sys
    import numpy as np
    before = set(sys.modules)
    import functools, operator
    import pycompile

    def f(x):
        return np.where(x > 0, np.exp(-x).clip(0, 2), x.T) + x.max(axis=0)

    def g(x):
        return functools.reduce(operator.add, [x, x * 2, x * 3])

    x = np.arange(90000.0).reshape(300, 300) - 40000
    with np.errstate(over="ignore"):
        assert pycompile.compile(f)(x).tobytes() == f(x).tobytes()
    new = set(sys.modules) - before
    print(sorted(m for m in new if m.startswith(("pycompile.decomp", "numpy."))))
    h = pycompile.compile(g)
    assert h(x).tobytes() == g(x).tobytes()
    new = {m.rpartition(".")[2] for m in sys.modules if m.startswith("pycompile.decompositions.")}
    print(sorted(new), h.stats()["plans"])
"""


@pytest.mark.slow
def test_first_call_imports_what_it_needs_alone():
    code = textwrap.dedent(FIRST_CALL)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == "" and done.stdout.splitlines() == [
        "[]",
        "['functions', 'iteration', 'models'] 1",
    ]
