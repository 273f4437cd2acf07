"""Sets and frozensets."""

from constructs import X, construct

NAMES = frozenset({"a", "b", "c"})


@construct("set display and membership", X, 3)
def display(x, n):
    s = {1, 2, n}
    return 3 in s, 9 not in s, len(s), x + 1


@construct("order of a set is CPython's", X)
def order(x):
    return list({33, 1, 17, 9, 5}), [n for n in {"b", "a", "c"}], x * 2


@construct("set algebra", X, {1, 2, 3})
def algebra(x, s):
    return s | {9}, s & {1, 3}, s - {1}, s ^ {3, 4}, list(s | {17, 33, 9, 65}), -x


@construct("set methods that give a set", X, {1, 2})
def methods(x, s):
    return s.union([3], (4,)), s.difference({1}), s.intersection([2]), s.copy(), x + 1


@construct("set methods that change", X, {1, 2, 3})
def changes(x, s):
    s.add(9)
    s.discard(77)
    s.remove(1)
    s.update([4, 5], {6})
    s.difference_update({2})
    return sorted(s), x * len(s)


@construct("set operators in place", X, {1, 2, 3, 4})
def in_place(x, s):
    other = s
    s |= {8}
    s &= {1, 2, 8}
    s -= {2}
    s ^= {5}
    return other is s, sorted(s), x + 1


@construct("set walked after it was changed", X, {1, 2, 17})
def walked(x, s):
    s.discard(1)
    s.add(33)
    return list(s), x + 1


@construct("set.pop takes what CPython takes", X, {5, 6})
def popped(x, s):
    return s.pop(), {3}.pop(), x * 2


@construct("comparison of sets", X, {1, 2})
def comparison(x, s):
    return s <= {1, 2, 3}, s < {1, 2}, s == {2, 1}, s.isdisjoint({7}), s.issuperset([1]), x - 1


@construct("set and dict comprehensions", X)
def comprehension(x):
    return {n % 3 for n in range(7)}, {c for c in "hello"}, x + 1


@construct("frozensets", X)
def frozen(x):
    f = frozenset([1, 2, 1])
    return f | {3}, hash(f) == hash(frozenset({2, 1})), {f: 1}[frozenset((1, 2))], x * 2


@construct("frozenset of the module", X, "a")
def known(x, name):
    return name in NAMES, sorted(NAMES), x + len(NAMES)


@construct("set of a string and of a dict", X, {"k": 1})
def made(x, d):
    return set("aab") == {"a", "b"}, set(d), x + 1


@construct("set that went through deletions", X)
def deletions(x):
    s = set(range(10))
    for n in range(0, 10, 2):
        s.remove(n)
    s.add(40)
    return s, list(s), x * 2


@construct("set errors handled", X)
def errors(x):
    try:
        set().pop()
    except KeyError as error:
        message = str(error)
    try:
        {1}.remove(2)
    except KeyError as error:
        return message, error.args, x + 1
