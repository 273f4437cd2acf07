"""Generators and generator expressions."""

import numpy as np

from constructs import M, X, Y, construct


@construct("generator expression summed", X)
def summed(x):
    return sum(x * i for i in range(3))


@construct("generator expression with a condition and two loops", X)
def filtered(x):
    return sum(x * i + j for i in range(4) if i % 2 for j in (1, 2))


@construct("generator expressions to list, tuple and dict", X)
def collected(x):
    return (
        list(x + i for i in range(2)),
        tuple(i for i in range(3)),
        dict((i, x * i) for i in range(2)),
    )


@construct("any and all of a generator expression", X)
def any_all(x):
    return x + any(n > 2 for n in x.shape), all(n > 20 for n in x.shape)


@construct("min, max and sorted of a generator expression", X)
def extremes(x):
    return (
        x * min(i * i - 4 for i in range(4)),
        max(-i for i in range(3)),
        sorted(3 - i for i in range(3)),
    )


@construct("generator expression joined to a string", X)
def joined(x):
    return "x".join(str(n) for n in x.shape), x + 1


@construct("zip, enumerate, map and filter over generator expressions", X)
def zipped(x):
    total = x * 0
    for a, b in zip((x * i for i in range(3)), (i for i in (5, 6, 7))):
        total = total + a * b
    for i, a in enumerate(x + j for j in range(2)):
        total = total + a * i
    for a in map(lambda v: v * 2, (x - j for j in range(2))):
        total = total + a
    for k in filter(lambda v: v > 1, (j for j in range(4))):
        total = total + k
    return total


@construct("np.array of a list from a generator expression", X)
def arrays(x):
    return np.array(list(i * 0.5 for i in range(6))) * x


@construct("unpacking a generator expression", X)
def unpacked(x):
    a, b, *c = (x * i for i in range(4))
    return a, b, c, [*(i for i in range(2))]


def _powers(x, n):
    y = x
    for _ in range(n):
        yield y
        y = y * x


@construct("generator function in a for loop", X)
def function(x):
    total = x * 0
    for p in _powers(x, 4):
        total = total + p
    return total


@construct("generator left before its end", X)
def left_early(x):
    for i, p in enumerate(_powers(x, 10)):
        if i == 2:
            break
    return p


@construct("infinite generator stepped with next", X)
def infinite(x):
    def naturals():
        n = 0
        while True:
            yield n
            n += 1

    g = naturals()
    return x * next(g), x * next(g), next(g)


@construct("next with a default on an exhausted generator", X)
def with_default(x):
    g = (x + i for i in range(1))
    return next(g, None), next(g, "end"), next(g, "end")


@construct("send into a generator", X)
def sending(x):
    def accumulate():
        total = x * 0
        while True:
            item = yield total
            total = total + item

    g = accumulate()
    next(g)
    g.send(x)
    g.send(2.0)
    return g.send(x * x)


@construct("yield from a range, a list and a generator", X)
def delegating(x):
    def inner():
        yield x
        yield x * 2
        return "done"

    def outer():
        yield from range(2)
        yield from [x, 3]
        result = yield from inner()
        yield result

    return list(outer())


@construct("values sent through yield from", X)
def send_through(x):
    def inner():
        a = yield 1
        b = yield a + 1
        return a + b

    def outer():
        result = yield from inner()
        yield x * result

    g = outer()
    return next(g), g.send(10), g.send(20)


class Grid:
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        for row in self.rows:
            yield row * 2


@construct("__iter__ written as a generator", M)
def iterable_class(m):
    total = m[0] * 0
    for row in Grid([m[0], m[1]]):
        total = total + row
    return total, [r.shape for r in Grid([m])], list(Grid([m[2]]))


@construct("generator with arguments by keyword and a closure", X, 3)
def keywords(x, n):
    scale = n * 2

    def g(*, start, stop=3):
        for i in range(start, stop):
            yield x * i + scale

    return list(g(start=1)), list(g(start=0, stop=1))


@construct("generators that feed one another", X, Y)
def pipeline(x, y):
    def pairs(a, b):
        yield a, b
        yield b, a

    def differences(ps):
        for a, b in ps:
            yield a - b

    def scaled(ds, k):
        for d in ds:
            yield d * k

    return list(scaled(differences(pairs(x, y)), 3.0))


@construct("recursive generator", X)
def recursive(x):
    def leaves(tree):
        if isinstance(tree, tuple):
            for part in tree:
                yield from leaves(part)
        else:
            yield tree

    return sum(leaves(((x, 1), (2, (x * x, 3)))))


@construct("close of a generator", X)
def closing(x):
    g = _powers(x, 3)
    first = next(g) + next(g)
    g.close()
    return first * 2, list(g)


@construct("generator expression sees later changes of a variable", X)
def late(x):
    n = 1
    g = (x * n for _ in range(2))
    n = 5
    return list(g)


@construct("first loop of a generator expression is evaluated at once", X)
def early(x):
    items = [x, x + 1]
    g = (a * 2 for a in items)
    items = []
    return list(g), items


@construct("iterator of a generator is itself", X)
def same(x):
    g = _powers(x, 2)
    return iter(g) is g, list(g), list(g)


@construct("generator changes what it closes over", X)
def side_effects(x):
    log = []

    def g():
        for i in range(3):
            log.append(i)
            yield x * i

    it = g()
    log.append("made")
    a = next(it)
    log.append("first")
    rest = list(it)
    return a, rest, log


@construct("yield inside try with finally", X)
def try_finally(x):
    log = []

    def g():
        try:
            yield x
            yield x + 1
        finally:
            log.append("closed")

    return list(g()), log


@construct("exception handled inside a generator", X)
def handled(x):
    def g():
        for n in (1, 0, 2):
            try:
                yield 6 // n
            except ZeroDivisionError:
                yield -1

    return [x * v for v in g()]


@construct("throw into a generator", X)
def thrown(x):
    def g():
        total = x * 0
        while True:
            try:
                item = yield total
                total = total + item
            except ValueError:
                total = total * 2

    it = g()
    next(it)
    it.send(x)
    it.throw(ValueError("again"))
    y = it.send(1)
    it.close()
    return y


@construct("close runs the finally of a generator", X)
def close_finally(x):
    log = []

    def g():
        try:
            yield x
        finally:
            log.append("closed")

    it = g()
    y = next(it) * 2
    it.close()
    return y, log, list(it)


@construct("value of StopIteration", X)
def stop_value(x):
    def g():
        yield x
        return x * 2

    it = g()
    next(it)
    try:
        next(it)
    except StopIteration as stop:
        return stop.value + 1


@construct("StopIteration raised in a generator is a RuntimeError", X)
def stop_inside(x):
    def g():
        yield x
        raise StopIteration

    try:
        return list(g())
    except RuntimeError as e:
        return x * 2 + 1, str(e), type(e.__cause__)


@construct("throw and close through yield from", X)
def throw_through(x):
    def inner():
        try:
            yield x
        except ValueError:
            yield x * 2
        return "inner"

    def outer():
        result = yield from inner()
        yield result

    a, b = outer(), outer()
    next(a)
    next(b)
    b.close()
    return a.throw(ValueError), next(a), list(a), list(b)


@construct("exception out of a generator ends it", X)
def raising(x):
    def g():
        yield x + 1
        raise KeyError("gone")

    it = g()
    first = next(it)
    try:
        next(it)
    except KeyError:
        return first * 2, list(it)
