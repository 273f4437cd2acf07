"""Rows for tests/test_behind_plans.py: worlds, what a function asks of them, and how they change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """`asked` is an expression over the world; `given` names what is passed to the function."""

    name: str
    world: str
    asked: str
    change: str
    given: str = ""
    whole: bool = True  # no graph break: the plan does what is asked


# ---- every kind of mutable object, at every kind of place ----

# kind: how it is made, what is asked about it (as `o`), how it changes
KINDS = {
    "list length": ("[1.0]", "len({o})", "OBJECT.append(2.0)"),
    "list item": ("[1.0, 2.0]", "{o}[0] * 2", "OBJECT[0] += 3.0"),
    "list contains": ("[1.0, 2.0]", "9.0 in {o}", "OBJECT.append(9.0)"),
    "list sum": ("[1.0]", "sum({o})", "OBJECT.append(2.0)"),
    "dict length": ("{'a': 1.0}", "len({o})", "OBJECT[len(OBJECT)] = 2.0"),
    "dict item": ("{'a': 1.0}", "{o}['a'] * 2", "OBJECT['a'] += 3.0"),
    "dict get": ("{'a': 1.0}", "{o}.get('b')", "OBJECT['b'] = 3.0"),
    "dict order": ("{'a': 1.0, 'b': 2.0}", "list({o})", "OBJECT['a'] = OBJECT.pop('a')"),
    "dict contains": ("{'a': 1.0}", "'b' in {o}", "OBJECT['b'] = 3.0"),
    "set length": ("{1.0}", "len({o})", "OBJECT.add(len(OBJECT) + 5.0)"),
    "set contains": ("{1.0}", "5.0 in {o}", "OBJECT.add(5.0)"),
    "set walk": ("{1.0, 2.0}", "[v for v in {o}]", "OBJECT.add(len(OBJECT) + 5.0)"),
    "set of tuples": ("{(1, 2)}", "(3, 4) in {o}", "OBJECT.add((3, 4))"),
    "set order": ("{8, 0}", "list({o})", "OBJECT.clear(); OBJECT.update([0, 8])"),
    "bytearray": ("bytearray(b'a')", "len({o})", "OBJECT.append(3)"),
    "deque": ("collections.deque([1.0])", "len({o})", "OBJECT.append(3.0)"),
    "defaultdict": ("collections.defaultdict(float, a=1.0)", "{o}['a']", "OBJECT['a'] += 1"),
    "ordered dict": (
        "collections.OrderedDict(a=1.0, b=2.0)",
        "list({o}.values())",
        "OBJECT.move_to_end(next(iter(OBJECT)))",
    ),
    "counter": ("collections.Counter('aab')", "{o}['a']", "OBJECT.update('a')"),
    "numeric array": ("array.array('d', [1.0])", "{o}[0]", "OBJECT[0] += 2.0"),
    "ndarray item": ("np.arange(3.0)", "float({o}[0])", "OBJECT[0] += 4.0"),
    "ndarray sum": ("np.arange(3.0)", "{o} + 1", "OBJECT[0] += 4.0"),
    "ndarray index": ("np.array([1, 2])", "x[{o}[0]]", "OBJECT[0] = 3"),
    "ndarray mask": ("np.ones(6, bool)", "x[{o}]", "OBJECT[0] = False"),
    "nested list": ("[[1.0]]", "len({o}[0])", "OBJECT[0].append(2.0)"),
    "set in a dict": ("{'s': {1.0}}", "len({o}['s'])", "OBJECT['s'].add(len(OBJECT['s']) + 5.0)"),
    "instance": ("types.SimpleNamespace(v=1.0)", "{o}.v * 2", "OBJECT.v += 1.0"),
    "user instance": ("Plain()", "{o}.v * 2", "OBJECT.v += 1.0"),
    "user class": ("Plain()", "{o}.w * 2", "Plain.w += 1.0"),
    "slotted": ("Slotted()", "{o}.v * 2", "OBJECT.v += 1.0"),
    "class": ("Plain", "{o}.v * 2", "OBJECT.v += 1.0"),
    "function": ("plain", "{o}(3.0)", "OBJECT.__code__ = other.__code__"),
    "function defaults": ("plain", "{o}(3.0)", "OBJECT.__defaults__ = (7.0,)"),
    "module": ("types.ModuleType('m')", "hasattr({o}, 'v')", "OBJECT.v = 1.0"),
}
# Asking about them breaks the graph.
BROKEN = {
    "bytearray",
    "numeric array",
    "instance",
    "module",
}
CLASSES = """
class Plain:
    v = 1.0
    w = 2.0
class Slotted:
    __slots__ = ("v",)
    def __init__(self):
        self.v = 1.0
def plain(a, b=2.0): return a * b
def other(a, b=2.0): return a - b
class Holder: pass
Pair = collections.namedtuple("Pair", "first second")
"""
# place: how OBJECT gets there, how the function reaches it, how NEW comes in its stead
PLACES = {
    "global": ("O = OBJECT", "O", "O = NEW"),
    "argument": ("o = OBJECT", "o", "o = NEW"),
    "module": ("M = types.ModuleType('M'); M.o = OBJECT", "M.o", "M.o = NEW"),
    "class": (
        "class C: o = staticmethod(OBJECT) if callable(OBJECT) else OBJECT",
        "C.o",
        "C.o = NEW",
    ),
    "base class": (
        "class B: o = staticmethod(OBJECT) if callable(OBJECT) else OBJECT\nclass C(B): pass",
        "C.o",
        "B.o = NEW",
    ),
    "instance": ("I = Holder(); I.o = OBJECT", "I.o", "I.o = NEW"),
    "property": (
        "class C:\n    @property\n    def o(self): return OBJECT\nI = C()",
        "I.o",
        "C.o = property(lambda self: NEW)",
    ),
    "tuple": ("T = (OBJECT,)", "T[0]", "T = (NEW,)"),
    "nested tuple": ("T = (1, (2, OBJECT))", "T[1][1]", "T = (1, (2, NEW))"),
    "list": ("L = [OBJECT]", "L[0]", "L[0] = NEW"),
    "dict": ("D = {'o': OBJECT}", "D['o']", "D['o'] = NEW"),
    "named tuple": ("P = Pair(1.0, OBJECT)", "P.second", "P = P._replace(second=NEW)"),
    "default": ("def take(o=OBJECT): return o", "take()", "take.__defaults__ = (NEW,)"),
    "keyword default": (
        "def take(*, o=OBJECT): return o",
        "take()",
        "take.__kwdefaults__['o'] = NEW",
    ),
    "new keyword defaults": (
        "def take(*, o=OBJECT): return o",
        "take()",
        "take.__kwdefaults__ = {'o': NEW}",
    ),
    "closure": (
        "def make(o):\n    def take(): return o\n    return take\ntake = make(OBJECT)",
        "take()",
        "take.__closure__[0].cell_contents = NEW",
    ),
    "partial": (
        "take = functools.partial(lambda o: o, OBJECT)",
        "take()",
        "take = functools.partial(lambda o: o, NEW)",
    ),
    "function attribute": ("def hold(): pass\nhold.o = OBJECT", "hold.o", "hold.o = NEW"),
    "method": (
        "class C:\n    def take(self): return self.o\nI = C(); I.o = OBJECT; take = I.take",
        "take()",
        "I.o = NEW",
    ),
}


# ---- other objects at every kind of place ----

VALUES = {
    "float": ("1.0", "2.0"),
    "zero": ("0.0", "-0.0"),
    "int": ("1", "2"),
    "int to float": ("1", "1.0"),
    "int to bool": ("1", "True"),
    "text": ("'a'", "'b'"),
    "none": ("None", "1.0"),
    "tuple": ("(1.0, 2)", "(1.0, 2.0)"),
    "frozenset": ("frozenset({1.0})", "frozenset({2.0})"),
    "set": ("{1.0}", "{2.0}"),
    "list": ("[1.0]", "[2.0]"),
    "dict": ("{'a': 1.0}", "{'a': 2.0}"),
    "array": ("np.arange(3.0)", "np.arange(4.0)"),
    "dtype": ("np.dtype('f8')", "np.dtype('f4')"),
    "class": ("int", "float"),
    "ufunc": ("np.exp", "np.sin"),
    "slice": ("slice(0, 3)", "slice(0, 4)"),
    "range": ("range(3)", "range(4)"),
    "scalar": ("np.float64(1.0)", "np.float32(1.0)"),
}


# ---- what else a plan relies on ----

ENUM = "class Colour(enum.Enum):\n    A = 1\n    B = 2\n"
INT_ENUM = "class Level(enum.IntEnum):\n    A = 1\n    B = 2\n"
STR_ENUM = "class Word(enum.StrEnum):\n    A = 'a'\n    B = 'b'\n"
FLAG = "class Bits(enum.Flag):\n    A = 1\n    B = 2\n"
PLAIN = "class K: pass\na, b = K(), K()\n"
ERROR = """
class Wrong(Exception): pass
def caught(show):
    try:
        raise Wrong(1.0)
    except Wrong as error:
        return show(error)
"""
WITH_V = "class K:\n    def __init__(self): self.v = 1.0\nk = K()\n"

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
    # objects of NumPy's
    Change(
        "attribute of a finfo",
        "info = np.finfo('f2')\ninfo.added = 1.0",
        "np.finfo('f2').added * 2",
        "info.added += 1.0",
    ),
    Change("an r_ that is another", "joiner = np.r_", "joiner[x, 1.0]", "joiner = np.s_"),
    Change("base of an array", "a = np.ones(3)", "a.base is None", "a = a[:]"),
    Change(
        "base of an argument's view", "a = np.ones(3)", "a[1:].base is a", "a = a[:]", whole=False
    ),
    Change(
        "a function within fromfunction",
        "def take(i): return i\ndef other(i): return i * 2",
        "np.fromfunction(take, (3,))",
        "take.__code__ = other.__code__",
    ),
    Change("indices of a shape", "shape = [2]", "list(np.ndindex(*shape))", "shape[0] += 1"),
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
    # abstract classes and protocols
    Change(
        "register",
        "class Base(abc.ABC): pass\nclass K: pass\nk = K()",
        "isinstance(k, Base)",
        "Base.register(K)",
        "k",
    ),
    Change(
        "register, issubclass",
        "class Base(abc.ABC): pass\nclass K: pass",
        "issubclass(K, Base)",
        "Base.register(K)",
    ),
    Change(
        "register with a class derived from the abstract one",
        "class Base(abc.ABC): pass\nclass Derived(Base): pass\nclass K: pass\nk = K()",
        "isinstance(k, Base)",
        "Derived.register(K)",
        "k",
    ),
    Change(
        "register an abstract base in a tuple",
        "class Base(abc.ABC): pass\nclass K: pass\nk = K()",
        "isinstance(k, (int, Base))",
        "Base.register(K)",
        "k",
    ),
    Change(
        "register with collections.abc",
        "class K: pass\nk = K()",
        "isinstance(k, collections.abc.Sequence)",
        "collections.abc.Sequence.register(K)",
        "k",
    ),
    Change(
        "a method makes it iterable",
        "class K: pass\nk = K()",
        "isinstance(k, collections.abc.Iterable)",
        "K.__iter__ = lambda self: iter(())",
        "k",
    ),
    Change(
        "a method makes it no longer sized",
        "class K:\n    def __len__(self): return 1\nk = K()",
        "isinstance(k, collections.abc.Sized)",
        "K.__len__ = None",
        "k",
    ),
    Change(
        "a base of the class is another",
        "class Base(abc.ABC): pass\nclass A(Base): pass\nclass B(abc.ABC): pass\nclass K(A): pass\nk = K()",
        "isinstance(k, Base)",
        "K.__bases__ = (B,)",
        "k",
    ),
    Change(
        "protocol",
        "@typing.runtime_checkable\nclass P(typing.Protocol):\n    def foo(self): ...\n"
        "class K: pass\nk = K()",
        "isinstance(k, P)",
        "K.foo = lambda self: 0",
        "k",
        whole=False,
    ),
    Change(
        "protocol, no longer",
        "@typing.runtime_checkable\nclass P(typing.Protocol):\n    def foo(self): ...\n"
        "class K:\n    def foo(self): return 0\nk = K()",
        "isinstance(k, P)",
        "if hasattr(K, 'foo'): del K.foo",
        "k",
    ),
    Change(
        "__instancecheck__ is patched",
        "class Meta(type):\n    def __instancecheck__(cls, o): return False\n"
        "class Base(metaclass=Meta): pass\nclass K: pass\nk = K()",
        "isinstance(k, Base)",
        "Meta.__instancecheck__ = lambda cls, o: True",
        "k",
    ),
    Change(
        "__subclasshook__ answers differently",
        "answer = [False]\n"
        "class Base(abc.ABC):\n    @classmethod\n    def __subclasshook__(cls, c): return answer[0]\n"
        "class K: pass\nk = K()",
        "isinstance(k, Base)",
        "answer[0] = True; Base.register(int)",
        "k",
        whole=False,
    ),
    Change(
        "singledispatch",
        """
@functools.singledispatch
def shown(a): return 1.0
""",
        "shown(3)",
        "shown.register(int, lambda a: 5.0)",
    ),
    # classes and instances
    Change(
        "attribute of the instance over the class's",
        "class K: v = 1.0\nk = K()",
        "k.v",
        "k.v = 5.0",
        "k",
    ),
    Change("attribute of the class", "class K: v = 1.0\nk = K()", "k.v", "K.v = 5.0", "k"),
    Change(
        "__getattr__ no longer asked",
        "class K:\n    def __getattr__(self, name): return 1.0\nk = K()",
        "k.v",
        "K.v = 3.0",
        "k",
    ),
    Change(
        "__getattr__ comes",
        WITH_V,
        "getattr(k, 'w', None)",
        "K.__getattr__ = lambda self, name: 3.0",
        "k",
    ),
    Change("__getattribute__ comes", WITH_V, "k.v", "K.__getattribute__ = lambda self, name: 3.0"),
    Change(
        "a property comes over the instance's own",
        WITH_V,
        "k.v",
        "K.v = property(lambda self: 3.0)",
        "k",
    ),
    Change(
        "the metaclass gets a data descriptor",
        "class Meta(type): pass\nclass K(metaclass=Meta): v = 1.0",
        "K.v",
        "Meta.v = property(lambda cls: 9.0)",
    ),
    Change(
        "the metaclass gets __getattribute__",
        "class Meta(type): pass\nclass K(metaclass=Meta): v = 1.0",
        "K.v",
        "Meta.__getattribute__ = lambda cls, name: 9.0",
    ),
    Change(
        "the metaclass gets __call__",
        "class Meta(type): pass\nclass K(metaclass=Meta): v = 1.0",
        "K().v",
        "Meta.__call__ = lambda cls: types.SimpleNamespace(v=3.0)",
    ),
    Change(
        "bases",
        "class A:\n    def m(self): return 1.0\nclass B:\n    def m(self): return 2.0\nclass K(A): pass\nk = K()",
        "k.m()",
        "K.__bases__ = (B,)",
        "k",
    ),
    Change(
        "bases, isinstance",
        "class A: pass\nclass B: pass\nclass K(A): pass\nk = K()",
        "isinstance(k, A)",
        "K.__bases__ = (B,)",
        "k",
    ),
    Change(
        "bases, issubclass",
        "class A: pass\nclass B: pass\nclass K(A): pass",
        "issubclass(K, B)",
        "K.__bases__ = (B,)",
    ),
    Change(
        "bases of a base, isinstance",
        "class A: pass\nclass B: pass\nclass M(A): pass\nclass K(M): pass\nk = K()",
        "isinstance(k, A)",
        "M.__bases__ = (B,)",
        "k",
    ),
    Change(
        "bases, class pattern",
        "class A: pass\nclass B: pass\nclass K(A): pass\nk = K()\n"
        "def which(k):\n    match k:\n        case A(): return 1.0\n    return 2.0",
        "which(k)",
        "K.__bases__ = (B,)",
        "k",
    ),
    Change(
        "bases, which operand comes first",
        "class A:\n    def __add__(self, o): return 1.0\n    def __radd__(self, o): return 2.0\n"
        "class B:\n    def __radd__(self, o): return 3.0\n"
        "class K(A):\n    def __radd__(self, o): return 4.0\na, k = A(), K()",
        "a + k",
        "K.__bases__ = (B,)",
        "a k",
    ),
    Change(
        "super",
        "class A:\n    def m(self): return 1.0\nclass K(A):\n    def m(self): return super().m() + 1\nk = K()",
        "k.m()",
        "A.m = lambda self: 50.0",
        "k",
    ),
    Change(
        "class of the instance",
        "class K: v = 1.0\nclass L: v = 2.0\nk = K()",
        "k.v",
        "k.__class__ = L",
        "k",
    ),
    Change(
        "type()", "class K: pass\nclass L: pass\nk = K()", "type(k) is K", "k.__class__ = L", "k"
    ),
    Change(
        "class of a global instance",
        "class K: v = 1.0\nclass L: v = 2.0\nk = K()",
        "k.v",
        "k.__class__ = L",
    ),
    Change(
        "class of the metaclass's instance",
        "class M1(type): v = 1.0\nclass M2(type): v = 2.0\nclass K(metaclass=M1): pass",
        "K.v",
        "K.__class__ = M2",
    ),
    Change(
        "method in the instance",
        "class K:\n    def m(self): return 1.0\nk = K()",
        "k.m()",
        "k.m = lambda: 2.0",
        "k",
    ),
    Change(
        "bound method",
        "class K:\n    def m(self): return 1.0\nm = K().m",
        "m()",
        "K.m = lambda self: 2.0",
    ),
    Change(
        "code of a method",
        "class K:\n    def m(self): return 1.0\nk = K()",
        "k.m()",
        "K.m.__code__ = (lambda self: 2.0).__code__",
        "k",
    ),
    Change(
        "property",
        "class K:\n    @property\n    def v(self): return 1.0\nk = K()",
        "k.v",
        "K.v = property(lambda self: 2.0)",
        "k",
    ),
    Change(
        "code of a property",
        "class K:\n    @property\n    def v(self): return 1.0\nk = K()",
        "k.v",
        "K.v.fget.__code__ = (lambda self: 2.0).__code__",
        "k",
    ),
    Change(
        "what a property reads",
        "class K:\n    def __init__(self): self.u = 1.0\n    @property\n    def v(self): return self.u\nk = K()",
        "k.v",
        "k.u += 1",
    ),
    Change(
        "cached property",
        "class K:\n    @functools.cached_property\n    def v(self): return 1.0\nk = K(); k.v",
        "k.v",
        "k.__dict__['v'] = 2.0",
    ),
    Change(
        "descriptor patched",
        "class D:\n    def __get__(self, o, t=None): return 1.0\nclass K: v = D()\nk = K()",
        "k.v",
        "D.__get__ = lambda self, o, t=None: 2.0",
    ),
    Change(
        "descriptor becomes data",
        "class D:\n    def __get__(self, o, t=None): return 1.0\nclass K: v = D()\nk = K(); k.__dict__['v'] = 5.0",
        "k.v",
        "D.__set__ = lambda self, o, v: None",
    ),
    Change(
        "instance over a descriptor",
        "class D:\n    def __get__(self, o, t=None): return 1.0\nclass K: v = D()\nk = K()",
        "k.v",
        "k.__dict__['v'] = 3.0",
    ),
    Change(
        "class of a descriptor",
        "class D:\n    def __get__(self, o, t=None): return 1.0\nclass E:\n    def __get__(self, o, t=None): return 2.0\nclass K: v = D()\nk = K()",
        "k.v",
        "K.__dict__['v'].__class__ = E",
    ),
    Change("slot", "class K: __slots__ = ('v',)\nk = K(); k.v = 1.0", "k.v", "k.v += 1", "k"),
    Change(
        "slot is deleted",
        "class K: __slots__ = ('v',)\nk = K(); k.v = 1.0",
        "getattr(k, 'v', None)",
        "if hasattr(k, 'v'): del k.v",
        "k",
    ),
    Change(
        "slot hidden by a property",
        "class K: __slots__ = ('v',)\nk = K(); k.v = 1.0",
        "k.v",
        "K.v = property(lambda self: 7.0)",
        "k",
    ),
    Change(
        "__len__",
        "class K:\n    def __len__(self): return 2\nk = K()",
        "len(k)",
        "K.__len__ = lambda self: 5",
    ),
    Change("__bool__ comes", PLAIN, "bool(a)", "K.__bool__ = lambda self: False"),
    Change("__bool__ comes, not", PLAIN, "not a", "K.__bool__ = lambda self: False", "a"),
    Change(
        "__len__ decides the truth", PLAIN, "1.0 if a else 2.0", "K.__len__ = lambda self: 0", "a"
    ),
    Change(
        "__call__",
        "class K:\n    def __call__(self): return 1.0\nk = K()",
        "k()",
        "K.__call__ = lambda self: 2.0",
    ),
    Change("__eq__ comes", PLAIN, "a == b", "K.__eq__ = lambda self, other: True", "a b"),
    Change("__ne__ comes", PLAIN, "a != b", "K.__ne__ = lambda self, other: False", "a b"),
    Change(
        "__eq__ comes, in a list", PLAIN, "a in [b]", "K.__eq__ = lambda self, other: True", "a b"
    ),
    Change(
        "__eq__ comes, index",
        PLAIN,
        "[b, a].index(a)",
        "K.__eq__ = lambda self, other: True",
        "a b",
    ),
    Change(
        "__eq__ comes, count",
        PLAIN,
        "[b, a].count(a)",
        "K.__eq__ = lambda self, other: True",
        "a b",
    ),
    Change(
        "__eq__ comes, tuples",
        PLAIN,
        "(1, a) == (1, b)",
        "K.__eq__ = lambda self, other: True",
        "a b",
    ),
    Change(
        "__eq__ comes, match",
        PLAIN
        + "def same(p, q):\n    match p:\n        case K() if p == q: return 1.0\n    return 2.0",
        "same(a, b)",
        "K.__eq__ = lambda self, other: True",
        "a b",
    ),
    Change(
        "__lt__ is patched",
        "class K:\n    def __lt__(self, o): return True\na, b = K(), K()",
        "a < b",
        "K.__lt__ = lambda self, o: False",
        "a b",
    ),
    Change(
        "sorted by a patched key",
        "def key(v): return v",
        "sorted([2.0, 1.0], key=key)",
        "key.__code__ = (lambda v: -v).__code__",
    ),
    Change(
        "__eq__ and __hash__ come, in a set",
        PLAIN,
        "len({a, b})",
        "K.__eq__ = lambda self, other: True; K.__hash__ = lambda self: 1",
        "a b",
    ),
    Change(
        "__eq__ alone makes it unhashable",
        PLAIN,
        "len({a, b})",
        "K.__eq__ = lambda self, other: True; K.__hash__ = None",
        "a b",
    ),
    Change(
        "__hash__ comes, in a set from outside",
        PLAIN + "s = {a}",
        "a in s",
        "K.__hash__ = lambda self: 1",
        "a",
        whole=False,
    ),
    Change(
        "__eq__ and __hash__ come, in a dict",
        PLAIN,
        "len({a: 1.0, b: 2.0})",
        "K.__eq__ = lambda self, other: True; K.__hash__ = lambda self: 1",
        "a b",
    ),
    Change(
        "__hash__ comes, key of a dict",
        PLAIN + "d = {a: 1.0, b: 2.0}",
        "d[a]",
        "K.__eq__ = lambda self, other: True; K.__hash__ = lambda self: hash(id(b))",
        "a",
        whole=False,
    ),
    Change("__hash__ is None, get", PLAIN, "{a: 1.0}.get(a)", "K.__hash__ = None", "a"),
    Change(
        "__hash__ comes, key in a tuple",
        PLAIN,
        "len({(a, 1): 1.0, (b, 1): 2.0})",
        "K.__eq__ = lambda self, other: True; K.__hash__ = lambda self: 1",
        "a b",
        whole=False,
    ),
    Change(
        "__hash__ of the metaclass, classes as keys",
        "class Meta(type): pass\nclass A(metaclass=Meta): pass\nclass B(metaclass=Meta): pass",
        "len({A: 1.0, B: 2.0})",
        "Meta.__eq__ = lambda self, other: True; Meta.__hash__ = lambda self: 1",
    ),
    Change("hash()", PLAIN, "hash(a) == 1", "K.__hash__ = lambda self: 1", "a", whole=False),
    Change("callable()", PLAIN, "callable(a)", "K.__call__ = lambda self: 0", "a"),
    Change("callable() of a global", PLAIN, "callable(a)", "K.__call__ = lambda self: 0"),
    Change(
        "callable() no longer",
        "class K:\n    def __call__(self): return 1.0\nk = K()",
        "callable(k)",
        "if '__call__' in vars(K): del K.__call__",
        "k",
    ),
    Change("hasattr, class", PLAIN, "hasattr(a, 'v')", "K.v = 1.0"),
    Change("hasattr, instance", PLAIN, "hasattr(a, 'v')", "a.v = 1.0"),
    Change(
        "hasattr, argument",
        PLAIN,
        "hasattr(a, '__iter__')",
        "K.__iter__ = lambda self: iter(())",
        "a",
    ),
    Change(
        "hasattr, module",
        "m = types.ModuleType('m')",
        "hasattr(m, 'v')",
        "m.v = 1.0",
        whole=False,
    ),
    Change("__name__ of a class", PLAIN, "K.__name__", "K.__name__ = 'Renamed'"),
    Change("__qualname__ of a class", PLAIN, "K.__qualname__", "K.__qualname__ = 'Renamed'"),
    Change("__module__ of a class", PLAIN, "K.__module__", "K.__module__ = 'elsewhere'"),
    Change("__doc__ of a class", PLAIN, "K.__doc__", "K.__doc__ = 'text'"),
    Change("__name__ of the type", PLAIN, "type(a).__name__", "K.__name__ = 'Renamed'", "a"),
    Change(
        "__name__ in repr",
        "@dataclasses.dataclass\nclass D:\n    v: float = 1.0\nd = D()",
        "repr(d)",
        "D.__qualname__ = 'Renamed'",
    ),
    Change(
        "repr of an instance",
        "class K:\n    def __repr__(self): return 'a'\nk = K()",
        "repr(k)",
        "K.__repr__ = lambda self: 'b'",
    ),
    Change(
        "__str__ comes",
        "class K:\n    def __repr__(self): return 'a'\nk = K()",
        "str(k)",
        "K.__str__ = lambda self: 'b'",
    ),
    Change(
        "__format__ comes",
        "class K:\n    def __repr__(self): return 'a'\nk = K()",
        "f'{k}'",
        "K.__format__ = lambda self, spec: 'b'",
    ),
    Change("__init__", WITH_V, "K().v", "K.__init__ = lambda self: setattr(self, 'v', 2.0)"),
    Change(
        "__new__ comes", WITH_V, "K().v", "K.__new__ = lambda cls: types.SimpleNamespace(v=5.0)"
    ),
    Change(
        "__setattr__ comes",
        WITH_V,
        "K().v",
        "K.__setattr__ = lambda self, name, value: object.__setattr__(self, name, 9.0)",
    ),
    Change(
        "default of a dataclass",
        "@dataclasses.dataclass\nclass D:\n    v: float = 1.0",
        "D().v",
        "D.__init__.__defaults__ = (5.0,)",
    ),
    Change(
        "field of a named tuple",
        CLASSES + "p = Pair(1.0, 2.0)",
        "p.first",
        "Pair.first = property(lambda self: 9.0)",
    ),
    Change(
        "__eq__ of a named tuple",
        CLASSES + "p = Pair(1.0, 2.0)",
        "p == (1.0, 2.0)",
        "Pair.__eq__ = lambda self, other: False",
    ),
    Change(
        "__iter__ of a named tuple",
        CLASSES + "p = Pair(1.0, 2.0)",
        "[v for v in p]",
        "Pair.__iter__ = lambda self: iter((7.0,))",
    ),
    Change(
        "__len__ of a named tuple",
        CLASSES + "p = Pair(1.0, 2.0)",
        "len(p)",
        "Pair.__len__ = lambda self: 5",
    ),
    Change(
        "__add__ comes",
        PLAIN,
        "None if a is None else hasattr(a, '__add__')",
        "K.__add__ = lambda self, other: 5.0",
        "a",
    ),
    Change(
        "__radd__ is patched",
        "class K:\n    def __radd__(self, other): return 1.0\nk = K()",
        "2.0 + k",
        "K.__radd__ = lambda self, other: 5.0",
        "k",
    ),
    Change(
        "__add__ of the derived class comes first",
        "class A:\n    def __add__(self, o): return 1.0\n    def __radd__(self, o): return 2.0\nclass B(A): pass\na, b = A(), B()",
        "a + b",
        "B.__radd__ = lambda self, o: 5.0",
        "a b",
    ),
    Change(
        "__contains__ comes",
        "class K:\n    def __iter__(self): return iter((1.0, 2.0))\nk = K()",
        "1.0 in k",
        "K.__contains__ = lambda self, o: False",
        "k",
        whole=False,
    ),
    Change(
        "__iter__ is patched",
        "class K:\n    def __iter__(self): return iter((1.0, 2.0))\nk = K()",
        "[v for v in k]",
        "K.__iter__ = lambda self: iter((3.0,))",
        "k",
    ),
    Change(
        "__getitem__ is patched",
        "class K:\n    def __getitem__(self, i): return 1.0\nk = K()",
        "k[0]",
        "K.__getitem__ = lambda self, i: 2.0",
        "k",
    ),
    Change(
        "__enter__ is patched",
        "class K:\n    def __enter__(self): return 1.0\n    def __exit__(self, *a): return None\ndef entered(k):\n    with k as v:\n        return v\nk = K()",
        "entered(k)",
        "K.__enter__ = lambda self: 2.0",
        "k",
    ),
    Change(
        "total_ordering",
        "@functools.total_ordering\nclass K:\n    def __init__(self, v): self.v = v\n    def __lt__(self, o): return self.v < o.v\n    def __eq__(self, o): return self.v == o.v\na, b = K(1), K(2)",
        "a >= b",
        "a.v = 5",
    ),
    Change(
        "index",
        "class K:\n    def __index__(self): return 1\nk = K()",
        "[1.0, 2.0, 3.0][k]",
        "K.__index__ = lambda self: 2",
        "k",
        whole=False,
    ),
    Change(
        "float()",
        "class K:\n    def __float__(self): return 1.0\nk = K()",
        "float(k)",
        "K.__float__ = lambda self: 2.0",
        "k",
    ),
    # enumerations
    Change("__str__ of an enum", ENUM, "f'{Colour.A}'", "Colour.__str__ = lambda self: 'q'"),
    Change("str() of an enum", ENUM, "str(Colour.A)", "Colour.__str__ = lambda self: 'q'"),
    Change("repr() of an enum", ENUM, "repr(Colour.A)", "Colour.__repr__ = lambda self: 'q'"),
    Change(
        "__format__ of an enum",
        ENUM,
        "format(Colour.A, '')",
        "Colour.__format__ = lambda self, spec: 'q'",
    ),
    Change(
        "__eq__ of an enum",
        ENUM,
        "Colour.A == Colour.B",
        "Colour.__eq__ = lambda self, other: True",
    ),
    Change(
        "__eq__ of an enum, in a list",
        ENUM,
        "Colour.A in [Colour.B]",
        "Colour.__eq__ = lambda self, other: True",
    ),
    Change(
        "__eq__ of an enum, as key",
        ENUM,
        "len({Colour.A: 1, Colour.B: 2})",
        "Colour.__eq__ = lambda self, other: True; Colour.__hash__ = lambda self: 1",
    ),
    Change(
        "__hash__ of an enum, in a dict",
        ENUM + "d = {Colour.A: 1.0}",
        "d[Colour.A]",
        "Colour.__hash__ = lambda self: 1",
        whole=False,
    ),
    Change(
        "__hash__ of an enum, in a set",
        ENUM,
        "len({Colour.A, Colour.B})",
        "Colour.__eq__ = lambda self, other: True; Colour.__hash__ = lambda self: 1",
    ),
    Change(
        "hash() of an enum",
        ENUM,
        "hash(Colour.A) == 1",
        "Colour.__hash__ = lambda self: 1",
        whole=False,
    ),
    Change("__bool__ of an enum", ENUM, "bool(Colour.A)", "Colour.__bool__ = lambda self: False"),
    Change(
        "truth of an enum", ENUM, "1.0 if Colour.A else 2.0", "Colour.__bool__ = lambda self: False"
    ),
    Change(
        "__add__ of an int enum",
        INT_ENUM,
        "Level.A + Level.B",
        "Level.__add__ = lambda self, other: 100",
    ),
    Change(
        "__radd__ of an int enum",
        INT_ENUM,
        "1 + Level.B",
        "Level.__radd__ = lambda self, other: 100",
    ),
    Change(
        "__lt__ of an int enum",
        INT_ENUM,
        "Level.A < Level.B",
        "Level.__lt__ = lambda self, other: False",
    ),
    Change(
        "__index__ of an int enum",
        INT_ENUM,
        "[1.0, 2.0, 3.0][Level.A]",
        "Level.__index__ = lambda self: 2",
    ),
    Change("__neg__ of an int enum", INT_ENUM, "-Level.A", "Level.__neg__ = lambda self: 100"),
    Change(
        "int() of an int enum",
        INT_ENUM,
        "int(Level.A)",
        "Level.__int__ = lambda self: 100",
        whole=False,
    ),
    Change(
        "__len__ of a str enum",
        STR_ENUM,
        "len(Word.A)",
        "Word.__len__ = lambda self: 100",
        whole=False,
    ),
    Change(
        "__add__ of a str enum",
        STR_ENUM,
        "Word.A + Word.B",
        "Word.__add__ = lambda self, other: 'q'",
    ),
    Change(
        "upper() of a str enum",
        STR_ENUM,
        "Word.A.upper()",
        "Word.upper = lambda self: 'q'",
        whole=False,
    ),
    Change(
        "a str enum in text",
        STR_ENUM,
        "f'{Word.A}'",
        "Word.__format__ = lambda self, spec: 'q'",
    ),
    Change(
        "a str enum joined",
        STR_ENUM,
        "'-'.join([Word.A, Word.B])",
        "Word.__str__ = lambda self: 'q'",
        whole=False,
    ),
    Change("__or__ of a flag", FLAG, "Bits.A | Bits.B", "Bits.__or__ = lambda self, other: 100"),
    Change(
        "__contains__ of a flag",
        FLAG,
        "Bits.A in (Bits.A | Bits.B)",
        "Bits.__contains__ = lambda self, other: False",
    ),
    Change("_value_ of an enum", ENUM, "Colour.A.value", "Colour.A._value_ = 4.0"),
    Change("_name_ of an enum", ENUM, "Colour.A.name", "Colour.A._name_ = 'Q'"),
    Change(
        "_missing_ of an enum",
        ENUM,
        "Colour(1).value",
        "Colour._missing_ = classmethod(lambda cls, v: Colour.B)",
    ),
    Change("members of an enum", ENUM, "[m.value for m in Colour]", "Colour.A._value_ = 7"),
    Change(
        "method of an enum",
        "class Colour(enum.Enum):\n    A = 1\n    def m(self): return self.value * 2",
        "Colour.A.m()",
        "Colour.m = lambda self: 50",
    ),
    Change(
        "a member's attribute", ENUM, "getattr(Colour.A, 'extra', None)", "Colour.A.extra = 1.0"
    ),
    Change(
        "__iter__ of the enum's metaclass",
        "class Meta(enum.EnumMeta): pass\nclass Colour(enum.Enum, metaclass=Meta):\n    A = 1\n    B = 2",
        "[m.value for m in Colour]",
        "Meta.__iter__ = lambda cls: iter(())",
    ),
    Change(
        "__len__ of the enum's metaclass",
        "class Meta(enum.EnumMeta): pass\nclass Colour(enum.Enum, metaclass=Meta):\n    A = 1\n    B = 2",
        "len(Colour)",
        "Meta.__len__ = lambda cls: 7",
    ),
    Change(
        "__getitem__ of the enum's metaclass",
        "class Meta(enum.EnumMeta): pass\nclass Colour(enum.Enum, metaclass=Meta):\n    A = 1\n    B = 2",
        "Colour['A'].value",
        "Meta.__getitem__ = lambda cls, name: cls.B",
    ),
    # exceptions
    Change(
        "__new__ of an exception",
        ERROR,
        "caught(lambda e: len(e.args))",
        "Wrong.__new__ = lambda cls, *a: Exception.__new__(cls, 1, 2, 3)",
    ),
    Change(
        "__init__ of an exception",
        ERROR,
        "caught(lambda e: getattr(e, 'v', None))",
        "Wrong.__init__ = lambda self, *a: setattr(self, 'v', 2.0)",
    ),
    Change("__str__ of an exception", ERROR, "caught(str)", "Wrong.__str__ = lambda self: 'abc'"),
    Change(
        "code of __str__ of an exception",
        ERROR + "Wrong.__str__ = lambda self: 'abc'",
        "caught(str)",
        "Wrong.__str__.__code__ = (lambda self: 'abcdef').__code__",
    ),
    Change(
        "__repr__ of an exception", ERROR, "caught(repr)", "Wrong.__repr__ = lambda self: 'abc'"
    ),
    Change("__name__ in repr of an exception", ERROR, "caught(repr)", "Wrong.__name__ = 'Right'"),
    Change(
        "bases of an exception",
        "class A(Exception): pass\nclass B(Exception): pass\nclass Wrong(A): pass\ndef caught():\n    try: raise Wrong\n    except B: return 1.0\n    except Exception: return 2.0",
        "caught()",
        "Wrong.__bases__ = (B,)",
    ),
    # functions
    Change("code", CLASSES, "plain(3.0)", "plain.__code__ = other.__code__"),
    Change(
        "code with other cells",
        "def make(v):\n    def take(): return v\n    return take\nfirst, second = make(1.0), make(2.0)",
        "first()",
        "first.__code__ = second.__code__; first.__closure__[0].cell_contents = 8.0",
    ),
    Change(
        "a keyword default that was not there",
        "def take(a=0.0, *, b=1.0): return a + b\ntake.__kwdefaults__ = {'b': 1.0}",
        "take(2.0)",
        "take.__kwdefaults__['b'] = 2.0",
    ),
    Change(
        "a keyword default goes",
        "def take(*, b=1.0): return b",
        "take()",
        "take.__kwdefaults__.pop('b', None)",
    ),
    Change(
        "an unused keyword default",
        "def take(*, b=1.0): return b",
        "take(b=3.0)",
        "take.__kwdefaults__['b'] = 2.0",
    ),
    Change(
        "a keyword default of a method",
        "class K:\n    def m(self, *, b=1.0): return b\nk = K()",
        "k.m()",
        "K.m.__kwdefaults__['b'] = 2.0",
        "k",
    ),
    Change(
        "a keyword default of an argument",
        "def take(*, b=1.0): return b",
        "take()",
        "take.__kwdefaults__['b'] = 2.0",
        "take",
    ),
    Change(
        "a keyword default of a closure",
        "def outer(g):\n    def inner(): return g()\n    return inner\ndef take(*, b=1.0): return b\nrun = outer(take)",
        "run()",
        "take.__kwdefaults__['b'] = 2.0",
    ),
    Change(
        "wrapped",
        "def deco(f):\n    @functools.wraps(f)\n    def inner(): return f() * 2\n    return inner\n@deco\ndef take(): return 1.0",
        "take()",
        "take.__wrapped__.__code__ = (lambda: 5.0).__code__",
    ),
    Change(
        "__name__ of a function", "def take(): pass", "take.__name__", "take.__name__ = 'renamed'"
    ),
    Change(
        "__wrapped__ of a function",
        "def take(): pass",
        "hasattr(take, '__wrapped__')",
        "take.__wrapped__ = 1.0",
    ),
    Change(
        "lru_cache",
        "@functools.lru_cache(None)\ndef take(a): return a * 2.0",
        "take(3)",
        "take.cache_clear()",
        whole=False,
    ),
    Change(
        "state of a partial",
        "take = functools.partial(lambda a, b: a * b, 2.0)",
        "take(3.0)",
        "take.__setstate__((take.func, (4.0,), {}, {}))",
    ),
    Change(
        "keywords of a partial",
        "take = functools.partial(lambda a, b: a * b, b=2.0)",
        "take(3.0)",
        "take.keywords['b'] = 5.0",
    ),
    Change(
        "partialmethod",
        "class K:\n    def f(self, a): return a\n    g = functools.partialmethod(f, 3.0)\nk = K()",
        "k.g()",
        "K.f = lambda self, a: 0.0",
        whole=False,
    ),
    Change(
        "builtins of a function",
        "first = dict(vars(builtins)); second = dict(first)\nspace = {'__builtins__': first}\nexec('def take(v): return oct(v)', space)\ntake = space['take']\nspace['__builtins__'] = second",
        "take(8)",
        "first['oct'] = hex",
    ),
    Change(
        "other builtins for new functions",
        "space = {}\nexec('def take(v): return oct(v)', space)\ntake = space['take']",
        "take(8)",
        "space['__builtins__'] = {'oct': hex}",
    ),
    Change("a builtin is shadowed", "", "len([1.0])", "len = lambda o: 7"),
    Change(
        "a builtin of a module attribute",
        "m = types.ModuleType('m'); m.oct = oct",
        "getattr(m, 'oct', None)",
        "m.__dict__.pop('oct', None)",
    ),
    Change(
        "a global that is deleted, then its builtin",
        "oct = oct",
        "oct(8)",
        "globals().pop('oct', None)",
    ),
    # modules and namespaces
    Change(
        "dict of a module", "m = types.ModuleType('m'); m.v = 1.0", "m.v", "m.__dict__['v'] = 4.0"
    ),
    Change(
        "class of a module",
        "class Sub(types.ModuleType):\n    @property\n    def v(self): return 8.0\nm = types.ModuleType('m'); m.v = 1.0",
        "m.v",
        "m.__class__ = Sub",
    ),
    Change(
        "class of a module in a module",
        "class Sub(types.ModuleType):\n    @property\n    def v(self): return 8.0\nm = types.ModuleType('m'); m.v = 1.0\nn = types.ModuleType('n'); n.m = m",
        "n.m.v",
        "m.__class__ = Sub",
    ),
    Change(
        "class of the outer module",
        "class Sub(types.ModuleType):\n    @property\n    def m(self): return types.SimpleNamespace(v=8.0)\nm = types.ModuleType('m'); m.v = 1.0\nn = types.ModuleType('n'); n.m = m",
        "n.m.v",
        "n.__class__ = Sub",
    ),
    Change(
        "__getattr__ of a module",
        "m = types.ModuleType('m'); m.v = 1.0",
        "getattr(m, 'w', None)",
        "m.__getattr__ = lambda name: 3.0",
        whole=False,
    ),
    Change(
        "function of a module",
        "m = types.ModuleType('m'); m.sqrt = math.sqrt",
        "m.sqrt(4.0)",
        "m.sqrt = lambda v: 11.0",
    ),
    Change(
        "ufunc of a module", "m = types.ModuleType('m'); m.f = np.tanh", "m.f(x)", "m.f = np.sin"
    ),
    Change("globals()", "v = 1.0", "v", "globals()['v'] = 2.0"),
    Change("globals() read", "v = 1.0", "globals()['v']", "v = 2.0"),
    Change(
        "sys.modules",
        "",
        "'not there' in sys.modules",
        "sys.modules['not there'] = os; sys.modules.pop('not there'); sys.modules['world'] = os; sys.modules.pop('world')",
    ),
    Change(
        "os.environ",
        "os.environ.pop('PYCOMPILE_NOT_SET', None)",
        "os.environ.get('PYCOMPILE_NOT_SET')",
        "os.environ['PYCOMPILE_NOT_SET'] = '1'",
    ),
    Change(
        "level of a logger",
        "log = logging.getLogger('behind'); log.setLevel(logging.WARNING)",
        "log.isEnabledFor(logging.INFO)",
        "log.setLevel(logging.DEBUG)",
        whole=False,
    ),
    Change(
        "context variable",
        "c = contextvars.ContextVar('c', default=1.0)",
        "c.get()",
        "c.set(4.0)",
        whole=False,
    ),
    Change("thread-local", "t = threading.local(); t.v = 1.0", "t.v", "t.v += 1", whole=False),
    Change("weak reference", WITH_V + "r = weakref.ref(k)", "r().v", "k.v += 1", whole=False),
    Change(
        "errors of NumPy", "", "np.geterr()['divide']", "np.seterr(divide='ignore')", whole=False
    ),
    Change(
        "print options of NumPy",
        "",
        "np.get_printoptions()['precision']",
        "np.set_printoptions(precision=3)",
        whole=False,
    ),
    Change("simple namespace", "s = types.SimpleNamespace(v=1.0)", "s.v", "s.v += 1", whole=False),
    Change(
        "mapping proxy",
        "d = {'a': 1.0}; p = types.MappingProxyType(d)",
        "p['a']",
        "d['a'] += 1",
        whole=False,
    ),
    Change(
        "chain map",
        "c = collections.ChainMap({'a': 1.0}, {'b': 2.0})",
        "c['b']",
        "c.maps[0]['b'] = 9.0",
    ),
    Change("user dict", "u = collections.UserDict(a=1.0)", "u['a']", "u['a'] += 1"),
    Change(
        "default factory",
        "d = collections.defaultdict(float)",
        "d['b']",
        "d.clear(); d.default_factory = lambda: 3.0",
        whole=False,
    ),
    Change(
        "attrgetter",
        WITH_V + "get = operator.attrgetter('v')",
        "get(k)",
        "k.v += 1",
    ),
    Change("copy", WITH_V, "copy.copy(k).v", "k.v += 1"),
    Change(
        "deep copy",
        "d = {'a': [1.0]}",
        "copy.deepcopy(d)['a'][0]",
        "d['a'][0] += 1",
    ),
    # arrays
    Change("another array", "w = np.arange(6.0)", "x + w", "w = np.arange(6, dtype='f4')"),
    Change(
        "shape of an array",
        "w = np.arange(6.0)",
        "(x + w).shape",
        "w.resize((1, 6), refcheck=False)",
    ),
    Change("dtype of an array", "w = np.arange(6.0)", "x[0] + w", "w = w.view('i8')"),
    Change("0-d array", "w = np.array(2.0)", "x * w", "w[()] += 5.0"),
    Change(
        "array becomes read-only",
        "w = np.arange(6.0)\ndef fill(x):\n    w[0] = 1.0\n    return w + x",
        "fill(x)",
        "w.setflags(write=False)",
    ),
    Change("coefficients", "p = np.poly1d([1.0, 2.0])", "p(x)", "p.coeffs[0] = 5.0", whole=False),
    Change(
        "vectorize",
        "v = np.vectorize(lambda a: a * 2)",
        "v(x)",
        "v.pyfunc = lambda a: a * 3",
        whole=False,
    ),
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


# ---- arguments that become one object ----

# body over arguments a and b; arguments that are apart, and the same that are not
ALIASES = {
    "is, lists": ("a is b", "[1.0], [2.0]", "(lambda v: (v, v))([1.0])"),
    "is, dicts": ("a is b", "{1: 2}, {1: 2}", "(lambda v: (v, v))({1: 2})"),
    "is, arrays": ("a is b", "np.ones(3), np.ones(3)", "(lambda v: (v, v))(np.ones(3))"),
    "is, instances": ("a is b", "made(1.0), made(2.0)", "(lambda v: (v, v))(made(1.0))"),
    "is, sets": ("a is b", "{1.0}, {1.0}", "(lambda v: (v, v))({1.0})"),
    "is, text": ("a == b", "'ab', 'cd'", "'ab', ''.join(['a', 'b'])"),
    "list, list": ("a.append(5.0), len(b)", "[1.0], [2.0]", "(lambda v: (v, v))([1.0])"),
    "list, in a dict": ("put(a, 0, 5.0), b['k'][0]", "[1.0], {'k': [2.0]}", "(lambda v: (v, {'k': v}))([1.0])"),
    "list, in a tuple": ("a.append(5.0), len(b[0])", "[1.0], ([2.0],)", "(lambda v: (v, (v,)))([1.0])"),
    "list, attribute": ("a.append(5.0), len(b.v)", "[1.0], made([2.0])", "(lambda v: (v, made(v)))([1.0])"),
    "dict, dict": ("put(a, 'v', 5.0), b['v']", "{'v': 1.0}, {'v': 2.0}", "(lambda v: (v, v))({'v': 1.0})"),
    "set, set": ("a.add(9.0), len(b)", "{1.0}, {1.0}", "(lambda v: (v, v))({1.0})"),
    "instance, instance": ("setattr(a, 'v', 5.0), b.v", "made(1.0), made(2.0)", "(lambda v: (v, v))(made(1.0))"),
    "instance, its dict": ("setattr(a, 'v', 5.0), b['v']", "made(1.0), {'v': 2.0}", "(lambda v: (v, v.__dict__))(made(1.0))"),
    "dict, its instance": ("put(a, 'v', 5.0), b.v", "{'v': 2.0}, made(1.0)", "(lambda v: (v.__dict__, v))(made(1.0))"),
    "instance, its dict in a list": ("setattr(a, 'v', 5.0), b[0]['v']", "made(1.0), [{'v': 2.0}]", "(lambda v: (v, [v.__dict__]))(made(1.0))"),
    "its dict, its instance": ("put(a.__dict__, 'v', 5.0), b['v']", "made(1.0), {'v': 2.0}", "(lambda v: (v, v.__dict__))(made(1.0))"),
    "deleted, its dict": ("delattr(a, 'v'), 'v' in b", "made(1.0), {'v': 2.0}", "(lambda v: (v, v.__dict__))(made(1.0))"),
    "globals": ("store(7.0), b['G']", "None, {'G': 1.0}", "None, globals()"),
    "module, its dict": ("setattr(a, 'v', 5.0), b['v']", "M, {'v': 2.0}", "M, M.__dict__"),
    "class counter, its instance": ("setattr(Made, 'n', 5.0), b.n", "None, made(1.0)", "None, Made"),
    "array, array": ("put(a, 0, 5.0), b + 1", "np.ones(3), np.ones(3)", "(lambda v: (v, v))(np.ones(3))"),
    "array, view": ("put(a, 0, 5.0), b + 1", "np.ones(3), np.ones(2)", "(lambda v: (v, v[:2]))(np.ones(3))"),
    "array, in a list": ("put(a, 0, 5.0), b[0] + 1", "np.ones(3), [np.ones(3)]", "(lambda v: (v, [v]))(np.ones(3))"),
    "cell, function": ("b[0](5.0), b[1]()", "None, cells(1.0, 2.0)", "None, cells(1.0)"),
}  # fmt: skip
ALIAS_WORLD = """
class Made:
    n = 1.0
def made(v):
    o = Made()
    o.v = v
    return o
M = types.ModuleType('M')
def put(o, k, v): o[k] = v
G = 1.0
def store(v):
    global G
    G = v
def cells(*values):
    def pair(v):
        def store(new):
            nonlocal v
            v = new
        def take(): return v
        return store, take
    pairs = [pair(v) for v in values]
    return pairs[0][0], pairs[-1][1]
"""
