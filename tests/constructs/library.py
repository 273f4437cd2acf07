"""functools, operator, collections and copy."""

import copy
import functools
import operator
from collections import (
    ChainMap,
    Counter,
    OrderedDict,
    UserDict,
    UserList,
    defaultdict,
    deque,
    namedtuple,
)

import numpy as np

from constructs import X, construct

FIRST = operator.itemgetter(0)
ENDS = operator.itemgetter(0, -1)
PART = operator.itemgetter(slice(1, 4))
SHAPE = operator.attrgetter("T.shape")
AS_ROWS = operator.methodcaller("reshape", 2, 3)


class Model:
    def __init__(self, x, weight=1):
        self.x, self.weight = x, weight

    def scaled(self, k, shift=0):
        return self.x * k + shift

    @functools.cached_property
    def centre(self):
        return self.x.mean()


@functools.total_ordering
class Version:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __lt__(self, other):
        return self.n < other.n


@construct("operator.itemgetter from outside", X)
def itemgetter_outside(x):
    return FIRST([x, 1]) * 2 + 1


@construct("operator.itemgetter of several items", X)
def itemgetter_several(x):
    first, last = ENDS([x, 1, 2])
    return first * last + 1


@construct("operator.itemgetter of a slice, on an array", X)
def itemgetter_slice(x):
    return PART(x) * 2 + 1


@construct("operator.itemgetter made inside, as a key", X)
def itemgetter_key(x):
    rows = [(2, x), (1, x + 1), (3, x)]
    rows.sort(key=operator.itemgetter(0))
    return rows[0][1] * 2 + max(rows, key=FIRST)[0]


@construct("operator.itemgetter called at once", X)
def itemgetter_once(x):
    return operator.itemgetter(1)([x * 2 + 1, x + 1]), [operator.itemgetter(1).__class__.__name__]


@construct("operator.attrgetter of a path", X)
def attrgetter_outside(x):
    return x * SHAPE(x)[0] + 1


@construct("operator.attrgetter of an instance", X)
def attrgetter_several(x):
    x, weight = operator.attrgetter("x", "weight")(Model(x, 3))
    return x * weight + 1


@construct("operator.attrgetter as a key", X)
def attrgetter_key(x):
    models = sorted([Model(x, 3), Model(x + 1, 2)], key=operator.attrgetter("weight"))
    return models[0].x * 2 + 1


@construct("operator.methodcaller from outside", X)
def methodcaller_outside(x):
    return AS_ROWS(x) * 2 + 1


@construct("operator.methodcaller made inside", X)
def methodcaller_inside(x):
    return operator.methodcaller("scaled", 2, shift=1)(Model(x)) * 2


@construct("functools.cmp_to_key", X)
def cmp_to_key(x):
    rows = [3, 1, 2]
    rows.sort(key=functools.cmp_to_key(lambda a, b: b - a))
    return x * rows[0] + rows[1]


@construct("functools.total_ordering", X)
def total_ordering(x):
    older, newer = Version(1), Version(2)
    return (x + 1 if older <= newer else x - 1) * max(older, newer).n


@construct("functools.cached_property", X)
def cached_property(x):
    model = Model(x)
    return (x - model.centre) * model.centre, "centre" in vars(model)


@construct("defaultdict of lists", X)
def defaultdict_lists(x):
    groups = defaultdict(list)
    for name, value in [("a", x), ("b", 1), ("a", 2)]:
        groups[name].append(value)
    return groups["a"][0] * groups["a"][1] + len(groups)


@construct("defaultdict that is returned", X)
def defaultdict_leaves(x):
    counts = defaultdict(int, seen=1)
    counts["n"] += 3
    counts["x"] = x * 2 + 1
    return counts


@construct("defaultdict: get and in do not add", X)
def defaultdict_reads(x):
    d = defaultdict(lambda: 1.0, a=2.0)
    missing = d.get("b") is None and "b" not in d
    return x * d["b"] + len(d), missing, isinstance(d, dict), type(d) is defaultdict


@construct("defaultdict walked", X)
def defaultdict_items(x):
    weights = defaultdict(float, {"b": 2.0, "a": 3.0})
    for _name, weight in sorted(weights.items()):
        x = x * weight + 1
    return x


@construct("defaultdict: KeyError without a factory", X)
def defaultdict_missing(x):
    try:
        return defaultdict(None)["a"]
    except KeyError as error:
        return x * 2 + 1, error.args


@construct("defaultdict as ** and in dict()", X)
def defaultdict_spread(x):
    options = defaultdict(int, k=2)
    return Model(x).scaled(**options) + dict(options)["k"], {**options}


@construct("defaultdict: aliases see a change", X)
def defaultdict_alias(x):
    d = defaultdict(list)
    e = d
    e["a"].append(x + 1)
    return d["a"][0] * 2, d is e, d == {"a": e["a"]}


@construct("Counter of a string", X)
def counter_string(x):
    counts = Counter("abca")
    return x * counts["a"] + counts["z"] + len(counts)


@construct("Counter.most_common, total and update", X)
def counter_common(x):
    counts = Counter(a=3, b=1)
    counts.update(["b", "c"])
    return x * counts.most_common(1)[0][1] + counts.total(), counts.most_common()


@construct("Counter + and - Counter", X)
def counter_sum(x):
    both = Counter("aab") + Counter("bc")
    left = Counter("aab") - Counter("ab")
    return x * both["b"] + left["a"], both, left


@construct("Counter.elements", X)
def counter_elements(x):
    return x * len(list(Counter(a=2, b=1).elements()))


@construct("OrderedDict: move_to_end and popitem", X)
def ordered_moves(x):
    d = OrderedDict(a=2, b=x, c=1)
    d.move_to_end("a")
    d.move_to_end("b", last=False)
    name, value = d.popitem(last=False)
    return value * d["a"] + 1, name, list(d)


@construct("OrderedDict that is returned", X)
def ordered_leaves(x):
    return OrderedDict([("a", x * 2 + 1), ("b", 1)])


@construct("OrderedDict: comparison by order", X)
def ordered_equal(x):
    a, b = OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)
    return x * 2 + 1, a == b, a != b, a == {"b": 2, "a": 1}


@construct("deque with maxlen", X)
def deque_window(x):
    window = deque(maxlen=2)
    for i in range(4):
        window.append(x + i)
    return window[0] * window[1]


@construct("deque: both ends", X)
def deque_ends(x):
    d = deque([1, 2])
    d.appendleft(x)
    d.extend([4])
    d.rotate(1)
    first = d.popleft()
    return d.popleft() * first + d.pop() + len(d)


@construct("deque that is returned", X)
def deque_leaves(x):
    d = deque([x * 2 + 1], maxlen=3)
    d.append(1)
    return d


@construct("deque walked, searched and compared", X)
def deque_walk(x):
    d = deque([1, 2, 3])
    return x * sum(d) + 1, 2 in d, list(reversed(d)), d == deque([1, 2, 3]), d[-1]


@construct("deque as a queue", X)
def deque_queue(x):
    queue, total = deque([(x, 2)]), 0
    while queue:
        value, depth = queue.popleft()
        total = total + value
        if depth:
            queue.append((value * 2, depth - 1))
            queue.append((value + 1, depth - 1))
    return total


@construct("deque: IndexError", X)
def deque_empty(x):
    try:
        deque().pop()
    except IndexError as error:
        return x * 2 + 1, str(error)


@construct("deque: changed while it is walked", X)
def deque_changed(x):
    d = deque([1, 2])
    try:
        for item in d:
            d.append(item)
    except RuntimeError:
        return x * 2 + len(d)


@construct("ChainMap", X)
def chain_map(x):
    scopes = ChainMap({"a": x}, {"a": 1, "b": 2}).new_child({"c": 3})
    scopes["c"] = 5
    return scopes["a"] * scopes["b"] + scopes["c"] + len(scopes)


@construct("UserDict and UserList", X)
def user_containers(x):
    d, items = UserDict(a=x), UserList([1])
    d["b"] = 2
    items.append(3)
    return d["a"] * d["b"] + items[1] + len(items)


Pair = namedtuple("Pair", "left right")


class Hooked:
    def __init__(self, x):
        self.x = x

    def __copy__(self):
        return Hooked(self.x + 1)

    def __deepcopy__(self, memo):
        return Hooked(copy.deepcopy(self.x, memo) * 2)


MODEL = Model(X.copy(), 3)


@construct("copy.copy of a list", X)
def copy_list(x):
    a = [x, 1]
    b = copy.copy(a)
    b[1] = 2
    return b[0] * a[1] + b[1], a[0] is b[0]


@construct("copy.copy of a dict and a set", X)
def copy_dict(x):
    a, names = {"w": x}, {1, 2}
    b, others = copy.copy(a), copy.copy(names)
    b["v"] = 2
    others.add(3)
    return b["w"] * b["v"] + len(a) + len(names), len(others)


@construct("copy.copy of an array", X)
def copy_array(x):
    y = copy.copy(x)
    y += 1
    return x * y


@construct("copy.copy of an instance", X)
def copy_instance(x):
    a = Model(x, 2)
    b = copy.copy(a)
    b.weight = 5
    return a.x * a.weight + b.x * b.weight, type(b) is Model


@construct("copy.copy of an instance from outside", X)
def copy_outside(x):
    b = copy.copy(MODEL)
    b.x = x * 2
    return b.x + MODEL.x * b.weight


@construct("copy.copy by __copy__", X)
def copy_hook(x):
    return copy.copy(Hooked(x)).x * 2


@construct("copy.deepcopy of nested lists", X)
def deepcopy_lists(x):
    a = [x, [1, 2]]
    b = copy.deepcopy(a)
    b[1][0] = 5
    b[0][0] = 7
    return b[0] * a[1][0] + b[1][0] + x


@construct("copy.deepcopy of a dict with a tuple", X)
def deepcopy_dict(x):
    a = {"w": x, "l": (1, [2])}
    b = copy.deepcopy(a)
    b["l"][1].append(3)
    return b["w"] * len(a["l"][1]) + len(b["l"][1])


@construct("copy.deepcopy keeps what is shared", X)
def deepcopy_shared(x):
    inner = [x]
    b = copy.deepcopy([inner, inner, x])
    b[0].append(1)
    return b[2] * len(b[1]), b[0] is b[1], b[0][0] is b[2], b[2] is x


@construct("copy.deepcopy of an instance", X)
def deepcopy_instance(x):
    a = Model(x, [2])
    b = copy.deepcopy(a)
    b.x += 1
    b.weight.append(3)
    return a.x * b.x * len(a.weight), b.weight


@construct("copy.deepcopy of a cycle", X)
def deepcopy_cycle(x):
    a = Model(x)
    a.me = a
    b = copy.deepcopy(a)
    return b.me.x * 2 + 1, b.me is b, b is a


@construct("copy.deepcopy by __deepcopy__", X)
def deepcopy_hook(x):
    return copy.deepcopy([Hooked(x), 1])[0].x + 1


@construct("copy.deepcopy of several tuples of arrays", X)
def deepcopy_tuples(x):
    rows = [(x, 1), (x + 1, 2), (3, 4)]
    return sum(row * k for row, k in copy.deepcopy(rows)[:2])


@construct("copy.deepcopy of a defaultdict and a deque", X)
def deepcopy_collections(x):
    groups = defaultdict(list, a=[x])
    window = deque([groups["a"]], maxlen=2)
    others, last = copy.deepcopy([groups, window])
    others["a"].append(2)
    others["b"].append(1)
    return others["a"][0] * len(groups) + len(last[0]), last.maxlen


@functools.singledispatch
def spread(value):
    return value


@spread.register
def _(value: int):
    return value * 2


@spread.register(list)
def _(value):
    return sum(value)


@spread.register(np.ndarray)
def _(value):
    return value - value.mean()


@construct("functools.singledispatch", X)
def singledispatch(x):
    return spread(x) + spread(3) * spread(2.5)


@construct("functools.singledispatch on the class of a list, and of a bool", X)
def singledispatch_bases(x):
    return x * spread([1, 2]) + spread(True)


TABLE = functools.lru_cache(lambda n: n * 2)
GRID = functools.cache(lambda n, *, step=1.0: np.arange(float(n)) * step)
TYPED = functools.lru_cache(maxsize=None, typed=True)(lambda n: (n, n + 1))
TABLE(3), GRID(6), GRID(6, step=0.5), TYPED(2), TYPED(2.0)


@construct("calling what functools.lru_cache gave outside, and keeps", X)
def lru_cache_outside(x):
    return x * TABLE(3) + 1, TABLE(n=3) if x is None else TABLE(3)


@construct("arrays that functools.cache keeps", X)
def cached_arrays(x):
    return x * GRID(6) + GRID(6, step=0.5), GRID(6) is GRID(6)


@construct("functools.lru_cache with typed keys", X, 2)
def lru_cache_typed(x, n):
    return x * TYPED(n)[1], TYPED(2.0)


class Rates:
    def __init__(self):
        self.rate = 3.0

    @functools.lru_cache(maxsize=8)  # noqa: B019
    def at(self, n):
        return self.rate * n


RATES = Rates()
RATES.at(4)


@construct("a method with functools.lru_cache", X)
def lru_cache_method(x):
    return x * RATES.at(4)


@construct("functools.lru_cache applied inside", X)
def lru_cache_inside(x):
    calls = []

    @functools.lru_cache(maxsize=2)
    def weight(n):
        calls.append(n)
        return n + 1

    total = x * weight(2) + weight(2) + weight(3) + weight(4) + weight(2)
    return total, calls, tuple(weight.cache_info())


@construct("functools.cache applied inside", X)
def cache_inside(x):
    @functools.cache
    def power(n, base=2):
        return 1 if n == 0 else base * power(n - 1, base=base)

    return x * power(5) + power(5), power.__name__, power.__wrapped__(0)
