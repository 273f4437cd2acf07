"""Lists from outside that are only appended to: their lengths make no plans."""

import numpy as np
from differential import check

import pycompile


def descend(w, losses, steps):
    for _ in range(steps):
        w = w - 0.1 * w
        print("", end="")
        losses.append((w * w).sum())
    return losses, w


class Logger:
    def __init__(self):
        self.log = []

    def step(self, x):
        y = np.tanh(x) * 2
        self.log.append(y.sum())
        return y


def two_logs(x, first, second):
    y = x * 2 + 1
    first.append(y.sum())
    second.append(y)
    return y


def read_after(x, items):
    y = x * 2 + 1
    items.append(y)
    if items:
        y = y + len(items)
    return y * 3, items[-1] is items[0]


def test_length_is_no_guard(recwarn):
    log = []
    made = pycompile.compile(lambda x, out: out.append((x * 2 + 1).sum()))
    for _ in range(20):
        made(np.ones(5), log)
    assert log == [15.0] * 20
    logger = Logger()
    step = pycompile.compile(Logger.step)
    for _ in range(20):
        step(logger, np.ones(5))
    assert len(logger.log) == 20
    looped = []
    pycompile.compile(descend)(np.ones(50), looped, 20)
    assert len(looped) == 20
    assert not [w for w in recwarn if issubclass(w.category, pycompile.PycompileWarning)]


def test_same_as_plain():
    for n in range(3):
        check(descend, np.ones(5), [1] * n, 4)
        check(Logger.step, Logger(), np.ones(5))
        check(two_logs, np.ones(5), [1] * n, [2])
        check(read_after, np.ones(5), [None] * n)


def test_one_list_under_two_names():
    for function in (two_logs, lambda x, a, b: (a.append(x * 2), len(b), x + 1)):
        made = pycompile.compile(function)
        for same in (False, True, True, False, False, True):
            plain, compiled = ([], [7]), ([], [7])
            if same:
                plain, compiled = (plain[0],) * 2, (compiled[0],) * 2
            x = np.arange(4.0)
            assert repr(function(x, *plain)) == repr(made(x, *compiled))
            assert repr(plain) == repr(compiled)
