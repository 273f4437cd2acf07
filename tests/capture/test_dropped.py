"""Objects that run code when they go, in locals that are overwritten: they go where they went."""

import weakref

import numpy as np
import pytest
from differential import observe

import pycompile


class Told:
    def __init__(self, name, log):
        self.name, self.log, self.a = name, log, np.ones(3)

    def __del__(self):
        self.log.append(f"del {self.name}")


def after_a_break(log):
    t = Told(1, log)
    u = Told(2, log)
    y = t.a + u.a
    del t
    u = Told(3, log)
    log.append(float(y.sum()))
    return y


def not_looked_at(log):
    t = Told(1, log)
    u = Told(2, log)
    y = t.a + u.a
    log.append("mid")
    del t
    log.append("after")
    u = Told(3, log)
    log.append(float(y.sum()))
    return y


def by_something_else(log):
    u = Told(1, log)
    pycompile.graph_break()
    y = np.ones(4) * 2
    u = y + 1
    log.append(float(u.sum()))
    return u


def in_a_list(log):
    u = [Told(1, log)]
    pycompile.graph_break()
    y = np.ones(4) * 2
    u = y + 1
    log.append(float(u.sum()))
    return u


def a_generator(log):
    def numbers():
        try:
            yield 1
        finally:
            log.append("closed")

    u = numbers()
    next(u)
    pycompile.graph_break()
    y = np.ones(4) * 2
    u = y + 1
    log.append(float(u.sum()))
    return u


def in_a_loop(log):
    total = 0.0
    for k in range(4):
        log.append(k)
        u = Told(k, log)
        y = np.ones(3) * k
        total += float((y + u.a).sum())
        log.append(total)
    return total


def now_and_then(log):
    u = None
    for k in range(6):
        pycompile.graph_break()
        y = np.ones(3) * k
        u = y.sum() if k % 2 else y
        log.append(float((y + 1).sum()))
        pycompile.graph_break()
        if k % 3 == 1:
            u = Told(k, log)
    return log


@pytest.mark.parametrize(
    "function",
    [
        after_a_break,
        not_looked_at,
        by_something_else,
        in_a_list,
        a_generator,
        in_a_loop,
        now_and_then,
    ],
)
def test_dropped_where_it_was(function):
    compiled = pycompile.compile(function)
    for _ in range(4):
        plain, ours = [], []
        function(plain)
        compiled(ours)
        assert list(map(repr, ours)) == list(map(repr, plain))


MAKERS = [
    lambda log: None,
    lambda log: 1.0,
    lambda log: Told("alone", log),
    lambda log: (Told("in a tuple", log),),
    lambda log: np.ones(3),
    lambda log: [],
]


@pycompile.disable
def make(k, log):
    return MAKERS[k](log)


def overwritten(log, k):
    u = make(k, log)
    y = np.ones(4) * 2
    u = y + 1
    log.append(float(u.sum()))
    return u


def test_now_another_kind():
    """A plan made for what goes quietly does not run where something tells."""
    compiled, plain, ours = pycompile.compile(overwritten), [], []
    for k in [0, 0, 1, 4, 2, 5, 3, 0, 2]:
        overwritten(plain, k)
        compiled(ours, k)
    assert ours == plain
    assert compiled.stats()["plan_runs"] > 0


def alive(log, n):
    x = np.ones(n)
    kept = weakref.ref(x)
    pycompile.graph_break()
    y = x * 2
    pycompile.graph_break()
    x = y + 1
    y = x * 3
    pycompile.graph_break()
    log.append(kept() is None)
    return y


@pytest.mark.parametrize("n", [10, 1_000_000])
def test_arrays_do_not_live_longer(n):
    compiled, plain, ours = pycompile.compile(alive), [], []
    for _ in range(3):
        alive(plain, n)
        seen = observe(compiled, (ours, n), {})
        assert seen.raised is None
    assert ours == plain == [True] * 3


class Counted:
    alive = 0

    def __init__(self):
        Counted.alive += 1

    def __del__(self):
        Counted.alive -= 1


def list_deleted(x):
    held = [Counted(), Counted()]
    del held
    return Counted.alive, np.exp(x)


def list_overwritten(x):
    held = [Counted(), Counted()]
    held = 3
    return Counted.alive + held, np.exp(x)


def nested_containers(x):
    held = {"a": [(Counted(), 1)]}
    y = np.exp(x)
    del held
    return Counted.alive, y


def handler_between(x):
    held = [Counted(), Counted(), Counted()]
    try:
        a, b = iter(held)
    except ValueError:
        pass
    del held
    return Counted.alive, np.exp(x)


def held_twice(x):
    held = [Counted()]
    other = held
    del held
    alive = Counted.alive
    del other
    return alive, Counted.alive, np.exp(x)


@pytest.mark.parametrize(
    "function", [list_deleted, list_overwritten, nested_containers, handler_between, held_twice]
)
def test_objects_made_at_breaks_end_with_the_list_that_holds_them(function):
    x = np.arange(4.0)
    expected = function(x)
    compiled = pycompile.compile(function, options={"plan_always": True})
    for _ in range(4):
        seen = compiled(x)
        assert seen[:-1] == expected[:-1]
        np.testing.assert_array_equal(seen[-1], expected[-1])


CLOSED = []


class Closes:
    def __del__(self):
        CLOSED.append(1)


@pycompile.disable
def made(kind):
    return [1.0, kind()]


def drops(kind, x):
    held = made(kind)
    first = held[0]
    held = None
    return first, len(CLOSED), np.exp(x)


def test_a_list_of_plain_objects_and_then_of_others():
    compiled = pycompile.compile(drops, options={"plan_always": True})
    for kind in (object, object, object, Closes, Closes, object):
        for function in (drops, compiled):
            CLOSED.clear()
            assert function(kind, np.ones(3))[:2] == (1.0, int(kind is Closes))
