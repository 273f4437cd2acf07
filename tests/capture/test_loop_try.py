"""`try` in the bodies of kept loops: native where nothing is raised, CPython's where something is."""

import numpy as np
import pytest

import pycompile
from tests.differential import check

RNG = np.random.default_rng(11)
X = RNG.standard_normal(50).round(2) + 3
H = RNG.integers(-50, 50, 50)


def reciprocals(x, y):
    for i in range(len(x)):
        try:
            y[i] = 1.0 / float(x[i])
        except ZeroDivisionError:
            y[i] = -1.0
    return y.sum()


def looked_up(x, h, y):
    missed = 0
    for i in range(len(h)):
        try:
            v = x[h[i]]
        except IndexError:
            missed += 1
            continue
        else:
            y[i] = v
        finally:
            missed += 2
    return missed


def left_by_a_handler(x, y):
    i = 0
    while True:
        try:
            y[i] = x[i] * 2
        except IndexError:
            break
        i += 1
    return i


def left_by_a_return(x, h):
    for i in range(len(h)):
        try:
            if x[h[i]] > 5:
                return i
        except IndexError as error:
            return str(error)
    return -1


def around_an_inner_loop(a, y):
    for i in range(a.shape[0]):
        try:
            s = 0
            for j in range(a.shape[1]):
                s += int(10 / float(a[i, j]))
            y[i] = s
        except ZeroDivisionError:
            y[i] = -1
    return y


def within_an_inner_loop(a, y):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            try:
                s += 10 / float(a[i, j])
            except ZeroDivisionError:
                s = -1.0
                break
        y[i] = s
    return y


def into_a_list(x, h):
    out = []
    for i in range(len(h)):
        try:
            out.append(float(x[h[i]]))
        except IndexError:
            out.append(0.0)
    return out


def finally_only(x, y):
    n = 0
    for i in range(len(x)):
        try:
            y[i] = x[i] + 1
            if x[i] > 5:
                break
        finally:
            n += 1
    return n


def raises(x, y):
    for i in range(len(x)):
        try:
            if x[i] < 0:
                raise ValueError(i)
            y[i] = x[i]
        except ValueError as error:
            y[i] = error.args[0]
    return y


def leaves_the_loop(x, y):
    for i in range(len(x)):
        try:
            y[i] = 1 / float(x[i])
        except IndexError:
            y[i] = 7
    return y


def zero_at(at):
    x = X.copy()
    x[at] = 0.0
    return x


@pytest.mark.slow
def test_nothing_is_raised():
    check(reciprocals, X, np.zeros(50), whole=True)
    check(looked_up, X, H, np.zeros(50), whole=True)
    check(left_by_a_return, X, H, whole=True)
    check(finally_only, X, np.zeros(50), whole=True)
    check(into_a_list, X, H, whole=True)
    a = X.reshape(5, 10)
    check(around_an_inner_loop, a, np.zeros(5), whole=True)
    check(within_an_inner_loop, a, np.zeros(5), whole=True)


@pytest.mark.parametrize("at", [0, 17, 49])
def test_something_is_raised(at):
    x, h = zero_at(at), H.copy()
    h[at] = 60
    check(reciprocals, X, np.zeros(50), also=((x, np.zeros(50)), (X, np.zeros(50))))
    check(leaves_the_loop, X, np.zeros(50), also=((x, np.zeros(50)), (X, np.zeros(9))))
    check(looked_up, X, H, np.zeros(50), also=((X, h, np.zeros(50)), (X, H, np.zeros(20))))
    check(left_by_a_return, X, H, also=((X, h), (X * 0, h)))
    check(into_a_list, X, H, also=((X, h), (X[:20], H)))
    a, b = X.reshape(5, 10), x.reshape(5, 10)
    check(around_an_inner_loop, a, np.zeros(5), also=((b, np.zeros(5)), (b, np.zeros(2))))
    check(within_an_inner_loop, a, np.zeros(5), also=((b, np.zeros(5)), (b, np.zeros(2))))


def test_what_leaves_by_a_handler():
    check(left_by_a_handler, X, np.zeros(50), captured=False, also=((X, np.zeros(9)),))


def test_what_an_exception_alone_ends_is_unrolled():
    """There is no Instr behind such a loop at which a graph could go on."""
    check(left_by_a_handler, X, np.zeros(50), whole=True, calls=3)


def test_what_the_body_raises_itself():
    check(raises, X, np.zeros(50), captured=False, also=((X - 3, np.zeros(50)),))


def test_plans_that_come_to_nothing_are_dropped():
    compiled = pycompile.compile(reciprocals)
    x = zero_at(30)
    compiled(X, np.zeros(50))
    for _ in range(60):
        compiled(x, np.zeros(50))
    assert compiled.stats()["deopts"] < 40


def picked(x):
    return np.asarray(x.shape)[np.asarray(0)]


def behind_a_with(x):
    """CPython jumps from the handler of the `with` back to the code behind it, which is no loop."""
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.abs(x)
    n = picked(x)
    return y, int(n)


def behind_a_try(x, missed):
    for row in x:
        try:
            missed[int(row[0])] = np.abs(row).max()
        except IndexError:
            continue
        return picked(x)


def test_code_behind_a_handler_is_no_loop():
    x = RNG.standard_normal((60, 80)) * 3
    for function, *args in ((behind_a_with, x), (behind_a_try, x, [0.0])):
        compiled = pycompile.compile(function)
        for _ in range(3):
            np.testing.assert_equal(compiled(*args), function(*args))
