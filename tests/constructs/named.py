"""Named tuples.

Made inside and outside, with collections.namedtuple, typing.NamedTuple and by inheritance.
"""

from collections import namedtuple
from typing import Any, NamedTuple

from constructs import X, construct


class Pair(NamedTuple):
    x: Any
    y: Any = 2.0

    def product(self):
        return self.x * self.y

    @property
    def total(self):
        return self.x + self.y

    @classmethod
    def twice(cls, value):
        return cls(value, value)

    @staticmethod
    def shifted(value):
        return value + 1

    def __add__(self, other):
        return Pair(self.x + other.x, self.y + other.y)

    def __rmul__(self, factor):
        return Pair(factor * self.x, factor * self.y)

    def __neg__(self):
        return Pair(-self.x, -self.y)


Triple = namedtuple("Triple", "a b c", defaults=(1.0,))


class Vector(namedtuple("Vector", "x y")):
    def dot(self, other):
        return self.x * other.x + self.y * other.y


@construct("collections.namedtuple made inside, with a default", X)
def made(x):
    return Triple(x * 2, 2), Triple(b=x, a=3), Triple(*[x, 1], c=x)


@construct("typing.NamedTuple with a method, a property, a class method and a static method", X)
def methods(x):
    pair = Pair(x)
    return pair.product() + pair.total + Pair.twice(x).product() + Pair.shifted(x)


@construct("fields of a named tuple by name, index, slice and unpacking", X)
def fields(x):
    triple = Triple(x, 2)
    a, *rest = triple
    return triple.a + triple[1], triple[1:], rest, a is triple.a, len(triple)


@construct("_replace, _asdict, _make and _fields", X)
def own_methods(x):
    triple = Triple(x, 2)
    changed = triple._replace(b=x + 1)
    return changed, triple._asdict(), Triple._make([x, 1, 2]), triple._fields


@construct("operators of a typing.NamedTuple", X)
def operators(x):
    return Pair(x) + Pair(x * 2, 1.0), 3.0 * Pair(x, x)


@construct("unary operator of a typing.NamedTuple", X)
def unary(x):
    return -Pair(x)


@construct("named tuples compared, sorted and searched", X)
def compared(x):
    one = Triple(1, 2)
    return (
        x * one.b,
        one == Triple(1, 2),
        one == (1, 2, 1.0),
        one < (1, 3),
        one in [(1, 2, 1.0)],
        max(one, Triple(0, 9)),
        sorted([one, Triple(0, 9)]),
    )


@construct("types of named tuples and of what is made of them", X)
def types(x):
    triple = Triple(x, 2)
    return (
        isinstance(triple, tuple),
        type(triple) is Triple,
        type(tuple(triple)) is tuple,
        type(triple[:]) is tuple,
        type(triple + (x,)) is tuple,
        type(triple * 2) is tuple,
        list(triple),
        x * 2,
    )


@construct("class pattern of a named tuple", X)
def pattern(x):
    match Triple(x, 2):
        case Triple(a, b, c=c):
            return a * b + c


@construct("named tuple as an argument", Pair(X, 2.0), X)
def argument(pair, x):
    a, b = pair
    return pair.product() + a * b + pair[0] + pair.total * x, pair


@construct("named tuple of numbers as an argument, changed", Triple(1.0, 2.0, 3.0), X)
def argument_changed(triple, x):
    return [v * x for v in triple], triple._replace(a=x), triple + (1,), triple


@construct("list of named tuples as an argument", [Pair(1.0), Pair(2.0, 5.0)], X)
def arguments(pairs, x):
    return sum(pair.x for pair in pairs) * x + pairs[1].product()


@construct("class derived from a namedtuple", X)
def derived(x):
    return Vector(x, 2.0).dot(Vector(x, x)), Vector(x, 1.0)


@construct("AttributeError of a named tuple is caught", X)
def missing(x):
    try:
        return Triple(x, x).d
    except AttributeError as e:
        return x * 2, str(e)


@construct("named tuple as a carrier through a loop", X)
def carrier(x):
    state = Pair(x, 0.0)
    for _ in range(3):
        state = Pair(state.x * 0.5, state.y + state.x.sum())
    return state


@construct("named tuples as keys", X)
def named_keys(x):
    table = {Triple(1, 2): x, Pair(x.size, "b"): x * 2}
    return table[Triple(1, 2, 1.0)] + table[6, "b"], Pair(1, "z") in table, table
