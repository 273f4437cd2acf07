"""Exceptions that pycompile follows, and where it must leave them to CPython: compiled against plain.

The differential check compares type, text, traceback with lines and columns, cause and context.
"""

import sys

import numpy as np
import pytest
from differential import check

X = np.arange(6.0)


class Mine(Exception):
    def __init__(self, text, number):
        super().__init__(text)
        self.number = number


def thrower(x):
    y = x + 1
    raise Mine("thrown", len(y))


def passes_on(x):
    try:
        return thrower(x)
    finally:
        x[0] = 7


def converts(x):
    try:
        return thrower(x)
    except Mine as e:
        raise ValueError(f"{e.number} converted") from e


def uncaught(x):
    y = x * 2
    raise ValueError("after", 2)
    return y


def uncaught_in_call(x):
    y = x * 2
    return thrower(y)


def uncaught_through_finally(x):
    y = x * 2
    try:
        y += 1
        y = passes_on(y)
    finally:
        x[1] = 9
    return y


def uncaught_converted(x):
    y = x * 2
    return converts(y)


def uncaught_in_handler(x):
    y = x * 2
    try:
        y = y + [1.0][3]
    except IndexError:
        y = y + {}["k"]
    return y


def re_raised(x):
    y = x * 2
    try:
        y = y + [1.0][3]
    except IndexError:
        x[2] = 4
        raise
    return y


def raised_twice(x):
    y = x * 2
    e = ValueError("kept")
    try:
        raise e
    except ValueError as caught:
        x[0] += 1
        raise caught  # noqa: TRY201
    return y


def from_none(x):
    y = x * 2
    try:
        raise ValueError("v")
    except ValueError:
        raise KeyError("k") from None
    return y


def from_class(x):
    y = x * 2
    raise KeyError(y.ndim) from ValueError


def bare(x):
    y = x * 2
    raise
    return y


def assertion(x):
    y = x * 2
    assert y.ndim == 2, "two axes"
    return y


def handler_does_not_match(x):
    y = x * 2
    try:
        raise ValueError("v")
    except (KeyError, TypeError):
        y = y + 1
    return y


def no_class(x):
    y = x * 2
    try:
        raise ValueError("v")
    except 3:  # noqa: B030
        y = y + 1
    return y


@pytest.mark.parametrize(
    "function",
    [
        uncaught,
        uncaught_in_call,
        uncaught_through_finally,
        uncaught_converted,
        uncaught_in_handler,
        re_raised,
        raised_twice,
        from_none,
        from_class,
        bare,
        assertion,
        handler_does_not_match,
        no_class,
    ],
)
def test_uncaught(function):
    seen = check(function, X.copy(), calls=3, captured=False)
    assert seen.raised is not None


def returned(x):
    y = x * 2
    try:
        raise ValueError("v")
    except ValueError as e:
        kept = e
    return y + 1, kept


def returned_traceback(x):
    y = x * 2
    try:
        thrower(y)
    except Mine as e:
        lines = []
        trace = e.__traceback__
        while trace is not None:
            lines.append(trace.tb_lineno)
            trace = trace.tb_next
    return y + 1, lines


def stored_outside(x, log):
    try:
        thrower(x)
    except Mine as e:
        log.append(e)
    return x + 1


def asked_by_sys(x):
    y = x * 2
    try:
        raise ValueError("v")
    except ValueError:
        kind = sys.exc_info()[0]
    return y + 1, kind


def printed_in_handler(x):
    y = x * 2
    try:
        y = y + {}["k"]
    except KeyError as e:
        print("no", e)
        y = y + 1
    return y


def break_in_handler_of_call(x):
    def inner(y):
        try:
            return y + {}["k"]
        except KeyError as e:
            print("no", e)
            return y - 1

    return inner(x * 2) + 1


def break_after_handler(x):
    y = x * 2
    try:
        y = y + {}["k"]
    except KeyError:
        y = y + 1
    print("here")
    return y * 2


def branch_in_handler(x):
    y = x * 2
    try:
        y = y + {}["k"]
    except KeyError:
        if y.sum() > 3:  # noqa: SIM108
            y = y + 1
        else:
            y = y - 1
    return y * 2


def break_in_finally(x):
    y = x * 2
    try:
        y = y + 1
    finally:
        print("finally")
    return y * 2


@pytest.mark.parametrize(
    "function",
    [
        returned,
        returned_traceback,
        asked_by_sys,
        printed_in_handler,
        break_in_handler_of_call,
        break_after_handler,
        branch_in_handler,
        break_in_finally,
    ],
)
def test_leaves_the_graph(function):
    seen = check(function, X.copy(), calls=3, captured=False)
    assert seen.raised is None


def test_stored_outside():
    check(stored_outside, X.copy(), [], calls=3, captured=False)


def mutates(x, items):
    try:
        items.append(1)
        items.append({}["k"])
    except KeyError:
        items.append(2)
    return x + len(items)


def writes(x):
    try:
        x[0] = 5
        x[1] = [][1]
    except IndexError:
        x[2] = 6
    return x + 1


def test_effects_before_the_exception_stay():
    check(mutates, X.copy(), [], whole=True)
    check(writes, X.copy(), whole=True)


def deopts(x, n):
    try:
        y = x / n
    except ZeroDivisionError:
        y = x
    return y * 2


def test_scalars_that_change():
    check(deopts, X.copy(), 2, also=((X.copy(), 0), (X.copy(), 3)), captured=False)
    with np.errstate(divide="raise"):
        check(deopts, X.copy(), 2, also=((X.copy(), 0), (X.copy(), 3)), captured=False)


def depends(x, key):
    try:
        scale = {"a": 2.0, "b": 3.0}[key]
    except KeyError:
        scale = 1.0
    return x * scale


def test_guards_of_what_raised():
    check(depends, X.copy(), "a", also=((X.copy(), "c"), (X.copy(), "b")), whole=True)


class Changing(Exception):
    pass


def of_changing(x):
    try:
        raise Changing(1, 2)
    except Changing as e:
        return x + len(str(e))


def test_class_that_changes():
    check(of_changing, X.copy(), whole=True)
    Changing.__str__ = lambda self: "much longer than it was"
    try:
        check(of_changing, X.copy(), whole=True)
    finally:
        del Changing.__str__
