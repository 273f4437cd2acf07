"""What CPython's own tests found, in small."""

import numpy as np
import pytest
from differential import check as checked


def check(function, *args):
    checked(function, *args, captured=False)


X = np.arange(4.0)


def test_range_with_a_step_of_zero():
    def f(x, step):
        return x + len(list(range(1, 2, step)))

    check(f, X, 0)


def test_range_that_is_longer_than_an_int64_tells():
    def f(x, n):
        y = x + 1
        return y, len(range(-n, n)) if n < 100 else range(-n, n)[0]

    check(f, X, 2**62 + 1)


class WrongBool:
    def __bool__(self):
        return self  # not a bool


class OneBool:
    def __bool__(self):
        return 1


class NoBool:
    __bool__ = None

    def __len__(self):
        return 1


class NegativeLength:
    def __len__(self):
        return -1


@pytest.mark.parametrize("kind", [WrongBool, OneBool, NoBool, NegativeLength])
def test_truth_that_raises(kind):
    def f(x, o):
        y = x * 2
        return y + (1 if o else 2)

    check(f, X, kind())


def test_from_a_package_a_submodule_that_is_not_imported_yet():
    def f(x):
        from xml import sax

        return x + 1, sax.__name__

    check(f, X)


class Callee:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return x * self.k


def test_an_instance_made_inside_is_called():
    def f(x):
        return Callee(3)(x) + 1

    check(f, X)


def test_a_list_that_holds_itself_is_printed():
    def f(x, k):
        mine = [k]
        mine.append(mine)
        return x + 1, str(mine)

    def g(x, mine):
        return x + 1, repr(mine), f"{mine}"

    outside = [1]
    outside.append(outside)
    assert str(f(X, 1)[1]) == "[1, [...]]"
    check(g, X, outside)
