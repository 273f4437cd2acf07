"""What a program may change on classes, functions and cells between calls, and the order of effects."""

import numpy as np
import pytest
from differential import check

import pycompile

X = np.linspace(0.0, 1.0, 6)


def make_world():
    """Fresh classes and functions, with a function that uses all of them."""

    class Base:
        factor = 2.0

        def scale(self, x):
            return x * self.factor

        @property
        def shift(self):
            return 1.0

    class Thing(Base):
        def __init__(self):
            self.own = 3.0

        def scale(self, x):
            return super().scale(x) + self.own

    class Other(Thing):
        def scale(self, x):
            return x - 7

    cell = 5.0

    def set_cell(value):
        nonlocal cell
        cell = value

    def default(x, by=1.0, *, more=2.0):
        return x + by * more

    thing = Thing()

    def run(x):
        return thing.scale(x) + thing.shift + cell + default(x), hasattr(thing, "late")

    return run, Base, Thing, Other, thing, default, set_cell


CHANGES = {
    "class attribute": lambda w: setattr(w[1], "factor", 4.0),
    "class attribute on the subclass": lambda w: setattr(w[2], "factor", 5.0),
    "class attribute on the instance": lambda w: setattr(w[4], "factor", 6.0),
    "method": lambda w: setattr(w[1], "scale", lambda self, x: x * 9),
    "method on the instance": lambda w: setattr(w[4], "scale", lambda x: x * 11),
    "property": lambda w: setattr(w[1], "shift", property(lambda self: 8.0)),
    "property replaced by a value": lambda w: setattr(w[1], "shift", 9.0),
    "attribute of the instance": lambda w: setattr(w[4], "own", 10.0),
    "attribute of another type": lambda w: setattr(w[4], "own", np.arange(6.0)),
    "late attribute": lambda w: setattr(w[4], "late", 1),
    "late attribute of the class": lambda w: setattr(w[1], "late", 1),
    "__class__": lambda w: setattr(w[4], "__class__", w[3]),
    "__getattribute__": lambda w: setattr(
        w[2],
        "__getattribute__",
        lambda s, n: 4.0 if n == "shift" else object.__getattribute__(s, n),
    ),
    "__getattr__": lambda w: setattr(w[1], "__getattr__", lambda self, name: name),
    "__code__": lambda w: setattr(
        w[5], "__code__", (lambda x, by=1.0, *, more=2.0: x - by).__code__
    ),
    "__defaults__": lambda w: setattr(w[5], "__defaults__", (6.0,)),
    "__kwdefaults__": lambda w: setattr(w[5], "__kwdefaults__", {"more": 6.0}),
    "cell": lambda w: w[6](12.0),
    "__bases__": lambda w: setattr(
        w[2], "__bases__", (type("New", (), {"scale": lambda s, x: x, "shift": 0.0}),)
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_behind_our_back_is_seen(change):
    plain, compiled_world = make_world(), make_world()
    compiled = pycompile.compile(compiled_world[0])
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X)[0], plain[0](X)[0])
    assert compiled.stats()["plan_runs"] > 0
    CHANGES[change](plain)
    CHANGES[change](compiled_world)
    for _ in range(3):
        mine, yours = compiled(X), plain[0](X)
        np.testing.assert_array_equal(mine[0], yours[0])
        assert mine[1] == yours[1]


def test_stores_reach_the_very_object_in_order():
    class Bag:
        pass

    def fill(bag, x):
        bag.a = x + 1
        bag.b = bag.a * 2
        del bag.a
        bag.c = 3
        bag.a = bag.b
        return bag

    check(fill, Bag(), X, whole=True)
    bag = Bag()
    compiled = pycompile.compile(fill)
    for _ in range(3):
        assert compiled(bag, X) is bag
    assert list(vars(bag)) == ["b", "c", "a"]
    assert bag.a is bag.b


def test_two_names_for_one_object():
    class Node:
        def __init__(self, value):
            self.value = value

    def both(p, q, x):
        p.value = x + 1
        q.value = q.value * 2
        return p.value, q.value

    n = Node(X)
    check(both, n, n, X)
    check(both, Node(X), Node(X + 1), X)
    compiled = pycompile.compile(both)
    compiled(Node(X), Node(X), X)
    a = Node(X)
    first, second = compiled(a, a, X)
    np.testing.assert_array_equal(first, (X + 1) * 2)
    assert first is second


def test_a_setter_is_called_once():
    calls = []

    class Watched:
        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, value):
            calls.append(1)
            self._value = value

    def store(w, x):
        w.value = x + 1
        return w.value * 2

    compiled = pycompile.compile(store)
    w = Watched()
    for i in range(3):
        compiled(w, X)
        assert len(calls) == i + 1


def test_instances_keep_the_order_of_their_attributes():
    class Thing:
        def __init__(self, x):
            self.z = x
            self.a = x + 1
            self.z = x * 2

    def make(x):
        t = Thing(x)
        t.b = 1
        return t

    compiled = pycompile.compile(make)
    for _ in range(3):
        assert list(vars(compiled(X))) == ["z", "a", "b"]


@pytest.mark.parametrize("kind", ["missing", "unexpected", "twice", "many"])
def test_wrong_arguments_raise_as_in_python(kind):
    def inner(a, b=1, *, c=2):
        return a + b + c

    def missing(x):
        return inner() + x

    def unexpected(x):
        return inner(x, d=1)

    def twice(x):
        return inner(x, a=1)

    def many(x):
        return inner(x, 1, 2)

    check(locals()[kind], X, captured=False)


def test_attribute_errors_raise_as_in_python():
    class Thing:
        __slots__ = ("a",)

        def __init__(self, x):
            self.a = x

    def missing(x):
        return Thing(x + 1).b

    def no_room(x):
        Thing(x + 1).b = 2

    def gone(x):
        t = Thing(x + 1)
        del t.a
        return t.a

    for function in (missing, no_room, gone):
        check(function, X, captured=False)
