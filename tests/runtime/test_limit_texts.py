"""What is said when a place has as many plans as it may have: what varies, and what to change."""

import re
import warnings

import numpy as np
import pytest
from varied_functions import ONES, Color, chosen, named, scaled, work

import pycompile


def limit_told(function, *calls, limit=1):
    """What is said when calls with these arguments meet the limit."""
    options = {"recompile_limit": limit, "plan_always": True}
    compiled = pycompile.compile(function, options=options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pycompile.PycompileWarning)
        for arguments in calls:
            compiled(*arguments)
    assert {item.category for item in caught} == {pycompile.PycompileWarning}
    for item in caught:
        lines = str(item.message).splitlines()
        assert len(lines) <= 3 and max(map(len, lines)) <= 100, lines
        for line in lines[1:]:
            said, cut = re.subn("…$", "", re.sub("^  (because|To have it compiled:) ", "", line))
            rest = item.message.details.partition(said)[2]
            assert said in item.message.details and (not cut or rest[0] in ";:, "), lines
    return "\n".join(item.message.details for item in caught)


def field_of_class(x, e):
    return np.tanh(x) * e.k


def test_of_two_of_one_name_one_is_another():
    def made(v):
        class Row:
            k = v

        return Row()

    told = limit_told(field_of_class, *((ONES, made(k)) for k in range(4)))
    assert "type(e) is Row, now another Row" in told


def element(x, i):
    return np.sqrt(np.abs(x[i : i + 2])) * 2 + x[i]


def added(x, n):
    return np.sqrt(x) * 2 + n


def applied(x, function):
    return function(x) * 2 + 1


def selected(x, n):
    y = x[list(range(n))]
    id(y)
    return np.sqrt(y) * 2 + 1


MANY = set(range(100))


def filled(*numbers):
    """A set whose table shows in which order it was filled, where the numbers' hashes collide."""
    entries = set()
    for number in numbers:
        entries.add(number)
    return entries


class Strange:
    def __repr__(self):
        raise AssertionError("no code of the program is run for a message")


STRANGE = Strange()


class Rates:
    rate = 0.5


RATE = 0.5


def sharing(state):
    def total():
        return sum(state.values())

    return total


def shared(x, f):
    return np.sqrt(x) + f()


def cast(x, s):
    return np.sqrt(x) * 2 if s == "x" * 90 else np.sqrt(x).astype("f4" if type(s) is str else s) + 1


@pytest.mark.parametrize(
    ("function", "calls", "because", "remedy"),
    [
        (work, [(ONES,), (np.float32(ONES),)], "x.dtype == float64, now float32", "cast to one dt"),
        (work, [(ONES,), (ONES[0],)], "x.ndim == 2, now 1", "one number of dimensions"),
        (work, [(ONES,), (ONES[:9],)], "x.shape[0] == 200, now 9", "pad arrays to a few shapes"),
        (
            work,
            [(ONES,), (ONES[:100:-1],)],
            "x.shape[0]",
            "if one is a selection x[mask], keep the shape",
        ),
        (work, [(ONES,), (np.ones((30, 200)).T,)], "c_contiguous", "np.ascontiguousarray"),
        (work, [(ONES,), (ONES[0, 0],)], "now np.float64(1.0)", "pass a plain array each time"),
        (
            work,
            [(ONES,), (ONES.astype(">f8"),)],
            "now an array of dtype >f8",
            "machine's byte order",
        ),
        (
            shared,
            [(ONES, sharing({1: 2.0})), (ONES, sharing({3: 2.0}))],
            "keys of state == (1,), now (3,)",
            "give it the same keys each time",
        ),
        (scaled, [(ONES, 1), (ONES, 5)], "n <= 3, now 5", "the same way at its branches"),
        (scaled, [(ONES, 5), (ONES, 1)], "n >= 4, now 1", "the same way at its branches"),
        (scaled, [(ONES, 1), (ONES, 2.0)], "type(n) is int, now float", "numbers of one type"),
        (added, [(ONES, 1), (ONES, 2**70)], "n fits 64 bits, now 11805", "that fit 64 bits"),
        (applied, [(ONES, np.mean), (ONES, np.median)], "function mean, now function med", "same"),
        (
            applied,
            [(ONES, lambda x: np.sqrt(x)), (ONES, lambda x: np.sqrt(x))],
            "<lambda>, now another function <lambda>",
            "made anew for each call, make once, outside",
        ),
        (chosen, [(ONES, {"b"}), (ONES, {"a"})], "s == {'b'}, now {'a'} (", "different values"),
        (chosen, [(ONES, {9, 10}), (ONES, {"a", 1})], "s == {9, 10}, now {'a', 1} (", "fewer"),
        (
            chosen,
            [(ONES, frozenset()), (ONES, frozenset("a"))],
            "ozenset(), now frozenset({'a'",
            "",
        ),
        (
            chosen,
            [(ONES, MANY), (ONES, {*MANY, "a"} - {7})],
            "now one with {'a'} and without {7}",
            "",
        ),
        (chosen, [(ONES, filled(8, 16)), (ONES, filled(16, 8))], "now one that was filled in", ""),
        (chosen, [(ONES, {"b": 1}), (ONES, {"a": 1, "c": 2})], "== ('b',), now ('a', 'c')", "keys"),
        (chosen, [(ONES, {"b": 1}), (ONES, {STRANGE: 2})], "== ('b',), now 1 other (", "keys"),
        (
            named,
            [(ONES, Color.RED), (ONES, Color.BLUE)],
            "s is Color.RED, now Color.BLUE (",
            "fewer members",
        ),
        (named, [(ONES, Color.RED), (ONES, [1, 2])], "s is Color.RED, now a list of 2 (", "same"),
        (named, [(ONES, Color.RED), (ONES, ONES)], "now an array float64[200, 30] (", "same"),
        (named, [(ONES, ONES), (ONES, np.array(["a"]))], "now an array of dtype <U1 (", "plain"),
        (named, [(ONES, ...), (ONES, Color.BLUE)], "s is Ellipsis, now Color.BLUE (", "same"),
        (
            cast,
            [(ONES, np.dtype("f4")), (ONES, np.dtype("i4"))],
            "32'), now dtype('int32')",
            "same",
        ),
        (
            cast,
            [(ONES, "x" * 90), (ONES, "x" * 91)],
            "..., now another that begins alike (",
            "fewer",
        ),
    ],
)
def test_limit_says_what_varies_and_what_to_change(function, calls, because, remedy):
    told = limit_told(function, *calls)
    assert "was compiled 1 time, and 1 plan of this place has not paid" in told
    reason, _, remedies = told.partition(". To have it compiled: ")
    assert because in reason and remedy in remedies, told
    assert ("pad arrays" in told) == ("shape[" in told)
    assert "9223372036854775" not in told and "object>" not in told


@pytest.mark.parametrize(
    ("function", "because"),
    [
        (lambda x: np.sqrt(x) * Rates.rate, "Rates.rate is 0.5, now 0.25"),
        (lambda x: np.sqrt(x) * RATE, "global RATE is 0.5, now 0.25"),
    ],
)
def test_limit_on_a_number_of_a_class_or_module(function, because, monkeypatch):
    compiled = pycompile.compile(function, options={"recompile_limit": 1, "plan_always": True})
    compiled(ONES)
    monkeypatch.setattr(Rates, "rate", 0.25)
    monkeypatch.setitem(globals(), "RATE", 0.25)
    with pytest.warns(pycompile.PycompileWarning, match="or pass it as an argument") as told:
        compiled(ONES)
    assert because in told[0].message.details


def rolled_twice(g):
    return np.roll(g, 1, 0) + np.roll(g, -1, 1)


def test_limit_names_a_line_of_the_program():
    told = limit_told(rolled_twice, (np.ones((64, 64)),), (np.ones((128, 128)),))
    line = rolled_twice.__code__.co_firstlineno + 1
    assert "g.shape[0] == 64, now 128; g.shape[1]" in told
    assert told.count(f" == 64, now 128 (test_limit_texts.py:{line})") == 1


def test_limit_of_a_selection_made_inside():
    first, told = limit_told(selected, *((np.ones(3000), n) for n in (2000, 2001))).splitlines()
    assert "n == 2000, now 2001" in first
    assert "y.shape[0] == 2000, now 2001" in told and "pad arrays" not in told
    assert "To have it compiled: keep its shape: np.where(mask, x, 0)" in told


def at_once(P):
    for i, p in enumerate(P):
        r = np.sqrt(p)[i : i + 5] * 2
        id(r)


def nested(P):
    for name, (i, p) in zip("abcdef", enumerate(P)):
        r = np.sqrt(p)[i:] * 2
        id(name)


def no_local(P):
    k = {}
    for k["i"], p in enumerate(P):
        r = np.sqrt(p)[k["i"] :] * 2
        id(r)


def in_a_list(P):
    return [np.sqrt(p)[i:] * id(p) for i, p in enumerate(map(abs, P))]


def whole_item(P):
    for t in enumerate(P):
        r = np.sqrt(t[1])[t[0] :] * 2
        id(r)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (at_once, "i == "),
        (nested, "name == "),
        (nested, "i == "),
        (no_local, "(index of enumerate(P)) == "),
        (in_a_list, "i == "),
        (whole_item, "t[0] == "),
    ],
)
def test_guards_name_what_a_loop_takes(function, told):
    ones = [np.ones(30000) + i for i in range(5)]
    guards = pycompile.explain(function, options={"plan_always": True})(ones).guards
    assert any(guard.startswith(told) for guard in guards), guards
    assert not any("a value of line" in guard for guard in guards), guards


def test_limit_tells_each_value_once():
    def rolled(x, name, n):
        return np.roll(np.sqrt(x), 1) * 2 + len(name.upper()) + (n if n else 3)

    calls = [(ONES, "a", 1), (ONES, "a", 1.0), (ONES, "b", 1), (ONES, "b", 1.0), (ONES, "c", 1)]
    told = limit_told(rolled, *calls, limit=4)
    values = told.partition("; because name == ")[2].partition(", now 'c'")[0].split(", ")
    assert sorted(values) == ["'a'", "'b'"], told
    assert "; type(n) is float, now int" in told


def two_arguments(x, n, name, flag):
    y = np.roll(np.sqrt(x), n) * 2 + len(name.upper())
    return y if flag else y + 1


def test_limit_names_all_that_differed():
    """The plan that was hit last differs from the call in `flag` alone, the others in more."""
    calls = [(ONES, n, f"n{n}", True) for n in range(1, 6)] + [(ONES, 9, "n9", True)]
    calls += [(ONES[:9], 9, "n9", False), (ONES[:9, :7], 9, "n9", True)]
    told = limit_told(two_arguments, *calls, limit=7)
    reason, _, remedies = told.partition(". To have it compiled: ")
    assert "name == 'n5', 'n4', 'n3', 'n2', 'n1', now 'n9'; " in reason
    assert "x.shape[0] == 200, now 9; n == 1, now 9 (" in reason  # later plans take any n
    assert "x.shape[1] == 30, now 7 (" in reason
    assert "flag == False, now True (" in reason
    assert "compute with it" in remedies and "fewer texts" in remedies


@pytest.mark.usefixtures("a_plan_for_each_shape")
@pytest.mark.slow
def test_a_fact_of_several_plans_is_counted_once():
    def all_of(*arrays):
        total = np.sqrt(arrays[0]).sum()
        for x in arrays:
            total = total + (x * 2).sum()
        return total

    calls = [tuple(np.ones(3 + n) for _ in range(24)) for n in range(10)]
    told = limit_told(all_of, *calls, limit=8)
    assert told.count("shape[0] ==") == 5 and "; and 19 more. To have it" in told, told
    assert told.count("test_limit_texts.py:") == 3, told  # the function's, and two of the facts'


def test_a_warning_is_shorter_than_a_screen():
    """Whatever varies: three arguments in dtype, rank and sizes, and a number."""

    def all_of(x, y, z, n):
        return np.sqrt(x + y * z) * n + np.abs(x) - y / 3

    calls = [
        tuple(np.ones(shape, dtype) for dtype in (first, "f8", first)) + (n,)
        for shape in [(3,), (4, 3), (5, 4, 3), (200, 7)]
        for first in ("f4", "i8", "c16", "u1")
        for n in (1, 2.5)
    ]
    told = limit_told(all_of, *calls, limit=8)
    assert len(told) <= 720, told


def test_limit_counts_as_stats_do():
    def breaks_first(x, name):
        y = np.sqrt(x) * 2
        id(y)
        return np.sqrt(y) * 2 + len(name.upper())

    compiled = pycompile.compile(breaks_first, options={"recompile_limit": 3, "plan_always": True})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pycompile.PycompileWarning)
        for n in range(1, 6):
            compiled(ONES, f"n{n}")
    (told,) = [item.message.details for item in caught]
    compiles = compiled.stats()["compiles"]
    assert compiles > 3
    assert f"was compiled {compiles} times, and 3 plans of this place have not paid yet" in told


def shouts(x, name):
    return (np.sqrt(x) + 1) * len(name.upper())


def each_of(xs):
    return [(np.sqrt(x) + 1).mean() for x in xs]


def numbered(xs):
    out = []
    for _i, x in enumerate(xs):
        id(x)
        out.append(np.sqrt(x) * 2)
    return out


def sums(x):
    y = x + x
    id(y)
    return np.sqrt(y) * 2


@pytest.mark.parametrize(
    ("function", "calls", "says", "not_said"),
    [
        (shouts, [(ONES, "a"), (ONES, "b")], "texts", "compute with it"),
        (numbered, [([np.ones(n), np.ones(n)],) for n in (60, 70)], "the loop goes", "masks"),
        (each_of, [([np.ones(n)],) for n in (60, 70)], "a few shapes", "masks"),
        (sums, [(np.ones(n),) for n in (60, 70)], "of arguments of a few shapes", "masks"),
        (scaled, [(ONES, 1), (ONES, 5)], "branches", "texts"),
    ],
)
def test_remedies_fit_what_varies(function, calls, says, not_said):
    for line in limit_told(function, *calls).splitlines():
        assert not_said not in line, line
    assert says in line, line


def test_limit_under_fullgraph_gives_one_remedy():
    compiled = pycompile.compile(
        work, fullgraph=True, options={"recompile_limit": 1, "plan_always": True}
    )
    compiled(ONES)
    with pytest.raises(pycompile.GraphBreakError, match="PC0047") as raised:
        compiled(np.float32(ONES))
    told = str(raised.value)
    assert "1 plan; because x.dtype" in told and "cast to one dtype" in told
    assert "x.astype" not in told  # whatever the variable is called
    assert "fewer shapes" not in told and "kinds of arguments" not in told


def test_functions_of_libraries_are_told_by_name():
    def apply(x, statistic):
        return statistic(x, axis=1) * 2

    compiled = pycompile.compile(apply, options={"recompile_limit": 1, "plan_always": True})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for statistic in (np.mean, np.median, np.add.reduce, np.sum):
            compiled(np.ones((3, 4)), statistic)
    told = "".join(str(item.message) for item in caught)
    assert "object>" not in told and "function mean" in told, told
