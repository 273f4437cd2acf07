"""Containers, those derived from them, and those of `collections`."""

from plan_changes.change import PLAIN, Change

DERIVED = """
class D(dict):
    v = 1.0
    def __missing__(self, key): return 2.0
class L(list):
    def total(self): return sum(self)
d, l = D(a=1.0), L([1.0, 2.0])
"""

CHANGES = [
    # classes derived from builtin containers
    Change("item of a derived dict", DERIVED, "d['a']", "d['a'] += 1.0", "d"),
    Change("keys of a derived dict", DERIVED, "list(d)", "d['b'] = 1.0", "d"),
    Change("__missing__ is another", DERIVED, "d['z']", "D.__missing__ = lambda self, key: 5.0"),
    Change("__missing__ goes", DERIVED, "d.get('z')", "d['z'] = d['z'] + 1.0"),
    Change("__getitem__ comes", DERIVED, "d['a']", "D.__getitem__ = lambda self, key: 5.0"),
    Change("get comes", DERIVED, "d.get('a')", "D.get = lambda self, key: 5.0"),
    Change("get of the instance", DERIVED, "d.get('a')", "d.get = lambda key: 5.0"),
    Change("__len__ comes", DERIVED, "len(d), bool(d)", "D.__len__ = lambda self: 0"),
    Change("__contains__ comes", DERIVED, "'z' in d", "D.__contains__ = lambda self, key: True"),
    Change("__eq__ comes", DERIVED, "d == {'a': 1.0}", "D.__eq__ = lambda self, other: False"),
    Change(
        "another class of a derived dict", DERIVED + "class E(D): v = 5.0", "d.v", "d.__class__ = E"
    ),
    Change("attribute of a derived dict", DERIVED + "d.w = 1.0", "d.w", "d.w += 1.0", "d"),
    Change("item of a derived list", DERIVED, "l[0] * 2", "l[0] += 1.0", "l"),
    Change("length of a derived list", DERIVED, "len(l), l.total()", "l.append(3.0)", "l"),
    Change("__iter__ comes", DERIVED, "list(l), sum(l)", "L.__iter__ = lambda self: iter([5.0])"),
    Change("append comes", DERIVED, "l.copy().append(1.0)", "L.copy = lambda self: L()"),
    Change("__add__ comes", DERIVED, "l + [1.0]", "L.__add__ = lambda self, other: 5.0"),
    Change(
        "__iter__ comes and an operator walks",
        DERIVED,
        "[0.0, *l]",
        "L.__iter__ = lambda self: iter([5.0])",
    ),
    Change(
        "base class gets an __iter__",
        DERIVED + "class M(L): pass\nm = M([1.0])",
        "list(m)",
        "L.__iter__ = lambda self: iter([5.0])",
    ),
    # containers of collections
    Change(
        "maxlen of a deque in its stead",
        "d = collections.deque([1.0], 3)",
        "d.maxlen",
        "d = collections.deque([1.0], 4)",
        "d",
    ),
    Change("deque item", "d = collections.deque([1.0, 2.0])", "d[-1] * 2", "d[-1] += 3.0"),
    Change(
        "factory of a defaultdict",
        "d = collections.defaultdict(int)",
        "d.copy()['k']",
        "d.default_factory = float",
    ),
    Change(
        "factory of Python code",
        "v = [1.0]\nd = collections.defaultdict(lambda: v[0])",
        "d.copy()['k']",
        "v[0] += 1.0",
    ),
    Change(
        "order of an OrderedDict alone",
        "d = collections.OrderedDict(a=1.0, b=2.0)",
        "list(d)",
        "d.move_to_end('a', last=d['a'] < 2.0); d['a'] += 1.0",
    ),
    Change(
        "attribute of an OrderedDict over its method",
        "d = collections.OrderedDict(a=1.0, b=2.0)",
        "list(d.values())",
        "d.values = lambda: [5.0]",
    ),
    Change(
        "attribute of a Counter over its method",
        "c = collections.Counter('aab')",
        "c.total()",
        "c.total = lambda: 5.0",
    ),
    # slices, members of enums, patterns, entries of tables
    Change("slice", "s = slice(1, 3)", "x[s] * 2", "s = slice(0, 4, 2)"),
    Change("slice of None", "s = slice(1, 3)", "x[s] * 2", "s = slice(None)"),
    Change("slice in a dict", "d = {'s': slice(1, 3)}", "x[d['s']] * 2", "d['s'] = slice(2)"),
    Change("no slice", "s = slice(1, 3)", "x[s] * 2", "s = 2"),
    Change(
        "operator of an enum's member",
        "class E(enum.IntEnum):\n    A = 2",
        "x * E.A",
        "E.__rmul__ = lambda self, other: other + 50",
    ),
    Change(
        "int of an enum's member",
        "class E(enum.IntEnum):\n    A = 2",
        "x + E.A",
        "E.__int__ = E.__index__ = lambda self: 7",
    ),
    Change(
        "dict with keys of an enum",
        "class E(enum.Enum):\n    A = 2\n    B = 3\nd = {E.A: 1.0, E.B: 2.0}",
        "x * d[E.A]",
        "d[E.A] = 9.0",
    ),
    Change(
        "hash of an enum's keys",
        "class E(enum.Enum):\n    A = 2\n    B = 3\nd = {E.A: 1.0, E.B: 2.0}",
        "d[E.A]",
        "E.__hash__ = lambda self: 1",
        whole=False,
    ),
    Change(
        "table",
        "t = [1.0, 2.0, 3.0]\nbig = np.arange(5000.0)",
        "t[int(x[1])], np.sqrt(big) * 2 + big",
        "t[1] = 7.0",
    ),
    Change(
        "label",
        "t = ['a', 'b', 'c']\nbig = np.arange(5000.0)",
        "t[int(x[1])] + '!', np.sqrt(big) * 2 + big",
        "t[1] = 'z'",
    ),
    Change(
        "table of a dict",
        "t = {0: 'a', 1: 'b'}\nbig = np.arange(5000.0)",
        "t[int(x[1])], np.sqrt(big) * 2 + big",
        "t[1] = 'z'",
    ),
    Change(
        "get of a table",
        "t = {0: 'a', 1: 'b'}\nbig = np.arange(5000.0)",
        "t.get(int(x[1]), 'n'), np.sqrt(big) * 2 + big",
        "t[1] = 'z'",
    ),
    Change(
        "member of a table",
        "t = [1, 2]\nbig = np.arange(5000.0)",
        "int(x[1]) in t, np.sqrt(big) * 2 + big",
        "t[0] = 5",
    ),
    Change("pattern", "p = re.compile('a')", "p.findall('aba')", "p = re.compile('b')"),
    Change("alias", "t = typing.Union", "t[int, None]", "t = typing.Tuple"),
    Change("class of typing", "t = typing.List", "isinstance([x], t)", "t = typing.Dict"),
    # constant containers of classes
    Change(
        "frozenset of objects",
        PLAIN + "s = frozenset({a})",
        "b in s",
        "K.__eq__ = lambda self, other: True; K.__hash__ = lambda self: 1",
        whole=False,
    ),
    Change(
        "class in a global tuple",
        "class A: pass\nclass K: pass\nk = K(); kinds = (int, A)",
        "isinstance(k, kinds)",
        "kinds = (int, K)",
        "k",
    ),
    Change(
        "a union", "class A: pass\nclass K: pass\nk = K()", "isinstance(k, int | A)", "A = K", "k"
    ),
]
