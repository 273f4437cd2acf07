"""What the programs of state_programs.py find in their module: places that hold a value, and the ways
to each of them.

A place is a text that makes it, and expressions and statements that read, write and delete what it
holds.  All ways of a place lead to one state, or to states of which one hides the other: that is what
the programs are about.  `{v}` is the value written.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PREAMBLE = """\
import builtins
import collections
import contextlib
import enum
import functools
import gc
import operator
import signal
import sys
import threading
import types
import weakref
import numpy as np

EVENTS = []
HELD = []
WATCHED = []
MODULE = sys.modules[__name__]

class Loud:
    def __init__(self, v, told):
        self.v = v
        self.told = told
    def __del__(self):
        EVENTS.append(('end', self.v))
        self.told()

def val(o):
    return o.v if isinstance(o, Loud) else o

def watched(o):
    WATCHED.append(weakref.ref(o))
    return o

def later(*names):
    return "&".join(names).split("&")

class Str(str):
    pass

class Odd(str):
    def __hash__(self):
        return str.__hash__(self)
    def __eq__(self, other):
        if EVENTS[-1:] != [('asked', str(self))]:  # CPython asks twice where it specializes
            EVENTS.append(('asked', str(self)))
        return str.__eq__(self, other)

SIGNALLED = [lambda: None]
def on_signal(number, frame):
    SIGNALLED[0]()
def by_signal(act):
    SIGNALLED[0] = act
    signal.raise_signal(signal.SIGUSR1)
def by_thread(act):
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()
def by_callback(act):
    o = types.SimpleNamespace()
    o.ref = weakref.ref(o, lambda r: act())
    keep = o.ref
    del o.ref
    del o
def by_del(act):
    Loud(0.0, act)
def by_exec(act):
    exec("act()", {"act": act})
def by_collector(act):
    o = Loud(0.5, act)
    o.me = o
    del o
    gc.collect()
def by_call(act):
    act()
"""


@dataclass(frozen=True)
class Place:
    """Ways to one state; `kinds` are the features that its programs need."""

    name: str
    world: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    deletes: tuple[str, ...] = ()
    kinds: frozenset[str] = field(default_factory=frozenset)


def _attributes(
    name: str,
    world: str,
    o: str,
    more_reads: tuple[str, ...] = (),
    more_writes: tuple[str, ...] = (),
) -> Place:
    """An object `o` with an attribute `v` and a dict of its own."""
    return Place(
        name,
        world,
        (
            f"{o}.v",
            f"{o}.v",
            f"getattr({o}, 'v')",
            f"getattr({o}, 'v', 0.125)",
            f"(1.0 if hasattr({o}, 'v') else 3.0)",
            f"{o}.__dict__['v']",
            f"vars({o})['v']",
            f"vars({o}).get('v', 0.25)",
            f"operator.attrgetter('v')({o})",
            f"object.__getattribute__({o}, 'v')",
            f"float(len({o}.__dict__))",
            *more_reads,
        ),
        (
            f"{o}.v = {{v}}",
            f"{o}.v = {{v}}",
            f"setattr({o}, 'v', {{v}})",
            f"object.__setattr__({o}, 'v', {{v}})",
            f"object.__setattr__({o}, later('v', 'w')[0], {{v}})",
            f"{o}.__dict__['v'] = {{v}}",
            f"vars({o})['v'] = {{v}}",
            f"{o}.__dict__.update(v={{v}})",
            f"{o}.__dict__.update(zip(later('v', 'w'), [{{v}}]))",
            f"{o}.__dict__.setdefault('v', {{v}})",
            *more_writes,
        ),
        (
            f"del {o}.v",
            f"delattr({o}, 'v')",
            f"del {o}.__dict__['v']",
            f"vars({o}).pop('v')",
            f"{o}.__dict__.clear()",
        ),
    )


def _dict(name: str, world: str, d: str, key: str = "'v'", keys: tuple[str, ...] = ()) -> Place:
    """A dict `d` with an entry."""
    every = (key, *keys)
    return Place(
        name,
        world,
        (
            *(f"{d}[{k}]" for k in every),
            f"{d}.get({key}, 0.25)",
            f"(1.0 if {key} in {d} else 2.0)",
            f"list({d}.values())[-1]",
            f"float(len({d}))",
            f"operator.itemgetter({key})({d})",
            f"sum(1.0 for _ in {d})",
        ),
        (
            *(f"{d}[{k}] = {{v}}" for k in every),
            f"{d}.update({{{key}: {{v}}}})",
            f"{d}.setdefault({key}, {{v}})",
            f"operator.setitem({d}, {key}, {{v}})",
        ),
        (f"del {d}[{key}]", f"{d}.pop({key})", f"{d}.clear()"),
    )


PLACES = [
    Place(
        "a global",
        "G = 2.0",
        (
            "G",
            "G",
            "globals()['G']",
            "globals()['G']",
            "globals().get('G', 0.5)",
            "MODULE.G",
            "getattr(MODULE, 'G')",
            "vars(MODULE)['G']",
            "MODULE.__dict__['G']",
            "sys.modules[__name__].G",
            "read_G.__globals__['G']",
            "read_G()",
            "operator.attrgetter('G')(MODULE)",
            "(1.0 if 'G' in globals() else 3.0)",
            "(1.0 if hasattr(MODULE, 'G') else 3.0)",
        ),
        (
            "set_G({v})",
            "set_G({v})",
            "globals()['G'] = {v}",
            "MODULE.G = {v}",
            "setattr(MODULE, 'G', {v})",
            "vars(MODULE)['G'] = {v}",
            "MODULE.__dict__.update(G={v})",
            "sys.modules[__name__].G = {v}",
            "globals()[Str('G')] = {v}",
            "read_G.__globals__['G'] = {v}",
            "object.__setattr__(MODULE, later('G', 'H')[0], {v})",
        ),
        (
            "del_G()",
            "del globals()['G']",
            "del MODULE.G",
            "globals().pop('G')",
            "delattr(MODULE, 'G')",
        ),
    ),
    Place(
        "a name of builtins",
        "builtins.fuzz_b = 2.0",
        (
            "fuzz_b",
            "fuzz_b",
            "builtins.fuzz_b",
            "vars(builtins)['fuzz_b']",
            "getattr(builtins, 'fuzz_b')",
            "__builtins__['fuzz_b']",
            "read_b()",
        ),
        (
            "builtins.fuzz_b = {v}",
            "vars(builtins)['fuzz_b'] = {v}",
            "setattr(builtins, 'fuzz_b', {v})",
            "MODULE.fuzz_b = {v}",
            "__builtins__['fuzz_b'] = {v}",
            "set_b({v})",
        ),
        ("del builtins.fuzz_b", "globals().pop('fuzz_b')", "del vars(builtins)['fuzz_b']"),
    ),
    Place(
        "a builtin function",
        "",
        (
            "abs(-2.0)",
            "abs(-2.0)",
            "builtins.abs(-2.0)",
            "getattr(builtins, 'abs')(-3.0)",
            "read_abs()",
        ),
        (
            "builtins.abs = (lambda a, v={v}: v)",
            "MODULE.abs = (lambda a, v={v}: v)",
            "vars(builtins)['abs'] = (lambda a, v={v}: v)",
            "setattr(builtins, 'abs', lambda a, v={v}: v)",
        ),
        ("globals().pop('abs')",),
    ),
    _attributes(
        "attribute of a module", "OTHER = types.ModuleType('other'); OTHER.v = 2.0", "OTHER"
    ),
    _attributes(
        "attribute of a module that is imported",
        "sys.modules['fuzz_other'] = OTHERS = types.ModuleType('fuzz_other'); OTHERS.v = 2.0",
        "OTHERS",
        ("sys.modules['fuzz_other'].v", "imported()", "imported_from()"),
        ("sys.modules['fuzz_other'].v = {v}", "replace_module({v})"),
    ),
    Place(
        "attribute of a class",
        "class C:\n    v = 2.0\n    def up(self): return self.v\nclass D(C):\n    def up(self): return super().v\n"
        "    def other(self): return super(D, self).v\nC0 = C(); D0 = D()",
        (
            "C.v",
            "D.v",
            "C0.v",
            "D0.v",
            "D0.up()",
            "D0.other()",
            "C0.up()",
            "C.__dict__['v']",
            "vars(C)['v']",
            "getattr(C, 'v')",
            "operator.attrgetter('v')(D0)",
            "C0.__class__.v",
            "type(D0).v",
            "D.__mro__[1].v",
            "D.__bases__[0].v",
            "type.__getattribute__(C, 'v')",
            "object.__getattribute__(D0, 'v')",
            "(1.0 if hasattr(D0, 'v') else 2.0)",
            "(1.0 if 'v' in vars(D) else 2.0)",
            "(1.0 if 'v' in D.__dict__ else 2.0)",
            "super(D, D).v",
        ),
        (
            "C.v = {v}",
            "C.v = {v}",
            "D.v = {v}",
            "setattr(C, 'v', {v})",
            "type.__setattr__(C, 'v', {v})",
            "type(C0).v = {v}",
            "C0.__class__.v = {v}",
            "setattr(D, later('v', 'w')[0], {v})",
            "C0.v = {v}",
            "D0.v = {v}",
            "D0.__dict__['v'] = {v}",
        ),
        (
            "del C.v",
            "del D.v",
            "delattr(C, 'v')",
            "D0.__dict__.clear()",
            "type.__delattr__(D, 'v')",
            "C0.__dict__.clear()",
        ),
    ),
    Place(
        "attribute of a metaclass",
        "class Meta(type):\n    v = 2.0\n    def up(cls): return cls.v\nclass MC(metaclass=Meta): pass\n"
        "class MD(MC): pass\nM0 = MC()",
        (
            "MC.v",
            "MD.v",
            "MC.up()",
            "Meta.v",
            "type(MC).v",
            "type(type(M0)).v",
            "vars(Meta)['v']",
            "getattr(MD, 'v')",
            "getattr(MC, 'v', 0.125)",
            "(1.0 if hasattr(MC, 'v') else 2.0)",
            "(1.0 if hasattr(M0, 'v') else 2.0)",
            "operator.attrgetter('v')(MC)",
            "type.__getattribute__(MC, 'v')",
        ),
        (
            "Meta.v = {v}",
            "Meta.v = {v}",
            "setattr(Meta, 'v', {v})",
            "type(MC).v = {v}",
            "type.__setattr__(Meta, 'v', {v})",
            "MC.v = {v}",
            "MD.v = {v}",
            "Meta.__getattr__ = (lambda cls, name, v={v}: v)",
        ),
        ("del Meta.v", "del MC.v", "delattr(MD, 'v')", "del Meta.__getattr__"),
    ),
    Place(
        "class of an object",
        "class P:\n    v = 2.0\n    def m(self): return self.v\nclass Q(P):\n    v = 3.0\nclass R(P):\n"
        "    def m(self): return 7.0\n    v = 4.0\nP0 = P()",
        (
            "P0.v",
            "P0.m()",
            "type(P0).v",
            "P0.__class__.v",
            "(1.0 if isinstance(P0, Q) else 2.0)",
            "(1.0 if type(P0) is P else 2.0)",
        ),
        (
            "P0.__class__ = Q",
            "P0.__class__ = R",
            "object.__setattr__(P0, '__class__', P)",
            "setattr(P0, '__class__', R)",
            "Q.v = {v}",
            "R.m = (lambda self, v={v}: v)",
            "R.__bases__ = (Q,)",
            "R.__bases__ = (P,)",
            "P.m = (lambda self, v={v}: v)",
        ),
        ("del R.m", "del Q.v"),
    ),
    _attributes(
        "attribute of an object",
        "class A:\n    v = 0.5\nA0 = A(); A0.v = 2.0",
        "A0",
        ("A.v",),
        ("A.v = {v}", "A0.__dict__ = {'v': {v}}"),
    ),
    _attributes(
        "attribute of an object whose class sets it",
        "class I:\n    def __init__(self): self.u = 1.0; self.v = 2.0\nI0 = I(); I1 = I()",
        "I0",
        ("I1.v",),
        ("I1.v = {v}", "I0.__dict__ = {'v': {v}}", "I0.__dict__ = collections.OrderedDict(v={v})"),
    ),
    _attributes(
        "attribute in an OrderedDict",
        "class O: pass\nO0 = O(); O0.__dict__ = collections.OrderedDict(v=2.0)",
        "O0",
        ("O.v",),
        ("O.v = {v}",),
    ),
    _attributes(
        "attribute in a derived dict",
        "class Dict(dict):\n    def __missing__(self, key): return 9.0\nclass N: pass\n"
        "N0 = N(); N0.__dict__ = Dict(v=2.0)",
        "N0",
        ("N.v",),
        ("N.v = {v}",),
    ),
    _attributes(
        "attribute that a str derived from names",
        "class S: v = 0.5\nS0 = S(); S0.__dict__[Odd('v')] = 2.0\nS1 = S(); S1.__dict__[Str('v')] = 2.0",
        "S0",
        ("S1.v", "getattr(S1, 'v')"),
        ("S0.__dict__[Odd('v')] = {v}", "S1.__dict__[Str('v')] = {v}", "setattr(S1, 'v', {v})"),
    ),
    Place(
        "slot",
        "class T:\n    __slots__ = ('v', '__weakref__')\nT0 = T(); T0.v = 2.0",
        (
            "T0.v",
            "getattr(T0, 'v')",
            "T.v.__get__(T0)",
            "object.__getattribute__(T0, 'v')",
            "operator.attrgetter('v')(T0)",
            "(1.0 if hasattr(T0, 'v') else 2.0)",
            "getattr(T0, later('v', 'w')[0])",
        ),
        (
            "T0.v = {v}",
            "setattr(T0, 'v', {v})",
            "T.v.__set__(T0, {v})",
            "object.__setattr__(T0, 'v', {v})",
            "setattr(T0, later('v', 'w')[0], {v})",
        ),
        ("del T0.v", "delattr(T0, 'v')", "T.v.__delete__(T0)"),
    ),
    Place(
        "attribute of a function",
        "def fun(): return 1.0\nfun.v = 2.0",
        (
            "fun.v",
            "getattr(fun, 'v')",
            "fun.__dict__['v']",
            "vars(fun)['v']",
            "fun.__dict__.get('v', 0.5)",
            "(1.0 if hasattr(fun, 'v') else 2.0)",
            "operator.attrgetter('v')(fun)",
        ),
        (
            "fun.v = {v}",
            "fun.__dict__['v'] = {v}",
            "vars(fun)['v'] = {v}",
            "setattr(fun, 'v', {v})",
            "fun.__dict__ = {'v': {v}}",
            "object.__setattr__(fun, later('v', 'w')[0], {v})",
            "fun.__dict__.update(v={v})",
        ),
        ("del fun.v", "fun.__dict__.clear()", "del fun.__dict__['v']"),
    ),
    Place(
        "defaults of a function",
        "def dflt(a=2.0): return a\ndef other(a=5.0): return a + 1.0",
        ("dflt()", "dflt()", "dflt.__defaults__[0]", "float(dflt.__code__.co_argcount)"),
        (
            "dflt.__defaults__ = ({v},)",
            "setattr(dflt, '__defaults__', ({v},))",
            "dflt.__code__ = other.__code__",
        ),
        ("del dflt.__defaults__",),
    ),
    Place(
        "defaults by keyword",
        "def kwd(*, a=2.0): return a",
        (
            "kwd()",
            "kwd()",
            "kwd.__kwdefaults__['a']",
            "kwd.__kwdefaults__.get('a', 0.5)",
            "float(len(kwd.__kwdefaults__))",
        ),
        (
            "kwd.__kwdefaults__['a'] = {v}",
            "kwd.__kwdefaults__.update(a={v})",
            "kwd.__kwdefaults__ = {'a': {v}}",
            "kwd.__kwdefaults__.setdefault('a', {v})",
        ),
        (
            "del kwd.__kwdefaults__['a']",
            "kwd.__kwdefaults__.clear()",
            "kwd.__kwdefaults__.pop('a')",
        ),
    ),
    Place(
        "cell",
        "def maker():\n    c = 2.0\n    def get(): return c\n    def put(v):\n        nonlocal c\n        c = v\n"
        "    def drop():\n        nonlocal c\n        del c\n    return get, put, drop\nget_c, put_c, drop_c = maker()\n"
        "CELL = get_c.__closure__[0]",
        (
            "get_c()",
            "get_c()",
            "CELL.cell_contents",
            "get_c.__closure__[0].cell_contents",
            "put_c.__closure__[0].cell_contents",
        ),
        (
            "put_c({v})",
            "put_c({v})",
            "CELL.cell_contents = {v}",
            "get_c.__closure__[0].cell_contents = {v}",
        ),
        ("drop_c()", "del CELL.cell_contents"),
    ),
    _dict(
        "entry of a dict",
        "DICT = {'u': 1.0, 'v': 2.0}; SAME = DICT",
        "DICT",
        "'v'",
        ("Str('v')", "Odd('v')"),
    ),
    _dict("entry of an OrderedDict", "ORDERED = collections.OrderedDict(u=1.0, v=2.0)", "ORDERED"),
    _dict(
        "entry of a dict that misses none",
        "class Missing(dict):\n    def __missing__(self, key): return 9.0\nMISSING = Missing(v=2.0)",
        "MISSING",
    ),
    _dict(
        "entry under a number",
        "NUMBERS = {1: 2.0, 5: 1.0}",
        "NUMBERS",
        "1",
        ("1.0", "True", "np.int64(1)"),
    ),
    Place(
        "item of a list",
        "LIST = [2.0, 1.0]; ALIAS = LIST; NEST = [LIST]",
        (
            "LIST[0]",
            "ALIAS[0]",
            "NEST[0][0]",
            "LIST[-1]",
            "float(len(LIST))",
            "sum(LIST[:1])",
            "sum(v * 1.0 for v in LIST)",
            "operator.itemgetter(0)(LIST)",
        ),
        (
            "LIST[0] = {v}",
            "ALIAS[0] = {v}",
            "LIST[:1] = [{v}]",
            "LIST.append({v})",
            "ALIAS.insert(0, {v})",
            "NEST[0][-1] = {v}",
            "operator.setitem(LIST, 0, {v})",
            "LIST.__setitem__(0, {v})",
        ),
        ("del LIST[0]", "LIST.pop()", "ALIAS.clear()"),
    ),
    Place(
        "items of a deque",
        "DEQUE = collections.deque([2.0, 1.0], 3)",
        ("DEQUE[0]", "DEQUE[-1]", "float(len(DEQUE))", "sum(DEQUE)"),
        ("DEQUE.append({v})", "DEQUE.appendleft({v})", "DEQUE[0] = {v}"),
        ("DEQUE.pop()", "DEQUE.clear()"),
    ),
    Place(
        "enum",
        "class E(enum.Enum):\n    ONE = 1.0\n    TWO = 2.0\n    @property\n    def twice(self): return self.value * 2",
        (
            "E.ONE.value",
            "E['ONE'].value",
            "E(1.0).value",
            "E.__members__['ONE'].value",
            "E._member_map_['ONE'].value",
            "float(len(E))",
            "[m.value for m in E][0]",
            "E.ONE.twice",
            "E.ONE._value_",
            "E._value2member_map_[1.0].value",
            "(1.0 if E.ONE in E else 2.0)",
            "float(len(E._member_names_))",
        ),
        (
            "E._member_map_['ONE'] = E.TWO",
            "E._value2member_map_[1.0] = E.TWO",
            "E.ONE._value_ = {v}",
            "E.twice = property(lambda self, v={v}: v)",
            "E._member_names_.append('TWO')",
            "E.ONE.extra = {v}",
            "E._member_map_['TWO'] = E.ONE",
        ),
        ("del E._member_map_['ONE']", "del E._member_names_[-1]"),
    ),
    Place(
        "property and descriptor",
        "class Desc:\n    def __init__(self): self.held = 2.0\n    def __get__(self, o, t): return self.held\n"
        "    def __set__(self, o, v): self.held = v\nDESC = Desc()\nclass W:\n    d = DESC\n"
        "    @property\n    def p(self): return self.q\n    @p.setter\n    def p(self, v): self.q = v\n"
        "    @functools.cached_property\n    def cp(self): return self.q + 1.0\nW0 = W(); W0.q = 2.0",
        (
            "W0.d",
            "W.d",
            "DESC.held",
            "W0.p",
            "W0.q",
            "W0.cp",
            "W.p.fget(W0)",
            "vars(W0)['q']",
            "getattr(W0, 'p')",
        ),
        (
            "W0.d = {v}",
            "DESC.held = {v}",
            "W0.p = {v}",
            "W0.q = {v}",
            "setattr(W0, 'p', {v})",
            "vars(W0)['q'] = {v}",
            "W.p = property(lambda self, v={v}: v)",
            "W0.__dict__['cp'] = {v}",
            "Desc.__get__ = (lambda s, o, t, v={v}: v)",
        ),
        ("del W0.q", "del W0.cp", "W0.__dict__.clear()"),
    ),
    Place(
        "array that is written",
        "ARRAY = np.array([2.0, 1.0]); VIEW = ARRAY[:1]; H = types.SimpleNamespace(a=ARRAY)",
        ("ARRAY[0]", "VIEW[0]", "H.a[0]", "ARRAY.sum()", "VIEW * 1.0", "ARRAY.tolist()[0]"),
        (
            "ARRAY[0] = np.sum({v})",
            "VIEW[0] = np.sum({v})",
            "H.a[:] = np.sum({v})",
            "ARRAY += 0.5",
            "H.a = np.ones(2)",
            "replace_array()",
        ),
    ),
    Place(
        "namespaces of one code",
        "CODE = compile('def h(): return A', 'template', 'exec')\nNAMES = [{'A': 1.0}, {'A': 3.0}]\n"
        "for ns in NAMES: exec(CODE, ns)\nHS = [ns['h'] for ns in NAMES]\nTWIN = types.FunctionType(read_G0.__code__, {'G0': 7.0})\nG0 = 2.0",
        ("HS[0]()", "HS[1]()", "HS[n % 2]()", "TWIN()", "read_G0()", "TWINS[n % 2]()"),
        (
            "NAMES[0]['A'] = {v}",
            "NAMES[1]['A'] = {v}",
            "HS.reverse()",
            "HS[0] = HS[1]",
            "HS.append(anew({v}))",
            "HS[1] = anew({v})",
            "TWINS.reverse()",
        ),
        kinds=frozenset({"namespaces"}),
    ),
]

HELPERS = """\
def set_G(v):
    global G
    G = v
def del_G():
    global G
    del G
def read_G(): return G
def read_b(): return fuzz_b
def set_b(v):
    global fuzz_b
    fuzz_b = v
def read_abs(): return abs(-4.0)
def read_G0(): return G0
TWINS = [read_G0, types.FunctionType(read_G0.__code__, {'G0': 11.0})]
def anew(v):
    ns = {'A': v}
    exec(CODE, ns)
    return ns['h']
def imported():
    import fuzz_other
    return fuzz_other.v
def imported_from():
    from fuzz_other import v
    return v
def replace_module(v):
    sys.modules['fuzz_other'] = m = types.ModuleType('fuzz_other')
    m.v = v
def replace_array():
    global ARRAY
    ARRAY = ARRAY * 2.0
"""
