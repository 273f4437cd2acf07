"""Functions that between them use every instruction that function bodies have.

CASES lists (function, arguments factory).  Each call gets fresh arguments; what a function returns is
compared by ==, so it holds only plain values.
"""


class Manager:
    def __init__(self, log, swallow=()):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append(
            ("exit", kind and kind.__name__, traceback and traceback.tb_lineno - exit_base())
        )
        return bool(self.swallow) and kind is not None and issubclass(kind, self.swallow)


def exit_base():
    return uses_with.__code__.co_firstlineno


class Base:
    scale = 3

    def area(self, n, *, k=1):
        return self.scale * n * k


class Derived(Base):
    def area(self, n, *, k=1):
        return super().area(n + 1, k=k) + super(Derived, self).scale

    @property
    def twice(self):
        return self.scale * 2

    def __getattr__(self, name):
        if name.startswith("x_"):
            return lambda *args: (name, args)
        raise AttributeError(name)


def straight(a, b):
    c = a + b
    d = c * a - b
    d //= 2
    return -d, +c, ~a, not b, c**2, a % 7, a << 2, b >> 1, a & b, a | b, a ^ b, a / b


def comparisons(a, b):
    return (
        a < b,
        a <= b,
        a == b,
        a != b,
        a > b,
        a >= b,
        a is b,
        a is not b,
        a in [b],
        a not in (b, 1),
    )


def branches(a, b=None):
    out = []
    if a and not b:
        out.append("one")
    elif a or b:
        out.append("two")
    if b is None:
        out.append("none")
    if a is not None and b:
        out.append("some")
    value = a or b or "nothing"
    other = a and b
    return out, value, other, (1 if a else 2)


def loops(n):
    total = 0
    for i in range(n):
        for j in [1, 2, 3]:
            if j == 2:
                continue
            if i == 3:
                break
            total += i * j
        else:
            total += 100
    k = 0
    while k < n:
        k += 1
        if k == 4:
            break
    while True:
        k -= 1
        if not k:
            break
    return total, k


def comprehensions(items):
    x = "outer"
    squares = [x * x for x in items if x % 2]
    pairs = {(a, b): a + b for a in items for b in items if a < b}
    names = {str(y) for y in items}
    lazy = sum(z + 1 for z in items)
    nested = [[a * b for a in items] for b in items]
    return x, squares, pairs, names, lazy, nested


def comprehension_unset(items):
    result = [late for late in items]
    late = 5
    functions = [lambda: late for late in items]
    return result, late, [f() for f in functions]


def closures(n):
    count = n

    def add(by=1, *, twice=False):
        nonlocal count
        count += by * (2 if twice else 1)
        return count

    def cell_argument():
        return n + count

    add()
    add(5)
    add(by=2, twice=True)
    first = cell_argument()
    del count
    count = 7
    return first, add(), cell_argument()


def calls(a, log):
    def target(*args, **kwargs):
        log.append((args, kwargs))
        return len(args) + len(kwargs)

    extra = (1, 2)
    named = {"p": 3}
    results = [
        target(),
        target(a, 2),
        target(a, k=1),
        target(k=a, j=2),
        target(*extra),
        target(a, *extra, 9),
        target(*[a, a]),
        target(**named),
        target(a, *extra, q=1, **named),
        target(*extra, **named, **{"r": 4}),
        target(*(i for i in extra)),
    ]
    return results, log


def methods(n):
    d = Derived()
    text = "a-b-c"
    bound = d.area
    return (
        d.area(n), d.area(n, k=2), bound(n), bound(n, k=3), Base.area(d, n), d.twice, d.x_any(n),
        text.split("-"), text.upper().lower(), [3, 1, 2].index(1), {}.get("q", n),
    )  # fmt: skip


def attributes(n):
    d = Derived()
    d.scale = n
    d.scale += 2
    d.extra = d.scale
    del d.extra
    return d.scale, hasattr(d, "extra"), getattr(d, "scale")


def subscripts(items):
    out = list(items)
    out[0] = out[-1]
    out[1] += 10
    out[1:3] = out[2:4]
    del out[0]
    table = {"a": 1}
    table["b"] = table["a"]
    del table["a"]
    return out, out[:2], out[::2], table, out[1:], items[-2:]


def builds(a, b):
    t = (a, b)
    m = [a, *t, b]
    s = {a, *t}
    d = {"x": a, **{"y": b}, "z": t}
    k = {"p": 1, "q": 2, "r": a}
    c = (*t, *m)
    return t, m, s, d, k, c, [1, 2, 3, 4], {1, 2, 3, a}


def unpacking(items):
    a, b, *c = items
    *d, e = items
    (f, g), h = (a, b), c
    i, *j, k = iter(items)
    a, b = b, a
    a, b, g = g, a, b
    return a, b, c, d, e, f, g, h, i, j, k


def formatting(a, b):
    width = 8
    return f"{a}", f"{a!r:>{width}}|{b!s}|{b!a}", f"{a:.3f}{b}", f"plain", f"{a=}", f"{'x'}{b}"


def try_except(n, log):
    for i in range(n):
        try:
            log.append(i)
            if i == 1:
                raise ValueError("one")
            if i == 2:
                {}["missing"]
            if i == 3:
                [][1]
            log.append("fine")
        except ValueError as error:
            log.append(str(error))
        except KeyError:
            log.append("key")
            continue
        except IndexError:
            try:
                raise TypeError("inner")
            except TypeError as inner:
                log.append(type(inner.__context__).__name__)
        else:
            log.append("else")
        finally:
            log.append("finally")
    return log


def first_in_try(log):
    x = 1
    try:
        del x
        y = 2
    except Exception as error:
        y = type(error).__name__
    z = y
    log.append(z)
    return log


def try_return(n):
    try:
        if n:
            return "early"
        n = 5
    finally:
        n += 1
    return n


def handled_unbound(log):
    try:
        if not log:
            never = 1
        never
    except UnboundLocalError as error:
        log.append(str(error))
    try:
        undefined_global_name
    except NameError as error:
        log.append((str(error), error.name))
    try:
        a, b = [1, 2, 3]
    except ValueError as error:
        log.append(str(error))
    try:
        a, b, *c = (1,)
    except ValueError as error:
        log.append(str(error))
    try:
        a, b = iter([1])
    except ValueError as error:
        log.append(str(error))
    try:
        a, *c, b, d = iter([1, 2])
    except ValueError as error:
        log.append(str(error))
    try:
        a, b = 5
    except TypeError as error:
        log.append(str(error))
    try:
        len(*5)
    except TypeError as error:
        log.append(str(error))
    try:
        dict(**{"a": 1}, **{"a": 2})
    except TypeError as error:
        log.append(str(error))
    return log


def uses_with(log):
    with Manager(log) as m:
        log.append(m is not None)
    with Manager(log, (ValueError,)), Manager(log) as n:
        log.append("both")
        raise ValueError
    with Manager(log):
        for i in range(2):
            with Manager(log):
                if i:
                    continue
                log.append(i)
    return log


def return_in_with(log):
    for i in range(3):
        with Manager(log):
            if i == 1:
                return i, log


def matching(values):
    out = []
    for v in values:
        match v:
            case 0:
                out.append("zero")
            case [a, b]:
                out.append((a, b))
            case [a, *rest]:
                out.append((a, rest))
            case {"k": x, **more}:
                out.append((x, more))
            case str(s) if len(s) > 2:
                out.append(s)
            case Base(scale=q):
                out.append(q)
            case _:
                out.append("other")
    return out


counter = 0


def global_names(n):
    global counter, transient
    counter = n
    counter += 1
    transient = counter
    del transient
    return counter, len([n]), abs(-n)


def imports():
    import os.path
    from collections import OrderedDict as ordered
    from os import path as p

    return os.path.join("a", "b"), ordered().__class__.__name__, p is os.path


def makes_class(n):
    class Local(Base):
        size = n

        def get(self) -> int:
            return self.size + n

    def annotated(a: int, b: "str" = "x", *, c: float = 1.0) -> None:
        return a, b, c

    return Local().get(), annotated(1), sorted(annotated.__annotations__), annotated.__kwdefaults__


def asserts(n):
    assert n, "must not be zero"
    assert isinstance(n, int)
    return n


def deletes(n):
    x = n
    del x
    x = [n]
    y = x
    del x
    return y


def only_constant(n):
    if n:
        return 3
    return None


def returns_nothing(log):
    log.append(1)


def walrus(items):
    if (n := len(items)) > 2 and (m := items[0]):
        return n, m
    return n


def chained(a, b, c):
    return a < b < c, (a < b < c) or c, [a < x <= c for x in (a, b, c)]


def generators(n):
    def produce(k):
        for i in range(k):
            yield i * 2

    return list(produce(n)), sum(produce(n)), [a for a in produce(n)], tuple(zip(produce(n), "abc"))


def except_star(log):
    try:
        raise ExceptionGroup("many", [ValueError(1), TypeError(2)])
    except* ValueError as group:
        log.append(len(group.exceptions))
    except* TypeError:
        log.append("type")
    return log


def long_jumps(n):
    """EXTENDED_ARG before FOR_ITER and jumps."""
    total = 0
    for i in range(n):
        if i > 1:
            total += i * 1 + i * 2 + i * 3 + i * 4 + i * 5 + i * 6 + i * 7 + i * 8 + i * 9 + i * 10
            total += i * 1 + i * 2 + i * 3 + i * 4 + i * 5 + i * 6 + i * 7 + i * 8 + i * 9 + i * 10
            total += i * 1 + i * 2 + i * 3 + i * 4 + i * 5 + i * 6 + i * 7 + i * 8 + i * 9 + i * 10
            total += i * 1 + i * 2 + i * 3 + i * 4 + i * 5 + i * 6 + i * 7 + i * 8 + i * 9 + i * 10
            total += i * 1 + i * 2 + i * 3 + i * 4 + i * 5 + i * 6 + i * 7 + i * 8 + i * 9 + i * 10
            total += i * 1 + i * 2 + i * 3 + i * 4 + i * 5 + i * 6 + i * 7 + i * 8 + i * 9 + i * 10
            total += i * 1 + i * 2 + i * 3 + i * 4 + i * 5 + i * 6 + i * 7 + i * 8 + i * 9 + i * 10
        else:
            total -= 1
    return total


def defaults(a, b=2, /, c=3, *rest, d=4, e, **more):
    return a, b, c, rest, d, e, more


CASES = [
    (straight, lambda: ((7, 3), {})),
    (comparisons, lambda: ((1, 2), {})),
    (branches, lambda: ((1,), {})),
    (branches, lambda: ((0, 2), {})),
    (loops, lambda: ((5,), {})),
    (comprehensions, lambda: (([1, 2, 3],), {})),
    (comprehension_unset, lambda: (([1, 2],), {})),
    (closures, lambda: ((3,), {})),
    (calls, lambda: ((5, []), {})),
    (methods, lambda: ((4,), {})),
    (attributes, lambda: ((4,), {})),
    (subscripts, lambda: (([1, 2, 3, 4, 5],), {})),
    (builds, lambda: ((1, 2), {})),
    (unpacking, lambda: (([1, 2, 3, 4],), {})),
    (formatting, lambda: ((1.5, "é"), {})),
    (try_except, lambda: ((5, []), {})),
    (first_in_try, lambda: (([],), {})),
    (try_return, lambda: ((0,), {})),
    (try_return, lambda: ((1,), {})),
    (handled_unbound, lambda: ((["x"],), {})),
    (uses_with, lambda: (([],), {})),
    (return_in_with, lambda: (([],), {})),
    (matching, lambda: (([0, [1, 2], [1, 2, 3], {"k": 1, "l": 2}, "text", Derived(), 9],), {})),
    (global_names, lambda: ((4,), {})),
    (imports, lambda: ((), {})),
    (makes_class, lambda: ((4,), {})),
    (asserts, lambda: ((4,), {})),
    (asserts, lambda: ((0,), {})),
    (deletes, lambda: ((4,), {})),
    (only_constant, lambda: ((1,), {})),
    (returns_nothing, lambda: (([],), {})),
    (walrus, lambda: (([1, 2, 3],), {})),
    (chained, lambda: ((1, 2, 3), {})),
    (generators, lambda: ((4,), {})),
    (except_star, lambda: (([],), {})),
    (long_jumps, lambda: ((4,), {})),
    (defaults, lambda: ((1,), {"e": 5, "z": 6})),
    (defaults, lambda: ((1, 2, 3, 4, 5), {"e": 5, "d": 0})),
]
