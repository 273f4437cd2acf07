"""Operators of classes with a graph break inside, stepped on the real frame: which methods are called, in
which order, and what they raise, is as CPython's slots have it."""

import numpy as np
import pytest
from differential import check

import pycompile

X = np.arange(3.0)


class Told:
    """Each method ends a graph and tells of itself; those in `refuses` return NotImplemented."""

    def __init__(self, log, refuses=(), value=1.0):
        self.log, self.refuses, self.value = log, refuses, value

    def tell(self, name, *args):
        pycompile.graph_break()
        kinds = [type(arg).__name__ for arg in args]
        self.log.append((type(self).__name__, name, kinds))
        return NotImplemented if name in self.refuses else (name, kinds)


def told(name):
    return lambda self, *args: self.tell(name, *args)


BINARY = ["add", "radd", "iadd", "mul", "rmul", "imul", "pow", "rpow", "ipow", "matmul", "rmatmul"]
OTHERS = ["lt", "gt", "le", "ge", "eq", "ne", "neg", "invert", "getitem", "setitem", "contains"]
for name in BINARY + OTHERS:
    setattr(Told, f"__{name}__", told(name))
Told.__hash__ = None


class Inherits(Told):
    pass


class Overrides(Told):
    __radd__ = __rpow__ = __gt__ = lambda self, other: self.tell("of Overrides", other)


class Other:
    def __init__(self, log, refuses=()):
        self.log, self.refuses = log, refuses

    tell = Told.tell
    __radd__ = __rmul__ = __rpow__ = __rmatmul__ = told("r")


class Blocks(Other):
    __radd__ = None


class Joined(list):
    log, refuses = [], ("radd", "add")
    tell = Told.tell
    __add__, __radd__ = told("add"), told("radd")


class Opaque(Other):
    __array_ufunc__ = None


def tried(function, *args):
    try:
        return function(*args)
    except TypeError as error:
        return str(error)


def added(a, b):
    return a + b


def powered(a, b):
    return a**b


def divided(a, b):
    return a / b


def times(a, b):
    return a * b


def joined(a, b):
    a += b
    return a


def less(a, b):
    return a < b


def equal(a, b):
    return a == b


ALL = (
    "add",
    "radd",
    "r",
    "iadd",
    "mul",
    "rmul",
    "imul",
    "pow",
    "rpow",
    "lt",
    "gt",
    "eq",
    "of Overrides",
)


def pairs(log):
    told, refusing = Told(log), Told(log, ALL)
    yield from ((told, told), (refusing, refusing), (refusing, 1), (1.5, told), (1.5, refusing))
    yield from ((told, Inherits(log)), (told, Overrides(log)), (refusing, Overrides(log, ALL)))
    yield from ((refusing, Other(log)), (refusing, Other(log, ALL)), (Other(log), told))
    yield from ((told, Blocks(log)), (1.5, Blocks(log)), ([1], Joined([2])), (Joined([1]), [2]))
    yield from (([1], Other(log)), ("%s", Other(log)), (X, Opaque(log)), (None, Other(log, ALL)))


@pytest.mark.parametrize("at", range(len(list(pairs([])))))
def test_which_methods_are_called(at):
    def f(x, log, a, b):
        sums = tried(added, a, b), tried(joined, a, b)
        products = tried(times, a, b), tried(powered, a, b), tried(divided, a, b)
        return sums, products, tried(less, a, b), tried(equal, a, b), x + 1

    log = []
    check(f, X, log, *list(pairs(log))[at], captured=False)


def test_what_one_class_alone_decides():
    def f(x, log):
        a = Told(log)
        a[1] = x
        a[1:2] = x
        return -a, ~a, a[0], a[1:], 2 in a, 2 not in a, x + 1

    check(f, X, [], captured=False)


def test_exceptions_have_their_lines():
    class Raises(Told):
        def tell(self, name, *args):
            pycompile.graph_break()
            raise KeyError(name)

    def f(x, which):
        a = Raises([])
        y = x + 1
        if which == 0:
            return a + y
        if which == 1:
            a[0] = y
        return y in a

    for which in range(3):
        check(f, X, which, captured=False)
