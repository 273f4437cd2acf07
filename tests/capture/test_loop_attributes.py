"""Attributes that the body of a kept loop stores are carried, and written back at each exit."""

import numpy as np
import pytest

from tests.differential import MANY, check
from tests.reports import breaks, keeps_loop

X = np.random.default_rng(3).standard_normal(300)


class Filter:
    def __init__(self, z1=0.0, z2=0.0):
        self.z1, self.z2, self.n = z1, z2, 0

    def step(self, x):
        y = 0.2 * x + self.z1
        self.z1 = 0.3 * x - 0.1 * y + self.z2
        self.z2 = 0.2 * x - 0.05 * y
        return y


class Slotted:
    __slots__ = ("n", "z1", "z2")
    __init__ = Filter.__init__
    step = Filter.step


class Guarded(Filter):
    @property
    def z1(self):
        return self._z1

    @z1.setter
    def z1(self, value):
        self._z1 = value


class Counted(Filter):
    changes = 0

    def __setattr__(self, name, value):
        object.__setattr__(self, "changes", self.changes + 1)
        object.__setattr__(self, name, value)


class Derived(Filter):
    def step(self, x):
        self.n += 1
        return super().step(x)


def filters(f, x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = f.step(x[i])
    return out, vars(f) if hasattr(f, "__dict__") else (f.z1, f.z2)


def filters_in_two_loops(f, x):
    out = np.zeros_like(x)
    for i in range(3):
        for k in range(len(x)):
            out[k] += f.step(x[k]) * i
        f.n += 1
    return out, f.z1, f.z2, f.n


def filters_with_one_of_its_own(x):
    f = Filter(0.5)
    for i in range(len(x)):
        x[i] = f.step(x[i])
    return x, f.z1, f.z2


def leaves(f, x, limit):
    for i in range(len(x)):
        f.n += 1
        if x[i] > limit:
            return i, f.n
        f.z1 = f.z1 + x[i]
    return -1, f.z1


def raises(f, x):
    for i in range(len(x) + 2):
        f.n += 1
        f.z1 = x[i]
    return f.n


def two_ways_to_one(f, g, x):
    for i in range(len(x)):
        f.n += 1
        g.n += 2
        x[i] += f.n
    return x, f.n, g.n


def makes_it(f, x):
    for i in range(len(x)):
        f.fresh = x[i]
    return hasattr(f, "fresh"), x


def deletes_it(f, x):
    for i in range(len(x)):
        if i == 3:
            del f.n
        f.z1 = x[i]
    return f.z1


def changes_its_class(f, x):
    for i in range(len(x)):
        if x[i] > 1:
            f.z1 = x[i]
        f.n = f.n + i
    return f.z1, f.n


def stores_a_text(f, x):
    for i in range(len(x)):
        f.z1 = "a" if x[i] > 1 else x[i]
    return f.z1


@pytest.mark.parametrize("kind", [Filter, Slotted, Derived])
def test_attributes_of_an_argument_are_carried(kind):
    assert keeps_loop(filters, kind(), X)
    for x in (X, X[:1], X[:0]):
        check(filters, kind(0.25, 1), x, captured=False, options=MANY)
    check(filters, kind(1, 2), X, captured=False)
    check(filters_in_two_loops, kind(), X, captured=False)


@pytest.mark.parametrize("kind", [Guarded, Counted])
def test_what_runs_code_at_a_store(kind):
    for x in (X, X[:1], X[:0]):
        check(filters, kind(), x, captured=False, options=MANY)


def test_attributes_of_an_object_of_the_function():
    assert keeps_loop(filters_with_one_of_its_own, X.copy())
    for x in (X, X[:1], X[:0]):
        check(filters_with_one_of_its_own, x.copy(), captured=False, options=MANY)


def test_exits_write_attributes_back():
    for limit in (0.5, 2, 99):
        for x in (X, X[:1], X[:0]):
            check(leaves, Filter(), x, limit, captured=False, options=MANY)
    assert not breaks(leaves, Filter(), X, 99)
    check(raises, Filter(), X, captured=False)


def test_one_object_in_two_variables():
    f = Filter()
    for x in (X, X[:0]):
        check(two_ways_to_one, f, f, x.copy(), captured=False, options=MANY)
        check(two_ways_to_one, f, Filter(), x.copy(), captured=False, options=MANY)


@pytest.mark.parametrize("function", [makes_it, deletes_it, changes_its_class, stores_a_text])
def test_attributes_that_are_no_locals(function):
    for x in (X, X[:1], X[:0], X - 9):
        check(function, Filter(), x.copy(), captured=False, options=MANY)


def test_what_is_stored_is_told():
    text = " | ".join(item["detail"] for item in breaks(makes_it, Filter(), X))
    assert "a store to the attribute 'fresh' of" in text, text
