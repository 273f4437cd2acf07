"""What is handled where a function is called: seen by sys.exception(), __context__ and `raise`."""

import contextlib
import sys

import numpy as np
import pytest

import pycompile

X = np.array([1.0, 2.0, -3.0])


def exception(x):
    y = x * 2
    return y + 1, sys.exception(), sys.exc_info()[:2]


def context(x):
    y = x * 2
    try:
        raise ValueError("inside")
    except ValueError as e:
        return y + 1, e.__context__, sys.exception() is e


def context_removed(x):
    y = x * 2
    try:
        raise ValueError("inside")
    except ValueError as e:
        e.__context__ = None
        return y + 1, e.__context__


def raised_again(x):
    y = x * 2
    try:
        raise
    except (RuntimeError, KeyError, ValueError) as e:
        return y + 1, e


def stack(x):
    log = []

    def fail():
        log.append(sys.exception())
        raise IndexError("callback")

    try:
        with contextlib.ExitStack() as entered:
            entered.callback(log.append, "first")
            entered.callback(fail)
            y = x * 2
    except IndexError as e:
        return y + 1, log, e.__context__


def in_a_generator(x):
    def values():
        try:
            yield sys.exception()
            raise ValueError("in the generator")
        except ValueError:
            yield repr(sys.exception())

    return x * 2, list(values()), sys.exception()


def inlined(x):
    def inner():
        return sys.exception()

    y = x * 2
    try:
        y = y + {}["none"]
    except KeyError:
        seen = repr(inner())
    return y + 1, seen, inner()


def text(seen):
    """Exceptions differ by identity from call to call."""
    if isinstance(seen, np.ndarray):
        return seen.tolist()
    if isinstance(seen, (tuple, list)):
        return [text(item) for item in seen]
    return repr(seen)


@pytest.mark.parametrize(
    "function", [exception, context, context_removed, raised_again, stack, in_a_generator, inlined]
)
def test_called_in_and_out_of_handlers(function):
    pycompile.reset()
    compiled = pycompile.compile(function)

    def calls(f):
        found = [text(f(X)), text(f(X))]
        for kind in (KeyError, ValueError):
            try:
                raise kind("outside")
            except kind:
                found += [text(f(X)), text(f(X))]
        found += [text(f(X)), text(f(X))]
        return found

    assert calls(compiled) == calls(function)
    assert compiled.stats()["plan_runs"] > 0
