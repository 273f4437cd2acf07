"""Objects of the program: what CPython asks of them, and what they are when they leave a plan."""

import collections
import functools
import re

import numpy as np
import pytest
from differential import check

import pycompile

X = np.array([-0.75, -2.0, 2.5])


def counted(*shape):
    return np.arange(float(np.prod(shape))).reshape(shape) - 2.0


def test_methods_that_are_none_block_what_is_inherited():
    class Equal:
        def __eq__(self, other):
            return True

        def __add__(self, other):
            return 1

    class Blocked(Equal):
        __ne__ = None
        __iadd__ = None

    def f(x, left, right):
        if left != right:
            return x + 1
        return x * 2

    def g(x, left):
        left += 1
        return x * left

    check(f, X, Equal(), Equal(), captured=False)
    check(f, X, Equal(), Blocked(), captured=False)
    check(g, X, Equal(), captured=False)
    check(g, X, Blocked(), captured=False)


def test_a_pattern_names_an_attribute_twice():
    class Pair:
        __match_args__ = ("a", "a")
        a = 1

    def f(x, pair):
        match pair:
            case Pair(y, z):
                return x * y, z
        return x + 1

    check(f, X, Pair(), captured=False)


def test_what_an_iterator_of_the_program_returns():
    class Ends:
        def __iter__(self):
            return self

        def __next__(self):
            raise StopIteration(42)

    def f(x):
        def numbers():
            last = yield from Ends()
            yield last

        return [x * number for number in numbers()]

    check(f, X)


def test_a_range_backwards_is_a_range():
    def f(x):
        it = reversed(range(10, 20, 3))
        first = next(it)
        return x * first, it, list(reversed(range(0))), list(reversed(range(7, -7, -2)))

    check(f, X)


def test_a_wrapper_has_the_annotations_of_what_it_wraps():
    def f(x):
        def inner():
            return 1

        @functools.wraps(inner)
        def outer():
            return inner()

        return x * outer(), outer.__annotations__ is inner.__annotations__

    check(f, X, captured=False)


def test_a_cell_as_self():
    class Base:
        def method(self, x):
            return x + 1, super()

    compiled = pycompile.compile(Base.method)
    (cell,) = compiled.__closure__
    for function in (Base.method, compiled):
        with pytest.raises(TypeError):
            function(cell, X)


def test_a_length_hint_is_asked_for():
    asked = []

    class Walked:
        def __init__(self):
            self.left = 2

        def __iter__(self):
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            self.left -= 1
            return self.left

        def __length_hint__(self):
            asked.append(1)
            return 2

    def f(x):
        return x * len(list(Walked())), len(asked)

    compiled = pycompile.compile(f)
    f(X), compiled(X), compiled(X)
    assert len(asked) == 3


class Counted:
    """Says when it is asked for its length, which list() and its like do."""

    def __init__(self, length=2):
        self.length = length

    def __iter__(self):
        return iter([1, 2])

    def __len__(self):
        print("length")
        if self.length is None:
            raise TypeError("nobody sees this")
        if self.length == "none":
            raise ValueError("no length")
        return self.length


class CountedList(list):
    def __len__(self):
        print("length of a list")
        return 5


def extended(items):
    out = [0]
    out.extend(items)
    return out


def extended_in_place(items):
    out = [0]
    out += items
    return out


def star(*items):
    return items


@pytest.mark.parametrize(
    "items", [Counted(), Counted(None), Counted("none"), Counted(-1), CountedList([1, 2])]
)
@pytest.mark.parametrize(
    "take",
    [
        list,
        tuple,
        sorted,
        extended,
        extended_in_place,
        lambda items: [*items, 3],
        lambda items: star(*items),
        set,
        sum,
        lambda items: [item + 1 for item in items],
    ],
)
def test_a_length_is_asked_for_where_cpython_does(take, items):
    def f(x, items):
        y = x + 1
        return take(items), y * 2

    check(f, X, items, captured=False)


def test_a_class_gets_a_length_hint_later():
    class Walked:
        def __iter__(self):
            return iter([1, 2])

    asked = []

    def hint(self):
        asked.append(self)
        return 2

    def f(x, items):
        return x + 1, list(items)

    check(f, X, Walked(), whole=True)
    compiled = pycompile.compile(f)
    compiled(X, Walked())
    Walked.__length_hint__ = hint
    compiled(X, Walked())
    assert len(asked) == 1


def test_a_plan_keeps_no_bound_method_of_c_alive():
    import array
    import weakref

    class Held(array.array):
        pass

    def f(x, held):
        text = held.tobytes()
        return x + len(text)

    compiled = pycompile.compile(f)
    held = Held("d", [1.0, 2.0])
    for _ in range(3):
        compiled(X, held)
    gone = weakref.ref(held)
    del held
    assert gone() is None


def test_a_method_of_a_deque_whose_argument_breaks():
    def f(x):
        b = collections.deque([x], maxlen=2)
        c = collections.Counter("aba")
        push, common = b.append, c.most_common
        b.appendleft((x * 2, pycompile.graph_break())[0])
        push(x + 1)
        c.update(pycompile.graph_break() or "b")
        return list(b), common(1), c

    check(f, counted(4))


def test_a_member_that_is_null_is_no_attribute():
    import io
    import pickle

    def f(x, pickler):
        return x + hasattr(pickler, "dispatch_table")

    compiled = pycompile.compile(f)
    pickler = pickle.Pickler(io.BytesIO())
    for _ in range(2):
        assert np.array_equal(compiled(X, pickler), f(X, pickler))


def test_an_iterator_over_a_list_that_grew_in_the_plan():
    def f(x, found):
        for i in range(4):
            found.append(i)
        walked = iter(found)
        next(walked)
        return x + next(walked), list(map(int, walked)), walked

    def g(x, found):
        for i in range(4):
            found.append(i)
        walked = iter(found)
        return x + next(walked), walked

    check(f, X, [], captured=False)
    compiled = pycompile.compile(g)
    for _ in range(3):
        assert list(compiled(X, [])[1]) == [1, 2, 3]


def test_keys_of_comparisons_leave_with_what_they_compare():
    def f(x):
        make = functools.cmp_to_key(lambda a, b: b - a)
        keys = [make(i) for i in range(3)]
        return x + 1, keys, make

    compiled = pycompile.compile(f)
    for _ in range(3):
        _, keys, make = compiled(X)
        assert [key.obj for key in sorted(keys)] == [2, 1, 0]
        assert sorted([1, 3, 2], key=make) == [3, 2, 1]


NUMBERS = re.compile(r"(?P<fill>[*_])?(?P<width>\d+)?")


def test_what_a_pure_call_gives_is_a_new_dict_each_time():
    def parse(x, text):
        found = NUMBERS.match(text).groupdict()
        was = dict(found)
        found["fill"] = found["fill"] or " "
        found["seen"] = True
        return x + len(found), was, found

    for text in ("12", "12", "*3", "12"):
        check(parse, X, text, captured=False)


def test_what_a_pure_call_gives_is_a_new_iterator_each_time():
    def parts(x, text):
        return x, [found.group() for found in NUMBERS.finditer(text)]

    for _ in range(2):
        check(parts, X, "*1_2", captured=False)


class Told:
    """A key that tells of its hash and its comparisons."""

    def __init__(self, log, name):
        self.log, self.name = log, name

    def __hash__(self):
        self.log.append(("hash", self.name))
        if self.name == "none":
            raise ValueError("it has none")
        return hash((type(self), self.name[:1]))

    def __eq__(self, other):
        self.log.append((self.name, other.name))
        return isinstance(other, Told) and self.name == other.name


def asked(x, log, key):
    names = {Told(log, "a"), key, Told(log, "a"), key}
    names.discard(Told(log, "b"))
    return len(names), Told(log, "ab") in names, key in names, [n.name for n in names], x + 1


def joined(x, log, key):
    a, b = {Told(log, "a"), Told(log, "b")}, {Told(log, "b"), Told(log, "bc")}
    return len(a | b), (a & b).pop().name, a == b, a <= a | b, x + 1


def changed_later(x, log, key):
    key = Told(log, "a")
    keys = {key}
    key.name = "b"
    return key in keys, Told(log, "a") in keys, x + 1


def raised(x, log, key):
    keys = {key}
    try:
        keys.add(Told(log, "none"))
    except ValueError as error:
        return error.args, len(keys), x + 1


def half_done(x, log, key):
    keys = {key}
    try:
        keys.update([Told(log, "b"), Told(log, "none")])
    except ValueError:
        return len(keys), x + 1


def half_done_outside(x, log, key):
    keys = log[0]
    try:
        keys.update([4, []])
    except TypeError:
        return sorted(keys), x + 1


def leaving(x, log, key):
    y = x + 1
    return y, {Told(log, "a"), Told(log, "ab"), Told(log, "ab")}


def into_one_outside(x, log, key):
    log[0].add(Told(log, "a"))
    return x + 1, len(log[0])


@pytest.mark.parametrize("f", (asked, joined, changed_later, raised), ids=lambda f: f.__name__)
def test_entries_of_sets_with_their_own_hash(f):
    log = []
    check(f, X, log, Told(log, "k"), whole=True)


@pytest.mark.parametrize(
    "f", (half_done, half_done_outside, leaving, into_one_outside), ids=lambda f: f.__name__
)
def test_sets_that_end_a_graph(f):
    log = [{1, 2}]
    check(f, X, log, Told(log, "k"), captured=False)


def test_a_key_is_itself_before_its_class_is_asked():
    class Never:
        def __hash__(self):
            return 7

        def __eq__(self, other):
            return False

    @pycompile.compile(mode="wait")
    def f(x, a, b):
        return b in {a}, b in [a], x + 1

    a, b = Never(), Never()
    for pair, expected in (((a, b), False), ((a, a), True), ((a, b), False)):
        assert f(X, *pair)[:2] == (expected, expected)
