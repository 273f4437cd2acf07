"""Containers of classes of their own that come from outside: order of changes, aliases, errors."""

import collections
import copy
import os
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import pytest
from differential import check

import pycompile

X = np.linspace(-2.0, 3.0, 6)


def two_queues(x, d, e):
    d.append(x * 2)
    e.append(x * 3)
    d.append(float(e.popleft()))
    return x + d[0], d is e


def two_dicts(x, d, e):
    d["a"] += 1
    e["a"] *= 3
    return x * d["a"], d is e, list(d)


def test_aliases_are_one_object():
    one, other = deque([1.0, 2.0, 3.0]), deque([5.0, 6.0])
    check(two_queues, X, one, one, also=((X, one, other), (X, other, other)))
    check(two_queues, X, one, other, also=((X, one, one),))
    for make in (OrderedDict, Counter, lambda **items: defaultdict(int, **items)):
        one, other = make(a=1, b=2), make(a=4, b=3)
        check(two_dicts, X, one, other, also=((X, one, one), (X, other, one)))


def test_the_same_values_in_and_beside_it():
    def function(x, d):
        d["x"][0] = 9.0
        d["l"].append(d)
        return x * 2 + d["x"], d["l"][-1] is d

    check(function, X, defaultdict(list, x=X, l=[1]), whole=True)


def test_errors_come_from_the_users_line():
    def key(x, d):
        y = np.exp(x) * 2
        d["new"] = y
        return d["nothing"] + y

    def index(x, d):
        y = np.exp(x) * 2
        d.append(1.0)
        return d[17] + y

    def empty(x, d):
        y = np.exp(x) * 2
        d.clear()
        return d.popleft() + y

    for d in (OrderedDict(a=1), defaultdict(None, a=1)):
        check(key, X, d)
    check(index, X, deque([1.0]))
    check(empty, X, deque([1.0]))


def test_changes_before_and_behind_a_break():
    def function(x, d, e):
        d.append(x * 2)
        e["k"] = len(d)
        e["z"] += 2
        os.getpid()
        d.popleft()
        e["l"] = len(d)
        return d[-1] + e["k"]

    check(function, X, deque([1.0, 2.0]), defaultdict(int), breaks=["PC0002"])
    check(function, X, deque([1.0, 2.0], 2), Counter("ab"), breaks=["PC0002"])


def test_views_and_iterators_leave():
    def function(x, d):
        keys, items, walk = d.keys(), d.items(), iter(d)
        next(walk)
        os.getpid()
        return x * 2, list(keys), list(items), list(walk), type(keys)

    for d in (defaultdict(int, a=1, b=2), Counter(a=1, b=2), OrderedDict(a=1, b=2)):
        check(function, X, d, captured=False)


def test_a_change_while_it_is_walked():
    def of_dict(x, d):
        for k in d:
            d[k + "z"] = 1
        return x * 2

    def of_queue(x, d):
        y = x * 2
        for v in d:
            d.append(v)
        return y

    check(of_dict, X, defaultdict(int, a=1), captured=False)
    check(of_dict, X, OrderedDict(a=1), captured=False)
    check(of_queue, X, deque([1, 2]), captured=False)


def walks(name, d):
    """What `name` says about iterators of d, or the error."""
    walk = reversed(d) if name.startswith("back") else iter(d)
    if name.endswith("append"):
        d.append(1.0)
    elif name.endswith("rotate"):
        d.rotate(0)
    elif name.endswith("round"):
        d.rotate(len(d))
    elif name.endswith("clear"):
        d.clear()
    elif name.endswith("none"):
        d.extend(())
    else:
        return [d.pop() for _ in walk]
    return list(walk)


@pytest.mark.parametrize("way", ["", "back "])
@pytest.mark.parametrize("how", ["append", "rotate", "round", "clear", "none", "drain"])
def test_walks_of_a_queue_that_changes(way, how):
    def function(x, d):
        y = x * 2
        try:
            seen = walks(way + how, d)
        except RuntimeError as error:
            seen = str(error)
        return y, seen, len(d)

    for values in ([], [1.0], [1.0, 2.0]):
        for most in (None, 0, 2):
            check(function, X, deque(values, most), captured=False)
            own = [deque(values, most)]
            check(lambda x, own=own: function(x, own[0].copy()), X, captured=False)


def test_a_change_in_the_last_turn():
    def function(x, d):
        y = x * 2
        for v in d:
            d.popleft()
            y = y + v
        return y

    check(function, X, deque([1.0]), captured=False)
    check(lambda x: function(x, deque([1.0])), X, captured=False)


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0], []])
def test_a_queue_walked_around_a_plan(values):
    def walked(d, call):
        walk = iter(d)
        call(X, d)
        try:
            return list(walk)
        except RuntimeError as error:
            return str(error)

    for change in (
        lambda x, d: (x * 2, d.rotate(0)),
        lambda x, d: (x * 2, d.rotate(4)),
        lambda x, d: (x * 2, d.append(1.0)),
        lambda x, d: (x * 2, d.clear()),
    ):
        compiled = pycompile.compile(change)
        for _ in range(2):
            d, e = deque(values, len(values)), deque(values, len(values))
            assert walked(d, compiled) == walked(e, change)


def test_keys_that_are_equal():
    def function(x, d):
        d[True] = 2.0
        d.move_to_end(1.0)
        d.move_to_end(True, last=False)
        return x * d[1], list(d)

    check(function, X, OrderedDict([(1, 1.0), ("a", 2.0)]), whole=True)


def test_plan_is_left_before_any_effect():
    def function(x, d):
        d.append(float(x.sum()))
        d["nothing" if x.sum() > 100 else 0] = 2.0
        return np.log(x) * 2

    with np.errstate(all="warn"):
        check(function, X, deque([1.0]), captured=False)
        check(function, np.abs(X) + 1, deque([1.0]), captured=False)


def test_one_that_grows_at_each_call():
    def function(x, d, log):
        d.append(float(x[0]))
        log["loss"].append(float(x.sum()))
        return x * 2 + len(log)

    compiled = pycompile.compile(function)
    d, log, e, mine = deque(), defaultdict(list), deque(), defaultdict(list)
    for i in range(20):
        np.testing.assert_array_equal(compiled(X + i, d, log), function(X + i, e, mine))
    assert d == e and log == mine
    assert compiled.stats()["plan_runs"] >= 15


@pytest.mark.slow
def test_window_fills():
    def function(x, window):
        window.append(float(x.sum()))
        return x * (sum(window) / len(window))

    compiled = pycompile.compile(function)
    mine, yours = deque(maxlen=3), deque(maxlen=3)
    for i in range(12):
        np.testing.assert_array_equal(compiled(X + i, mine), function(X + i, yours))
        if i == 5:
            before = compiled.stats()["breaks"]
    assert mine == yours and compiled.stats()["breaks"] == before


def test_factory_is_a_method_of_the_dict():
    def function(x, d):
        return x * 2, d["a"], d.get("b")

    def made():
        d = defaultdict(None, a=1.0)
        d.default_factory = d.copy
        return d

    check(function, X, made(), captured=False)


def test_classes_derived_from_them_are_left_alone():
    class Words(Counter):
        def __missing__(self, key):
            return 7

    class Queue(deque):
        def append(self, value):
            super().append(value + 1)

    class Tree(defaultdict):
        def __getitem__(self, key):
            return 3.0

    def words(x, c):
        c["b"] += 1
        return x * c["none"], c

    def queue(x, d):
        d.append(1.0)
        return x * 2, list(d)

    def tree(x, d):
        return x * d["nothing"], len(d)

    check(words, X, Words("a"), captured=False)
    check(queue, X, Queue([1.0]), captured=False)
    check(tree, X, Tree(int, a=1), captured=False)


def test_models_meet_objects_of_derived_classes():
    class Words(Counter):
        pass

    class Queue(deque):
        pass

    def function(x, c, w, d, q):
        try:
            c.update(w)
            both = c + w, c == w, d == q, OrderedDict(w)
        except AttributeError:
            both = None
        return x * 2, both, c

    tagged = Counter("ab")
    tagged.tag = 1
    for other in (Words("ab"), tagged):
        args = X, Counter("a"), other, deque([1.0]), Queue([1.0])
        check(function, *args, captured=False)


@pytest.mark.parametrize("big", [False, True])
def test_keys_of_other_kinds(big):
    class Key:
        pass

    def function(x, d, key):
        return x * 2, d[key], len(d)

    key = Key()
    d = collections.OrderedDict((i, i) for i in range(3000 if big else 2))
    d[key] = 5.0

    check(lambda x: function(x, d, key), X, captured=False)


# ---- classes derived from builtin containers ----


class Vec(list):
    pass


class Conf(dict):
    pass


class Walked(list):
    def __iter__(self):
        return iter([5.0])


def test_derived_aliases_are_one_object():
    def function(x, a, b):
        a.append(1.0)
        b.append(x * 2)
        a.tag = len(b)
        return a is b, len(a)

    def of_dicts(x, a, b):
        a["k"] = x * 2
        b.tag = 1
        b["k"] = 3
        return a is b, a["k"]

    one, other = Vec([1.0]), Vec([1.0])
    check(function, X, one, one, also=((X, one, other),))
    check(function, X, one, other, also=((X, one, one),))
    one, other = Conf(a=1.0), Conf(a=1.0)
    check(of_dicts, X, one, one, also=((X, one, other),))
    check(of_dicts, X, one, other, also=((X, one, one),))


def test_derived_errors_come_from_the_users_line():
    def index(x, v, d):
        y = np.exp(x) * 2
        v.append(1.0)
        return v[17] + y

    def key(x, v, d):
        y = np.exp(x) * 2
        d["new"] = 1
        return d["nothing"] + y

    def value(x, v, d):
        y = np.exp(x) * 2
        v.remove(17)
        return y

    for function in (index, key, value):
        check(function, X, Vec([1.0]), Conf(a=1.0))


def test_derived_across_a_break():
    def function(x, v, d):
        made, table = Vec([x * 2]), Conf(a=1)
        v.append(made)
        d["t"] = table
        push, find, items = v.append, d.get, table.items()
        os.getpid()
        push(find("t"))
        table["b"] = 2
        made.append(3.0)
        kinds = type(push), type(find), type(v.__len__)
        return x * 2, list(items), kinds, made, table

    check(function, X, Vec(), Conf())


def test_derived_walked_across_a_break():
    def function(x, v):
        total = 0.0
        for item in v:
            os.getpid()
            total += item
        made = Vec([1.0, 2.0])
        for item in made:
            os.getpid()
            total += item
        return x * total

    check(function, X, Vec([1.0, 2.0, 3.0]), captured=False)
    check(function, X, Walked([1.0, 2.0, 3.0]), captured=False)


def test_operators_walk_what_has_an_iter_of_its_own():
    def function(x, v):
        made = [0.0]
        made += v
        made.extend(v)
        again = [1.0, *v] + v
        return x * 2, made, again, tuple(v), list.__add__([], v)

    check(function, X, Walked([1.0, 2.0]), captured=False)
    check(function, X, Vec([1.0, 2.0]), captured=False)


def test_copies_keep_what_they_hold():
    def function(x, v, d):
        return x * 2, copy.copy(v), copy.deepcopy(d), copy.copy(d)

    d = Conf(a=[1.0])
    d.tag = "t"
    check(function, X, Vec([1.0, 2.0]), d, captured=False)


def test_derived_list_that_grows():
    def function(x, v):
        v.append(float(x[0]))
        return x * 2 + v[-1]

    compiled = pycompile.compile(function)
    mine, yours = Vec(), Vec()
    for i in range(15):
        np.testing.assert_array_equal(compiled(X + i, mine), function(X + i, yours))
    assert list(mine) == list(yours)


def counts(x):
    c = Counter("aab")
    c.update("z")
    return x * 2 + c["q"], c


def counts_in(x, c):
    c.update("z")
    c["k"] = 3
    return x * 2 + c["q"], c.total(), len(c)


PATCHES = {
    "__missing__": lambda self, key: 77,
    "update": lambda self, *args, **kwds: None,
    "__setitem__": lambda self, key, value: None,
    "__len__": lambda self: 99,
    "total": property(lambda self: lambda: 5),
    "get": lambda self, key, default=None: 8,
}


@pytest.mark.parametrize("name", PATCHES)
def test_a_counter_whose_class_is_changed(monkeypatch, name):
    compiled, other = pycompile.compile(counts), pycompile.compile(counts_in)

    def compare():
        for _ in range(3):
            assert list(map(repr, compiled(X))) == list(map(repr, counts(X)))
            c, d = Counter("ab"), Counter("ab")
            assert list(map(repr, other(X, c))) == list(map(repr, counts_in(X, d)))
            assert dict(c) == dict(d)

    compare()
    assert compiled.stats()["breaks"] == other.stats()["breaks"] == 0
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(Counter, name, PATCHES[name], raising=False)
            compare()
        compare()
    assert compiled.stats()["breaks"] == other.stats()["breaks"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", PATCHES)
def test_a_counter_whose_class_was_changed_before(name):
    source = f"""
from collections import Counter
import numpy as np, pycompile, test_boxes
Counter.{name} = test_boxes.PATCHES["{name}"]
for function, make in ((test_boxes.counts, lambda: ()), (test_boxes.counts_in, lambda: (Counter("ab"),))):
    compiled = pycompile.compile(function)
    for _ in range(3):
        assert repr(compiled(test_boxes.X, *make())) == repr(function(test_boxes.X, *make()))
"""
    here = os.path.dirname(__file__)
    paths = os.pathsep.join([here, os.path.dirname(here), *sys.path])
    run = [sys.executable, "-c", source]
    assert subprocess.run(run, env={**os.environ, "PYTHONPATH": paths}).returncode == 0


def test_an_attribute_that_a_counter_gets_later(monkeypatch):
    def function(x, c):
        return x * 2, getattr(c, "unit", None), hasattr(c, "scale")

    compiled = pycompile.compile(function)
    for value in (None, 3, 4):
        if value is not None:
            monkeypatch.setattr(Counter, "unit", value, raising=False)
            monkeypatch.setattr(Counter, "scale", value, raising=False)
        for _ in range(2):
            c = Counter("ab")
            assert repr(compiled(X, c)) == repr(function(X, c))


def test_guards_of_keys_run_no_code():
    hashed = []

    class Key:
        def __init__(self, name):
            self.name = name

        def __hash__(self):
            hashed.append(self.name)
            return hash(self.name)

        def __eq__(self, other):
            hashed.append("eq")
            return self is other

    class Text(str):
        def __hash__(self):
            hashed.append("text")
            return str.__hash__(self)

    def function(x, d):
        total = 0.0
        for value in d.values():
            total += value
        return x * total

    compiled = pycompile.compile(function)
    for make in (OrderedDict, dict, lambda items: defaultdict(int, items)):
        for _ in range(3):
            compiled(X, make([("a", 1.0), ("b", 2.0)]))
        for keys in ([Key("k"), Key("l")], ["a", Key("l")], [Text("a"), "b"], [(Key("k"),), "b"]):
            d = make(zip(keys, (1.0, 2.0), strict=True))
            hashed.clear()
            function(X, d)
            plain = list(hashed)
            hashed.clear()
            compiled(X, d)
            assert hashed == plain


class Noisy:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def __del__(self):
        self.log.append(self.name)


class Quiet:
    def __init__(self, log, name):
        self.log, self.name = log, name


def put_first(x, d, log, key):
    y = x * 2
    d[key] = 3
    return y, len(log)


def delete_first(x, d, log, key):
    y = x * 2
    del d[key]
    return y, len(log)


def pop_last(x, d, log, key):
    y = x * 2
    d.pop()
    return y, len(log)


def pop_key(x, d, log, key):
    y = x * 2
    d.pop(key)
    return y, len(log)


def pop_left(x, d, log, key):
    y = x * 2
    d.popleft()
    return y, len(log)


def pop_item(x, d, log, key):
    y = x * 2
    d.popitem()
    return y, len(log)


def add_to_full(x, d, log, key):
    y = x * 2
    d.append(1)
    return y, len(log)


def clear_all(x, d, log, key):
    y = x * 2
    d.clear()
    return y, len(log)


def replace_all(x, d, log, key):
    y = x * 2
    d[:] = []
    return y, len(log)


def remove_one(x, d, log, key):
    y = x * 2
    d.remove(d[0])
    return y, len(log)


@pytest.mark.parametrize(
    "kind, functions",
    [
        ("list", (put_first, delete_first, pop_last, pop_key, clear_all, replace_all, remove_one)),
        ("dict", (put_first, delete_first, pop_key, pop_item, clear_all)),
        ("ordered", (put_first, delete_first, pop_key, pop_item, clear_all)),
        (
            "deque",
            (put_first, delete_first, pop_last, pop_left, add_to_full, clear_all, remove_one),
        ),
    ],
)
@pytest.mark.parametrize("first", [Quiet, Noisy])
def test_items_that_run_code_when_they_go(kind, functions, first):
    def run(function, of):
        log = []
        items = [of(log, 1), of(log, 2)]
        d, key = items, 0
        if kind == "deque":
            d = deque(items, 2)
        elif kind != "list":
            d, key = (dict if kind == "dict" else OrderedDict)(zip("ab", items, strict=True)), "a"
        del items
        return repr(function(X, d, log, key)), list(log), len(d)

    for function in functions:
        compiled = pycompile.compile(function)
        for of in (first, Noisy, Quiet, Noisy, Noisy):
            assert run(compiled, of) == run(function, of), (function.__name__, of.__name__)


NAN, OTHER = float("nan"), float("nan")
HELD = [NAN, 1.0]


def test_members_that_are_nan():
    def inside(x, l, v):
        return x * 2, v in l, v in (v, 1.0), l[0] in l, l == l, l.count(v)

    def held(x):
        return x * 2, NAN in HELD, OTHER in HELD, HELD[0] in HELD

    for make in (list, deque, tuple):
        check(
            inside, X, make([NAN, 1.0]), NAN, also=((X, make([OTHER, 1.0]), NAN),), captured=False
        )
        check(
            inside, X, make([OTHER, 1.0]), NAN, also=((X, make([NAN, 1.0]), NAN),), captured=False
        )
    check(held, X, captured=False)


def test_keys_that_are_nan():
    def get(x, d, k):
        return x * 2, k in d, d.get(k)

    def own(x, a, b):
        d = {a: 1.0}
        return x * 2, b in d, b in {a}, b in [a], (b, 1) in {(a, 1): 2}

    for make in (OrderedDict, dict):
        for first, second in ((NAN, OTHER), (OTHER, NAN)):
            check(
                get,
                X,
                make([(NAN, 1)]),
                first,
                also=((X, make([(NAN, 1)]), second),),
                captured=False,
            )
    check(own, X, NAN, NAN, also=((X, NAN, OTHER),), captured=False)
    check(own, X, NAN, OTHER, also=((X, NAN, NAN),), captured=False)


def test_breaks_name_the_real_class():
    def function(x):
        return Counter(map(round, x.tolist())), x * 2

    text = pycompile.explain(function)(X).verbose()
    assert "call of 'Counter.__init__'" in text, text
