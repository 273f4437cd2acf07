"""Named tuples and partials: errors, breaks, deopts and what changes behind a plan's back."""

import functools
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest
from differential import check

import pycompile

X = np.linspace(-2.0, 3.0, 6)


class Point(NamedTuple):
    x: Any
    y: Any = 1.0

    def scaled(self, factor):
        return self.x * factor + self.y


class Odd(NamedTuple):
    x: Any

    def __len__(self):
        return 77


class WithDict(namedtuple("WithDict", "x")):
    def doubled(self):
        return self.x * 2


def test_a_missing_argument():
    def f(x):
        y = x * 2
        return Point(), y

    check(f, X)


def test_a_missing_field():
    def f(x):
        point = Point(x * 2)
        return point.z

    check(f, X)


def test_own_length_is_called():
    def f(x):
        odd = Odd(x)
        return len(odd), odd.x * 2 + 1

    check(f, X, captured=False)


def test_own_length_outside():
    def f(odd, x):
        return len(odd), list(odd), x * 2 + 1

    check(f, Odd(X), X, captured=False)


def test_attribute_stored_on_one():
    def f(x):
        point = WithDict(x)
        point.extra = x * 3
        return point.extra + point.doubled(), point.__dict__

    check(f, X, captured=False)


def test_attribute_of_one_from_outside_hides_the_method():
    point = WithDict(X)
    point.doubled = lambda: X * 5

    @pycompile.compile
    def f(point, x):
        return point.doubled() + x

    np.testing.assert_array_equal(f(WithDict(X), X), X * 3)
    np.testing.assert_array_equal(f(point, X), X * 6)


def test_a_method_that_is_replaced():
    class Mutable(NamedTuple):
        x: Any

        def value(self):
            return self.x * 2

    @pycompile.compile
    def f(point):
        return point.value() + 1

    np.testing.assert_array_equal(f(Mutable(X)), X * 2 + 1)
    Mutable.value = lambda self: self.x * 3
    np.testing.assert_array_equal(f(Mutable(X)), X * 3 + 1)


def test_another_class_of_tuple():
    def f(pair):
        return pair[0] * 2 + 1, type(pair) is tuple

    check(f, (X, 1.0), also=[(Point(X),), ((X, 1.0),)])


def test_identity_and_aliasing():
    def f(point, x):
        same = point
        other = Point(*point)
        return same is point, other is point, other.x is point.x, x * 2

    check(f, Point(X), X)


def test_keywords_of_a_partial_change():
    partial = functools.partial(Point.scaled, factor=2.0)

    @pycompile.compile
    def f(x):
        return partial(Point(x)) + 1

    np.testing.assert_array_equal(f(X), X * 2.0 + 1.0 + 1)
    partial.keywords["factor"] = 5.0
    np.testing.assert_array_equal(f(X), X * 5.0 + 1.0 + 1)


def test_partial_of_what_cannot_be_called():
    def f(x):
        y = x * 2
        return functools.partial(3), y

    check(f, X)


def test_partial_with_too_many_arguments():
    def f(x):
        def one(a):
            return a * 2

        return functools.partial(one, x)(x + 1)

    check(f, X)


@pytest.mark.parametrize("more", [{}, {"d": 4.0}])
def test_partial_that_leaves(more):
    def f(x):
        def g(a, b, c, d=0.0):
            return a * b + c + d

        return functools.partial(g, x * 2, c=x.sum(), **more)

    plain, compiled = f(X), pycompile.compile(f)(X)
    assert type(compiled) is functools.partial
    np.testing.assert_array_equal(compiled(3.0), plain(3.0))
    assert list(compiled.keywords) == list(plain.keywords)


def test_partial_changed_after_it_was_made():
    def f(x):
        p = functools.partial(np.add, x)
        p.keywords["out"] = None
        return p(x * 2), p.keywords

    check(f, X)


def test_functions_stored_by_wraps():
    def f(x):
        def g(a):
            return a * 2

        g.tag = "inner"

        @functools.wraps(g)
        def h(a):
            return g(a) + 1

        return h(x), h

    function = pycompile.compile(f)(X)[1]
    assert (function.__name__, function.tag) == ("g", "inner")
    assert function.__wrapped__(2.0) == 4.0
