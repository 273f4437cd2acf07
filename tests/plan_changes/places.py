"""Objects of every kind at every kind of place."""

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
