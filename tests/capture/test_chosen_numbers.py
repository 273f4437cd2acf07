"""Numbers that a branch, max() or sorted() chose among others: which object it is can be asked."""

import numpy as np
import pytest
from differential import check

X = np.arange(1.0, 7.0)


def running_best(x, y):
    values = [x[0], x[1], y[0]]
    best = values[0]
    for v in values:
        if v < best:
            best = v
    return x * 2, [float(v) for v in values if v is not best]


def of_a_branch(x, y):
    a, b = x.sum(), y.sum()
    z = a if a > b else b
    return z is b, z is a, x * 2


def of_a_branch_in_floats(x, y):
    a, b = float(x[0]), float(y[0])
    z = a if x.sum() > 0 else b
    return z is a, x * 2


def nan_in_a_list(x, y):
    a, b = x.sum() * np.nan, y.sum() * np.nan
    z = a if x.sum() > 0 else b
    return z in [a], [z] == [a], [b, a].index(z), x * 2


def of_max(x, y):
    a, b = x.max(), y.max()
    m = max(a, b)
    return m is b, m is a, x * 2


def of_min_in_floats(x, y):
    a, b = float(x[0]), float(y[0])
    return min(a, b) is a, x * 2


def of_sorted(x, y):
    a, b = x[0], y[0]
    first, last = sorted([b, a])
    return first is a, last is a, x * 2


def nan_of_max(x, y):
    a = x[0] * np.nan
    return max(a, y[0]) in [a], x * 2


def none_is_no_number(x, y):
    z = x.max() if x.sum() > 0 else y.max()
    return z is None, z is not None, x * z


CASES = [
    running_best,
    of_a_branch,
    of_a_branch_in_floats,
    nan_in_a_list,
    of_max,
    of_min_in_floats,
    of_sorted,
    nan_of_max,
    none_is_no_number,
]


@pytest.mark.parametrize("function", CASES)
def test_identity(function):
    others = tuple((s * X, 2 * s * X) for s in (-1.0, 0.1, 1.0))
    check(function, X, 2 * X, also=others, options={"options": {"plan_always": True}})


@pytest.mark.parametrize("held", [(1.5, 2.5), (np.float64(1.5), np.float64(2.5))])
def test_arguments_come_back_as_they_are(held):
    import pycompile

    @pycompile.compile(options={"plan_always": True})
    def f(x, a, b):
        return x * 2, a if x.sum() > 0 else b

    for x in (X, X, -X, X):
        assert f(x, *held)[1] is held[int(x[0] < 0)]


def of_two_classes(x, y):
    a, b = x.max(), round(float(x[0]), 2)
    z = a if x.sum() > 0 else b
    return z is a, z is b, z in [a], x * 2


def of_max_of_two_classes(x, y):
    a, b = x.max(), round(float(x[0]), 2)
    z = max(a, b)
    return z is a, z is b, x * 2


@pytest.mark.parametrize("function", [of_two_classes, of_max_of_two_classes])
def test_identity_where_the_class_is_chosen_too(function):
    others = tuple((s * X, 2 * s * X) for s in (-1.0, 0.1, 1.0))
    check(function, X, 2 * X, also=others, options={"options": {"plan_always": True}})
