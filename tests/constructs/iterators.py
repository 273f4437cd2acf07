"""Iterators and itertools."""

import itertools
import operator

from constructs import M, X, Y, construct


@construct("chain and chain.from_iterable", X, Y)
def chain(x, y):
    return (
        sum(itertools.chain([x, y], (x * y,))),
        list(itertools.chain.from_iterable([[x, 1], (2, y)])),
        list(itertools.chain()),
    )


@construct("islice with stop, start and step", X)
def islice(x):
    powers = (x * i for i in itertools.count())
    a = list(itertools.islice(powers, 3))
    b = list(itertools.islice(powers, 1, 6, 2))
    return (
        a,
        b,
        next(powers),
        list(itertools.islice([1, 2], 5)),
        list(itertools.islice("abc", 1, None)),
    )


@construct("islice takes nothing beyond its end", X)
def islice_end(x):
    it = iter([x, 1, 2, 3, 4, 5, 6, 7])
    return list(itertools.islice(it, 0, 5, 3)), list(it), x + 1


@construct("count with a step", X)
def count(x):
    return [x * i for i, _ in zip(itertools.count(2, 3), range(3))], [
        x + f for _, f in zip(range(2), itertools.count(0.5, 0.25))
    ]


@construct("cycle", X, Y)
def cycle(x, y):
    turns = itertools.cycle([x, y])
    total = x * 0
    for i in range(5):
        total = total + next(turns) * i
    return total


@construct("repeat, with and without a number", X)
def repeat(x):
    return list(itertools.repeat(x + 1, 2)), [a * b for a, b in zip(itertools.repeat(x), (1, 2, 3))]


@construct("accumulate", X)
def accumulate(x):
    return (
        list(itertools.accumulate([x, x * 2, x * 3])),
        list(itertools.accumulate([1, 2, 3, 4], operator.mul)),
        list(itertools.accumulate([x, 2.0], lambda a, b: a * b, initial=1)),
        list(itertools.accumulate([])),
    )


@construct("product of two iterables, and with repeat", X)
def product(x):
    total = x * 0
    for i, j in itertools.product(range(2), (3, 4)):
        total = total + x * i + j
    return (
        total,
        list(itertools.product("ab", repeat=2)),
        list(itertools.product()),
        list(itertools.product([x], [])),
    )


@construct("permutations", X)
def permutations(x):
    return [x * a - b for a, b in itertools.permutations([1, 2, 3], 2)], len(
        list(itertools.permutations(range(3)))
    )


@construct("combinations, plain and with replacement", M)
def combinations(m):
    pairs = [a * b for a, b in itertools.combinations(m, 2)]
    more = list(itertools.combinations_with_replacement("abc", 2))
    return (
        pairs,
        more,
        list(itertools.combinations([1, 2], 3)),
        list(itertools.combinations([1], 0)),
    )


@construct("groupby", X)
def groupby(x):
    runs = [(k, len(list(g))) for k, g in itertools.groupby([1, 1, 2, 2, 2, 1])]
    sums = []
    for key, group in itertools.groupby(range(6), key=lambda i: i // 2):
        sums.append(sum(x * i for i in group) + key)
    return runs, sums


@construct("groupby whose groups are not consumed", X)
def groupby_keys(x):
    return [k for k, _ in itertools.groupby("aabbbc")], x * len(list(itertools.groupby([])))


@construct("starmap", X, Y)
def starmap(x, y):
    return list(itertools.starmap(lambda a, b: a - b, [(x, y), (y, 1.0)])), list(
        itertools.starmap(pow, [(2, 3), (3, 2)])
    )


@construct("takewhile and dropwhile", X)
def while_(x):
    numbers = [1, 2, 5, 1, 0]
    small = list(itertools.takewhile(lambda n: n < 4, numbers))
    rest = list(itertools.dropwhile(lambda n: n < 4, numbers))
    return x * sum(small), small, rest


@construct("filterfalse and compress", X)
def filterfalse(x):
    return (
        list(itertools.filterfalse(lambda n: n % 2, range(6))),
        list(itertools.filterfalse(None, [0, 1, "", 2])),
        list(itertools.compress([x, x + 1, x + 2], [1, 0, True])),
    )


@construct("pairwise", M)
def pairwise(m):
    return [b - a for a, b in itertools.pairwise(m)], list(itertools.pairwise([1]))


@construct("tee", X)
def tee(x):
    a, b = itertools.tee(x * i for i in range(4))
    next(b)
    return [q - p for p, q in zip(a, b)], list(a)


@construct("zip_longest", X)
def zip_longest(x):
    return (
        [a * b for a, b in itertools.zip_longest([x, x + 1], [2], fillvalue=3)],
        list(itertools.zip_longest("ab", range(3), [])),
        list(itertools.zip_longest()),
    )


@construct("filter with None and with a function", X)
def filter_(x):
    return list(filter(None, [0, 1, 2, ""])), [x * n for n in filter(lambda n: n > 1, range(4))]


@construct("map over several iterables", X, Y)
def map_(x, y):
    return list(map(lambda a, b, c: a * b + c, [x, y], (2, 3), range(9))), list(
        map(operator.add, [x, 1], [y, 2])
    )


@construct("enumerate with a start", M)
def enumerate_(m):
    return [row * i for i, row in enumerate(m, 1)], list(enumerate("ab", start=5))


@construct("zip with strict", X, Y)
def zip_strict(x, y):
    return [a * b for a, b in zip([x, y], (1, 2), strict=True)]


@construct("zip of iterators that survive", X)
def zip_survivor(x):
    a, b = iter([x, 1, 2, 3]), iter([4, 5])
    return list(zip(a, b)), list(a), x + 1


@construct("sum with a start", X)
def sum_(x):
    return sum([x, x], x * 3), sum([[1], [2]], []), sum((i for i in range(4)), start=10), sum([])


@construct("iteration over dict views", X, Y)
def views(x, y):
    d = {"a": x, "b": y}
    total = x * 0
    for k, v in d.items():
        total = total + v * len(k)
    return total, list(d.keys()), [v + 1 for v in d.values()], list(d), dict(zip(d, d.values()))


@construct("iteration over strings, bytes and arrays", M)
def things(m):
    return [ord(c) for c in "ab"], list(b"xy"), [row.sum() for row in m], [v * 2 for v in m[0]]


@construct("star expressions in calls and displays", X)
def stars(x):
    def f(*args, **kwargs):
        return args, kwargs

    x = x * 2 - 1
    return f(*[x, 1], *range(2), a=3, **{"b": x}), [*"ab", *(1, 2)], (*[x],), {**{"k": x}, "l": 1}


@construct("unpacking with a star in the middle", M)
def unpack_ex(m):
    first, *middle, last = m
    (a, *b), c = "xyz", 3
    for i, *rest in [(1, 2, 3), (4,)]:
        pass
    return first - last, middle, a, b, c, i, rest


@construct("any and all stop early", X)
def any_all(x):
    it = iter([0, 1, 2])
    return any(it), list(it), all(n for n in (1, 0)), all([]), any([]), x + 1


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n


class Sequence:
    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Reversible:
    def __reversed__(self):
        yield 1
        yield 2

    def __len__(self):
        return 4


class Told:
    """Notes in what order it is asked for what."""

    def __init__(self, n, log):
        self.n = n
        self.log = log

    def __iter__(self):
        self.log.append("iter")
        return self

    def __next__(self):
        self.log.append("next")
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


class Sized(Told):
    def __len__(self):
        self.log.append("len")
        return 7


class Unsized(Told):
    def __len__(self):
        self.log.append("len")
        raise TypeError


def unpacks(kind, log):
    first, *rest = kind(4, log)
    *most, last = kind(3, log)
    results = [first, rest, most, last]
    for n in (1, 5):
        try:
            a, b, c = kind(n, log)
        except ValueError as error:
            results.append(str(error))
        try:
            a, *b, c = kind(n, log)
        except ValueError as error:
            results.append(str(error))
    return results


def fills(kind, log):
    items = [1, 2, 3, 4, 5]
    items[:1] = kind(3, log)
    items[::2] = kind(4, log)
    return items


@construct("order of what iterators are asked in unpacking and slices", X)
def told_iterators(x):
    log, results = [], []
    for kind in (Told, Sized, Unsized):
        results.append(unpacks(kind, log))
        results.append(fills(kind, log))
    return x * len(log), log, results


@construct("class with __iter__ and __next__", X)
def iterator_class(x):
    total = x * 0
    for i in Countdown(4):
        total = total + x * i
    return total, list(Countdown(2)), sum(Countdown(5)), next(Countdown(3))


@construct("class with __next__ in zip, enumerate and unpacking", X)
def iterator_in_zip(x):
    a, b, c = Countdown(3)
    return (
        [x * i * j for i, j in zip(Countdown(3), Countdown(9))],
        list(enumerate(Countdown(2))),
        a,
        b,
        c,
    )


@construct("next with a default on an instance", X)
def next_default(x):
    it = Countdown(1)
    return x + next(it), next(it, "end"), next(it, None)


@construct("class with __getitem__ only, iterated", X)
def getitem_protocol(x):
    s = Sequence(x, x * 2, 3)
    return [v + 1 for v in s], len(s), list(reversed(s)), x * len(s)


@construct("iter with a sentinel", X)
def sentinel(x):
    numbers = [3, 2, 1, 0, 5]
    return list(iter(lambda: numbers.pop(0), 0)), numbers, x + 1


@construct("yield from an instance", X)
def from_instance(x):
    def g():
        yield from Countdown(2)
        yield from Sequence(x, x + 1)

    return list(g())


@construct("functions of operator", X, Y)
def operators(x, y):
    import operator as op

    return (
        op.add(x, y) - op.mul(x, 2),
        op.getitem([1, 2], 1),
        op.contains((1, 2), 2),
        op.neg(x),
        op.lt(1, 2),
        op.is_(x, x),
        op.not_([]),
        op.truth([0]),
        op.countOf([1, 2, 1], 1),
        op.concat([1], [2]),
    )


@construct("in-place functions of operator", X, Y)
def in_place(x, y):
    z = x + 0
    w = operator.iadd(z, y)
    n = operator.imul(3, 4)
    items = [1]
    operator.setitem(items, 0, n)
    return w is z, z, n, operator.iconcat(items, [2]), items


@construct("reversed of a list, a tuple, a range and a string", X)
def reversed_(x):
    return (
        [x * i for i in reversed([1, 2, 3])],
        list(reversed((x, 1))),
        list(reversed(range(3))),
        "".join(reversed("abc")),
    )


@construct("min and max with key and default", X)
def min_max(x):
    words = ["ccc", "a", "bb"]
    return (
        x * len(min(words, key=len)),
        max(words, key=lambda w: (len(w), w)),
        min([], default=x),
        max((), default=None),
        max(3, 7, 5, key=lambda n: -n),
    )


@construct("sorted with key and reverse", X)
def sorted_(x):
    pairs = [(2, x), (1, x + 1), (3, x - 1)]
    return (
        [a for _, a in sorted(pairs, key=lambda p: p[0])],
        sorted(["b", "C", "a"], key=str.lower, reverse=True),
        sorted([3, 1, 2], reverse=True),
        sorted([(1, "b"), (0, "z"), (1, "a")], key=lambda p: p[:1]),
    )


@construct("sorted is stable both ways", X)
def stable(x):
    items = [(1, "a"), (0, "b"), (1, "c"), (0, "d")]
    return sorted(items, key=lambda p: p[0]), sorted(items, key=lambda p: p[0], reverse=True), x + 1


@construct("__reversed__ and __len__", X)
def reversible(x):
    r = Reversible()
    return list(reversed(r)), x * len(r), bool(r)
