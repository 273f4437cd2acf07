"""With blocks and context managers."""

import contextlib

import numpy as np

from . import X, construct


class Scale:
    """Notes what happens to it; swallows what it is told to."""

    def __init__(self, by, swallow=()):
        self.by = by
        self.swallow = swallow
        self.log = []

    def __enter__(self):
        self.log.append("in")
        return self.by

    def __exit__(self, kind, value, traceback):
        self.log.append(None if kind is None else kind.__name__)
        return kind is not None and issubclass(kind, self.swallow)


class Counter:
    def __init__(self):
        self.depth = 0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, *details):
        self.depth -= 1


class Closed:
    closed = False

    def close(self):
        self.closed = True


@construct("with a manager made inside", X)
def made_inside(x):
    with Scale(3.0) as by:
        y = x * by
    return y + 1


@construct("with without a name", X, Counter())
def without_name(x, counter):
    with counter:
        y = x + counter.depth
    return y * 2 + counter.depth


@construct("nested with blocks", X, Counter())
def nested(x, counter):
    with counter as a:
        with counter as b:
            y = x + a.depth
        y = y * b.depth
    return y


@construct("several managers in one with", X)
def several(x):
    with Scale(2.0) as a, Scale(3.0) as b:
        y = x * a + b
    return y


@construct("__exit__ that swallows an exception", X)
def swallowing(x):
    manager = Scale(2.0, (KeyError,))
    with manager as by:
        x = x * by
        x = x + {}["none"]
    return x + 1, manager.log


@construct("__exit__ that lets an exception pass", X)
def passing(x):
    manager = Scale(2.0, (KeyError,))
    try:
        with manager as by:
            x = x * by
            x = x + [][1]
    except IndexError:
        x = x - 1
    return x, manager.log


@construct("return out of a with block", X, Counter())
def return_out(x, counter):
    def inner():
        with counter:
            return x * counter.depth

    return inner() + counter.depth


@construct("break and continue out of a with block", X, Counter())
def break_out(x, counter):
    for i in range(4):
        with counter:
            if i == 1:
                continue
            if i == 3:
                break
            x = x + i + counter.depth
    return x + counter.depth


@construct("contextlib.nullcontext", X)
def nullcontext(x):
    with contextlib.nullcontext(3.0) as by:
        return x * by


@construct("contextlib.suppress", X)
def suppress(x):
    with contextlib.suppress(KeyError, IndexError):
        x = x * 2
        x = x + {}["none"]
    return x + 1


@construct("contextlib.closing", X)
def closing(x):
    thing = Closed()
    with contextlib.closing(thing) as same:
        y = x + (not same.closed)
    return y * 2 if thing.closed else y


@contextlib.contextmanager
def scaled(by):
    yield by * 2


@contextlib.contextmanager
def logged(log):
    log.append("before")
    try:
        yield len(log)
    except KeyError as e:
        log.append(e.args[0])
    finally:
        log.append("after")


@construct("contextlib.contextmanager", X)
def manager_function(x):
    with scaled(1.5) as by:
        y = x * by
    return y + 1


@construct("contextlib.contextmanager with try and finally", X)
def manager_finally(x):
    log = []
    with logged(log) as n:
        y = x * n
    return y + 1, log


@construct("contextlib.contextmanager that swallows", X)
def manager_swallows(x):
    log = []
    with logged(log):
        x = x * 2
        x = x + {}["none"]
    return x + 1, log


@construct("np.errstate", X)
def errstate(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = x / (x - x)
    return y + 1


@construct("np.errstate, nested", X)
def errstate_nested(x):
    with np.errstate(all="ignore"):
        y = x / 0
        with np.errstate(over="warn"):
            y = y * 2
        z = np.sqrt(x)
    return y + z


@construct("np.errstate around a called function", X)
def errstate_call(x):
    def inner(y):
        return np.log(y)

    with np.errstate(all="ignore"):
        y = inner(x)
    return y + 1


@np.errstate(all="ignore")
def quiet_log(x):
    return np.log(x)


@construct("np.errstate as a decorator", X)
def errstate_decorator(x):
    return quiet_log(x) + 1
