"""Containers of the library's and the program's own classes, from outside."""

from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np

from constructs import X, construct


def ordered():
    return OrderedDict(a=1.0, b=2.0, c=3.0)


# ---- OrderedDict ----


@construct("OrderedDict argument: items by key", X, ordered())
def ordered_items(x, d):
    return x * d["a"] + d["b"], d.get("z", 4.0), "b" in d, len(d)


@construct("OrderedDict argument walked", X, ordered())
def ordered_walk(x, d):
    for name, value in d.items():
        x = x * value + len(name)
    return x, list(d), list(d.values()), list(reversed(d))


@construct("OrderedDict argument: an item stored and one deleted", X, ordered())
def ordered_store(x, d):
    d["z"] = x * 2
    del d["a"]
    d["b"] += 1
    return d["z"] + d["b"]


@construct("OrderedDict argument: move_to_end", X, ordered())
def ordered_move(x, d):
    d.move_to_end("a")
    d.move_to_end("c", last=False)
    return x + 1, list(d)


@construct("OrderedDict argument: popitem from either end", X, ordered())
def ordered_popitem(x, d):
    last, first = d.popitem(), d.popitem(last=False)
    return x * last[1] + first[1], d


@construct("OrderedDict argument: update, pop and setdefault", X, ordered())
def ordered_update(x, d):
    d.update({"q": x * 2}, w=1)
    d |= {"e": 5}
    return x * d.pop("a"), d.setdefault("f", 2), d.setdefault("b", 3)


@construct("OrderedDict argument compared by order", X, ordered())
def ordered_compare(x, d):
    same = OrderedDict(c=3.0, b=2.0, a=1.0)
    return x * 2, d == same, d == {"c": 3.0, "b": 2.0, "a": 1.0}, d != same


@construct("OrderedDict argument: a cache of the least recently used", X, ordered(), "b")
def ordered_cache(x, cache, key):
    if key in cache:
        cache.move_to_end(key)
    else:
        cache[key] = 0.0
    if len(cache) > 2:
        cache.popitem(last=False)
    return x * cache[key]


# ---- defaultdict ----


@construct("defaultdict argument: what is missing is made", X, defaultdict(float, a=1.0))
def default_missing(x, d):
    return x * d["a"] + d["new"], len(d), d.get("other")


@construct("defaultdict argument counts", X, defaultdict(int))
def default_counts(x, counts):
    for word in ("a", "b", "a"):
        counts[word] += 1
    return x * counts["a"]


@construct("defaultdict argument of lists", X, defaultdict(list, a=[1.0]))
def default_lists(x, groups):
    groups["a"].append(x * 2)
    groups["b"].append(3.0)
    return x + len(groups)


@construct("defaultdict argument: a factory of Python code", X, defaultdict(lambda: 2.5))
def default_lambda(x, d):
    return x * d["k"]


@construct("defaultdict argument without a factory: KeyError is caught", X, defaultdict(None))
def default_none(x, d):
    try:
        return d["k"]
    except KeyError as error:
        return x * 2, error.args


@construct("defaultdict argument: type, factory and copy", X, defaultdict(int, a=1))
def default_copy(x, d):
    made = d.copy()
    made["b"] += 2
    return x + made["b"], type(d) is defaultdict, isinstance(d, dict), d.default_factory, made


WEIGHTS = defaultdict(float, {"w": 2.0, "b": 0.5})


@construct("defaultdict as a global, as **, in dict()", X)
def default_global(x):
    return x * WEIGHTS["w"] + WEIGHTS["b"], {**WEIGHTS}, dict(WEIGHTS)


class Log:
    def __init__(self):
        self.rows = None

    def add(self, name, value):
        self.rows[name].append(value)


@construct("defaultdict in an attribute", X, defaultdict(list))
def default_attribute(x, d):
    log = Log()
    log.rows = d
    log.add("loss", float(x.sum()))
    return x * 2


# ---- Counter ----


@construct("Counter argument: what is missing is 0", X, Counter("aab"))
def counter_missing(x, c):
    return x * c["a"] + c["none"], len(c), "none" in c


@construct("Counter argument: update and subtract", X, Counter("aab"))
def counter_update(x, c):
    c.update("abz")
    c.update({"k": 3}, b=2)
    c.subtract("a")
    c["z"] += 2
    return x * c["a"], c.total()


@construct("Counter argument: most_common and elements", X, Counter(a=1, b=3))
def counter_common(x, c):
    return x * c.most_common(1)[0][1], list(c.elements())


@construct("Counter argument: an item that is not there is deleted", X, Counter("aab"))
def counter_delete(x, c):
    del c["nothing"], c["b"]
    return x * len(c)


@construct(
    "Counter arguments: sum, difference, union and intersection", X, Counter("aab"), Counter("bbc")
)
def counter_algebra(x, a, b):
    return x * 2, a + b, a - b, a | b, a & b


@construct("Counter arguments: operators in place", X, Counter("aab"), Counter("bbc"))
def counter_in_place(x, a, b):
    c = a
    a += b
    a -= Counter("a")
    first = a["b"]
    a |= Counter("zz")
    a &= Counter("abbbzzz")
    return x * first, c is a


@construct("Counter arguments compared", X, Counter("aab"), Counter("bbc"))
def counter_compare(x, a, b):
    return x * 2, a == b, a != b, a == Counter(a=2, b=1)


# ---- deque ----


@construct("deque argument: items by index", X, deque([1.0, 2.0, 3.0]))
def deque_index(x, d):
    return x * d[0] + d[-1], len(d), 2.0 in d, d.maxlen, bool(d)


@construct("deque argument walked", X, deque([1.0, 2.0, 3.0]))
def deque_walk(x, d):
    total = 0.0
    for value in d:
        total += value
    return x * total, sum(d) / len(d), list(reversed(d)), max(d)


@construct("deque argument: both ends", X, deque([1.0, 2.0, 3.0]))
def deque_ends(x, d):
    d.append(x * 2)
    d.appendleft(5.0)
    return d.pop() + d.popleft(), d.popleft()


@construct("deque argument with maxlen is a window", X, deque([1.0, 2.0, 3.0], 3))
def deque_window(x, d):
    d.append(float(x.sum()))
    return x * (sum(d) / len(d))


@construct("deque argument with maxlen: appendleft", X, deque([1.0, 2.0, 3.0], 3))
def deque_window_left(x, d):
    d.appendleft(x + 1)
    return x * 2, d[1]


@construct("deque argument with room for nothing", X, deque([], 0))
def deque_of_nothing(x, d):
    d.append(1.0)
    d.appendleft(2.0)
    return x * 2, len(d)


@construct("deque argument: extend, extendleft and +=", X, deque([1.0]))
def deque_extend(x, d):
    d.extend([2.0, 3.0])
    d.extendleft((4.0, 5.0))
    d += [x * 2]
    return x + d[0]


@construct("deque argument: an item stored and one deleted", X, deque([1.0, 2.0, 3.0]))
def deque_store(x, d):
    d[0] = x * 2
    del d[1]
    d[-1] += 1
    return d[0] + d[1]


@construct("deque argument: rotate and reverse", X, deque([1.0, 2.0, 3.0, 4.0]))
def deque_rotate(x, d):
    d.rotate(1)
    d.rotate(-3)
    d.reverse()
    return x * d[0], list(d)


@construct("deque argument: clear", X, deque([1.0, 2.0]))
def deque_clear(x, d):
    d.clear()
    d.append(x * 2)
    return d[0] + 1


@construct("deque argument: insert, remove, index and count", X, deque([1.0, 2.0, 3.0]))
def deque_insert(x, d):
    d.insert(1, 9.0)
    d.remove(2.0)
    return x * d.index(3.0), d.count(9.0)


@construct("deque argument as a queue", X, deque([1.0, 2.0, 3.0]))
def deque_queue(x, queue):
    while queue:
        x = x * queue.popleft() + 1
    return x


@construct("deque argument that is only appended to", X, deque([1.0], 5))
def deque_log(x, log):
    log.append(float(x.sum()))
    return x * 2 + 1


@construct("deque argument: arrays in it", X, deque([X + 1, X * 2], 2))
def deque_arrays(x, d):
    d.append(x)
    return np.mean(np.stack(list(d)), axis=0)


@construct("deque arguments copied, compared and added", X, deque([1.0, 2.0]), deque([3.0], 4))
def deque_copy(x, a, b):
    return x * 2, a.copy(), b.copy(), a == b, a != b, a + b


# ---- classes derived from dict ----


class Config(dict):
    def __missing__(self, key):
        return 7.0

    def scaled(self, k):
        return self["a"] * k

    @property
    def bias(self):
        return self.get("b", 1.0)


class Fields(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


class Logged(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.log = []

    def __setitem__(self, key, value):
        self.log.append(key)
        super().__setitem__(key, value * 2)

    def __getitem__(self, key):
        return super().__getitem__(key) + 1


class Folded(dict):
    def __getitem__(self, key):
        return dict.__getitem__(self, key.lower())

    def __contains__(self, key):
        return super().__contains__(key.lower())


class Slots(dict):
    __slots__ = ("k",)


class Words(Counter):
    def top(self):
        return max(self.values())


@construct("a class derived from dict: items, __missing__, methods", X, Config(a=2.0, b=0.5))
def dict_read(x, c):
    return x * c["a"] + c["nothing"], c.scaled(3), c.bias, len(c), "a" in c, c.get("q")


@construct("a class derived from dict: stored, deleted, updated", X, Config(a=2.0, b=0.5))
def dict_store(x, c):
    c["n"] = x * 2
    del c["a"]
    c.update({"q": 1}, k=3)
    c.tag = "t"
    return x * c.pop("b"), c.setdefault("z", 5), c.tag


@construct("a class derived from dict: walked, spread and copied", X, Config(a=2.0, b=0.5))
def dict_walk(x, c):
    for key, value in c.items():
        x = x * value + len(key)
    return x, list(c), list(reversed(c)), {**c}, dict(c), sorted(c), c.copy()


@construct("a class derived from dict: operators", X, Config(a=2.0))
def dict_operators(x, c):
    made = c | {"z": 1}
    c |= {"w": 2}
    return x * 2, made, c == {"a": 2.0, "w": 2}, c != made, bool(c)


@construct("a class derived from dict: made inside", X)
def dict_made(x):
    c = Config(a=x * 2)
    c["b"] = 3
    c.note = "made"
    return c, c["nothing"] + len(c)


@construct("a class derived from dict: items as attributes", X, Fields(a=2.0))
def dict_fields(x, f):
    f.q = x * f.a
    return f.q + f["a"], hasattr(f, "nothing")


@construct("a class derived from dict: items as attributes, made inside", X)
def dict_fields_made(x):
    f = Fields(a=1.0)
    f.b = x * f.a + 1
    return f


@construct("a class derived from dict: __setitem__ and __getitem__ with super()", X)
def dict_overrides(x):
    c = Logged(a=1.0)
    c["z"] = x
    c.update(q=4.0)
    return x * c["z"], c.log, c.get("q"), c


@construct("a class derived from dict: keys without case", X, Folded(a=1.5))
def dict_folded(x, c):
    return x * c["A"], "A" in c, c.get("A")


@construct("a class derived from dict with slots", X, Slots(a=1.0))
def dict_slots(x, c):
    c.k = x * 2
    return c.k + c["a"]


@construct("a class derived from dict: KeyError is caught", X, Slots(a=1.0))
def dict_error(x, c):
    try:
        return c["nothing"]
    except KeyError as error:
        return x * 2, error.args


@construct("a class derived from Counter", X, Words("aab"))
def dict_counter(x, w):
    w["q"] += 5
    return x * w.top(), w["nothing"], w


# ---- classes derived from list ----


class Vector(list):
    def dot(self, other):
        return sum(a * b for a, b in zip(self, other))

    def __add__(self, other):
        return Vector(a + b for a, b in zip(self, other))

    @property
    def norm(self):
        return self.dot(self) ** 0.5


class Stack(list):
    push = list.append

    def peek(self):
        return self[-1]

    def __len__(self):
        return 100

    def __iter__(self):
        return iter([9.0, 8.0])


class Doubled(list):
    def append(self, value):
        super().append(value * 2)


class Range(list):
    def __new__(cls, n):
        made = super().__new__(cls)
        made.via = "new"
        return made

    def __init__(self, n):
        super().__init__(range(n))


@construct("a class derived from list: items and methods", X, Vector([1.0, 2.0]))
def list_read(x, v):
    return x * v.dot(v), v.norm, v[0] + v[-1], v[:1], type(v[:1]), len(v), 2.0 in v, v.index(2.0)


@construct("a class derived from list: changes", X, Vector([1.0, 2.0]))
def list_changes(x, v):
    v.append(x * 2)
    v[0] = 5.0
    v.extend([1, 2])
    v += [3]
    v.insert(0, v.pop(1))
    v.reverse()
    del v[0]
    v.unit = "m"
    return v[-1] * 2, v.unit


@construct("a class derived from list: sorted, sliced, emptied", X, Vector([3.0, 1.0, 2.0]))
def list_sorts(x, v):
    v.sort(key=lambda item: -item)
    v[1:2] = [7.0, 8.0]
    v.remove(7.0)
    v *= 2
    last = v[-1]
    v.clear()
    v.append(last)
    return x * last


@construct("a class derived from list: walked and unpacked", X, Vector([3.0, 1.0]))
def list_walk(x, v):
    first, second = v
    for value in v:
        x = x * value
    return x + first, second, max(*v), [*v], tuple(v), list(reversed(v)), sorted(v), sum(v)


@construct("a class derived from list: operators", X, Doubled([1.0, 2.0]), Doubled([1.0]))
def list_operators(x, v, w):
    return x * 2, v + [1], [0] + v, v * 2, v == [1.0, 2.0], v < [3], v != w, type(v + w), v.copy()


@construct("a class derived from list: made inside", X)
def list_made(x):
    v = Vector([1.0, 2.0])
    v.append(x * 2)
    v.unit = "m"
    w = v + v
    return v, w, type(w) is Vector


@construct("a class derived from list: __len__ and __iter__ of its own", X, Stack([1.0]))
def list_overrides(x, s):
    s.push(x * 2)
    return s.peek() + len(s), list(s), [*s], sum(s), bool(s)


@construct("a class derived from list: append with super()", X, Doubled([1.0]))
def list_super(x, v):
    v.append(x)
    v.extend([1.0])
    list.append(v, 5.0)
    return x + v[-1]


@construct("a class derived from list: __new__ and __init__", X)
def list_new(x):
    made = Range(3)
    return x * made[-1], made, made.via


@construct("a class derived from list that holds itself", X)
def list_itself(x):
    v = Doubled()
    v.extend([v, x * 2])
    return v


QUEUE = Vector([1.0])
SETTINGS = Config(rate=0.5)


@construct("classes derived from list and dict: globals", X)
def derived_globals(x):
    return x * SETTINGS["rate"] + SETTINGS["nothing"] + QUEUE[0], len(QUEUE)


@construct(
    "classes derived from list and dict: one in the other", X, Config(v=Vector([1.0]), w=0.5)
)
def derived_nested(x, c):
    c["v"].append(x * c["w"])
    c["w"] += 1.0
    return c["v"][-1] + c["w"]
