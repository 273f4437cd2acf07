"""Match statements, names and imports."""

from dataclasses import dataclass

from constructs import X, construct


@dataclass
class Point:
    x: object
    y: object = 0


class Named:
    __match_args__ = ("first",)

    def __init__(self, first, second):
        self.first = first
        self.second = second


class Limits:
    LOW = 7


COUNTER = 0


def command(x, value):
    match value:
        case []:
            return x + 1
        case [1, *rest] if rest:
            return x * 2, rest
        case ("go", n) | ["run", n]:
            return x + n
        case {"kind": kind, **others}:
            return x - 1, kind, others
        case Point(x=0, y=y):
            return x + y
        case Point(a, b):
            return x * a + b
        case Named(first, second=(p, q)):
            return x * first, p, q
        case str() as text:
            return text, x + 3
        case bool(flag):
            return flag, x + 4
        case int(n) | float(n):
            return x * n
        case None:
            return x / 2
    return -x


for _name, _value in [
    ("empty sequence", []),
    ("star pattern with a guard", [1, 2, 3]),
    ("guard that fails", [1]),
    ("tuple with a capture", ("go", 3)),
    ("second arm of an or-pattern", ["run", 2.5]),
    ("mapping with the rest", {"kind": "sum", "k": 1}),
    ("mapping that lacks a key", {"k": 1}),
    ("class by keyword", Point(0, 5)),
    ("class by position", Point(2, 5)),
    ("class with __match_args__ and a nested sequence", Named(2, (3, 4))),
    ("class whose nested pattern fails", Named(2, 3)),
    ("str", "text"),
    ("bool before int", True),
    ("int", 4),
    ("float", 1.5),
    ("None", None),
]:
    construct(f"match: {_name}", X, _value)(command)


@construct("match on attributes and array values", X)
def nested(x):
    match (x.shape, {"p": [x, Point(x, 1)]}):
        case (6,), {"p": [first, Point(x=second)]}:
            return first + second
    return x


@construct("match on constants and dotted names", X, 2)
def dotted(x, n):
    match n:
        case 0:
            return x
        case Limits.LOW:
            return -x
        case 1 | 2 as small:
            return x * small
    return x


@construct("walrus in a comprehension", X)
def walrus(x):
    found = [y for n in range(4) if (y := n * 2) > 2]
    return found, y, x + 1


@construct("global stored and deleted", X)
def global_names(x):
    global COUNTER, FRESH
    COUNTER = 5
    FRESH = 1
    COUNTER += FRESH
    del FRESH
    return x + COUNTER


@construct("cell deleted and bound again", X)
def cells(x):
    n = 1

    def inner():
        nonlocal n
        del n
        n = 3
        return n

    return inner() * x, n


@construct("del of names", X)
def deleted(x):
    y = x + 1
    z = y * 2
    del y
    return z


@construct("imports inside a function", X)
def imports(x):
    import os.path as path
    from math import pi, sin

    import numpy.linalg
    from numpy import linalg as la

    return x * pi, path.sep, numpy.linalg.norm is la.norm, sin(0.0)


@construct("comprehensions nested with conditions", X)
def comprehensions(x):
    return (
        [[i * j for j in range(3) if j != 1] for i in range(3) if i],
        {i: {k for k in range(i)} for i in range(3)},
        [(lambda q, i=i: q + i)(1) for i in range(3)],
        [x * i for i in range(2)],
    )


@construct("lambda over a comprehension's variable", X)
def late(x):
    return [f() for f in [lambda: i for i in range(3)]], x + 1
