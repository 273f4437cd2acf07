"""One state that is written by one way and read by another, and state under unusual names.

Each program runs plain and compiled, three times, with a change between the calls."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import pycompile

IMPORTS = (
    "import builtins, collections, enum, json, operator, types\nimport numpy as np\n"
    "def later(*names): return '&'.join(names).split('&')\n"
    "class Str(str): pass\n"
    "ASKED = []\nclass Odd(str):\n    __hash__ = str.__hash__\n"
    "    def __eq__(self, other):\n        ASKED.append(str(other))\n        return str.__eq__(self, other)\n"
)
PLAIN = "class C: v = 1.0\nc = C(); c.u = 0.0\n"
ENUM = "class E(enum.Enum):\n    ONE = 1\n    TWO = 2\n"
CLASSES = (
    "class C: v = 2.0\nclass D(C):\n    v = 3.0\n    def up(self): return super().v\nd = D()\n"
)

# name: world, body of f(x, k), what happens between calls with k
PROGRAMS = {
    # names that are not interned, and dicts that are not plain
    "name set by object": (PLAIN, "x * c.v", "object.__setattr__(c, later('v', 'w')[0], k + 7.0)"),
    "name that is there": (PLAIN, "x * hasattr(c, 'w')", "object.__setattr__(c, later('w')[0], 1)"),
    "names of a file": (PLAIN, "x * c.v", "c.__dict__.update(json.loads('{\"v\": %d}' % (k + 4)))"),
    "ordered __dict__": (PLAIN + "c.__dict__ = collections.OrderedDict(v=5.0)\n", "x * c.v", "c.v = k + 1.0"),
    "ordered __dict__, absent": (
        PLAIN + "c.__dict__ = collections.OrderedDict(u=5.0)\n", "x * c.v", "c.v = k + 1.0"),
    "ordered __dict__, deleted": (
        PLAIN + "c.__dict__ = collections.OrderedDict(v=5.0)\n", "(delattr(c, 'v'), x * c.v)[1]", "c.v = 2.0"),
    "derived __dict__": (
        PLAIN + "class Dict(dict):\n    def __missing__(self, key): return 9.0\nc.__dict__ = Dict(u=1.0)\n",
        "x * c.v", "c.v = k + 1.0"),
    "key with an __eq__": (PLAIN + "c.__dict__[Odd('v')] = 5.0\n", "x * c.v", "c.__dict__[Odd('v')] += 1"),
    "key with an __eq__, later": (PLAIN, "x * c.v", "c.__dict__[Odd('v')] = 5.0 + k"),
    "key with an __eq__ in a module": (
        "m = types.ModuleType('m'); vars(m)[Odd('v')] = 5.0\n", "x * m.v + len(ASKED)", "vars(m)[Odd('v')] += 1"),
    "key with an __eq__ in globals": (
        "globals()[Odd('G')] = 5.0\n", "x * G + len(ASKED)", "globals()[Odd('G')] += 1"),
    "key with an __eq__ in globals, stored": (
        "globals()[Odd('G')] = 5.0\ndef f(x, k):\n    global G\n    G = k + 2.0\n    return x + len(ASKED)\n", "", ""),
    "key with an __eq__ in globals, deleted": (
        "globals()[Odd('G')] = 5.0\ndef f(x, k):\n    global G\n    del G\n    return x + len(ASKED)\n", "",
        "globals()[Odd('G')] = 5.0"),
    "key with an __eq__ in builtins": (
        "vars(builtins)[Odd('fuzzed')] = 5.0\n", "x * fuzzed + len(ASKED)", "vars(builtins)[Odd('fuzzed')] += 1"),
    "key with an __eq__ in __kwdefaults__": (
        "def g(*, a=1.0): return a\ng.__kwdefaults__ = {Odd('a'): 2.0}\n", "x * g() + len(ASKED)", "g.__kwdefaults__[Odd('a')] += 1"),
    "key with an __eq__ in __kwdefaults__, later": (
        "def g(*, a=1.0): return a\n", "x * g() + len(ASKED)", "g.__kwdefaults__ = {Odd('a'): 2.0 + k}"),
    "key of a derived str in a dict": ("d = {'v': 1.0}\n", "x * d['v']", "d[Str('v')] = k + 2.0"),
    "key with an __eq__ in a large dict": (
        "d = dict.fromkeys(range(3000), 1.0); d['v'] = 2.0\n", "x * d.get('w', 0.5)", "d[Odd('w')] = k + 2.0"),
    "derived str in globals": (
        "", "x * globals().get('made', 0.5)", "globals()[Str('made')] = k + 1.0"),
    # two ways within a call
    "entry of __kwdefaults__": (
        "def g(*, a=1.0): return a\n", "(g.__kwdefaults__.update(a=x[0] + 4), x * g())[1]", "g.__kwdefaults__['a'] += 1"),
    "deleted from __kwdefaults__": (
        "def g(*, a=1.0): return a\ndef f(x, k):\n    del g.__kwdefaults__['a']\n    return x * g()\n", "", "g.__kwdefaults__ = {'a': 1.0}"),
    "builtin replaced": (
        "def f(x, k):\n    builtins.fuzzed = lambda v: v + k\n    return x * fuzzed(2.0)\nbuiltins.fuzzed = abs\n", "", ""),
    "builtin replaced in the dict": (
        "def f(x, k):\n    vars(builtins)['fuzzed'] = k + 2.0\n    return x * fuzzed\nbuiltins.fuzzed = 1.0\n", "", ""),
    "builtin that is there later": (
        "def f(x, k):\n    try: t = fuzzed\n    except NameError: t = 0.5\n    return x * t\n",
        "", "builtins.fuzzed = k + 2.0"),
    "class by two ways, thrice": (
        "class C: v = 1.0\nc = C()\ndef f(x, k):\n    t = C.v\n    C.v = k + 1.0\n    C.v + 1\n"
        "    c.__class__.v = 3.0\n    setattr(C, 'v', 2.5 + k)\n    return x * t\n", "", ""),
    "class, then super()": (
        CLASSES + "def f(x, k):\n    C.v = k + 7.0\n    return x * d.up()\n", "", "C.v = 1.0"),
    "class between, later": (
        "class C: v = 2.0\nclass D(C): pass\n"
        "def f(x, k):\n    C.v = x * 2\n    C.v = k + 7.0\n    return x * D.v\n", "", "D.v = 5.0"),
    "metaclass, then its class": (
        "class Meta(type): v = 1.0\nclass C(metaclass=Meta): pass\n"
        "def f(x, k):\n    Meta.v = k + 7.0\n    return x * C.v\n", "", "Meta.v = 1.0"),
    "metaclass, behind its class": (
        "class Meta(type): v = 1.0\nclass C(metaclass=Meta): v = 2.0\n"
        "def f(x, k):\n    setattr(Meta, 'v', k + 7.0)\n    return x * getattr(C, 'v')\n", "", "C.v += 1.0"),
    "metaclass whose __getattr__ served": (
        "class Meta(type):\n    def __getattr__(self, name): return 9.0\nclass C(metaclass=Meta): pass\n"
        "def f(x, k):\n    t = C.v\n    Meta.v = k + 7.0\n    return x * C.v + t\n", "", "del Meta.v"),
    "property that a class has no more": (
        "class C:\n    @property\n    def v(self): return 2.0\nc = C()\n"
        "def f(x, k):\n    C.v = 4.0\n    c.v = k + 7.0\n    return x * c.v\n", "", "C.v = property(lambda self: 3.0)"),
    "type.__setattr__": (
        CLASSES + "def f(x, k):\n    type.__setattr__(C, 'v', k + 7.0)\n    return x * C.v\n", "", "C.v = 1.0"),
    "type.__setattr__ in a try": (
        CLASSES + "def f(x, k):\n    try: type.__setattr__(C, 'v', k + 7.0)\n    except TypeError: x = x + 50\n    return x * C.v\n",
        "", "C.v = 1.0"),
    "slot of a function, then its dict": (
        "def g(): pass\ng.k = 1.0\ndef f(x, k):\n    g.k = k + 2.0\n    return x * g.__dict__['k']\n", "", "g.k = 1.0"),
    "dict of a function, then its slot": (
        "def g(): pass\ng.k = 1.0\ndef f(x, k):\n    g.__dict__['k'] = k + 2.0\n    return x * g.k\n", "", "g.k = 1.0"),
    "__setattr__ of a function": (
        "def g(): pass\ng.k = 1.0\ndef f(x, k):\n    g.__setattr__('k', k + 2.0)\n    return x * g.k\n", "", "g.k = 1.0"),
    "dict changed before its object is read": (
        PLAIN + "def f(x, k):\n    c.u = k + 1.0\n    vars(c).pop('u')\n    t = getattr(c, 'u', 9.0)\n"
        "    c.__dict__.update(u=5.0)\n    return x * t + c.u\n", "", "c.u = 3.0"),
    "global, then globals().get": (
        "G = 1.0\ndef f(x, k):\n    global G\n    G = k + 2.0\n    return x * globals().get('G')\n", "", "globals()['G'] = 1.0"),
    # what a method of a module, a class or a function depends on
    "__getattribute__ of a module": (
        "m = types.ModuleType('m'); m.v = 1.0\n", "x * m.__getattribute__('v')", "m.v = k + 2.0"),
    "__getattribute__ of a module by its class": (
        "m = types.ModuleType('m'); m.v = 1.0\n", "x * types.ModuleType.__getattribute__(m, 'v')", "m.v = k + 2.0"),
    "subclasses": (CLASSES + "kept = []\n", "x * len(C.__subclasses__())", "kept.append(type('F', (C,), {}))"),
    # maps of an enum
    "call of an enum": (ENUM, "x * E(1).value", "E._value2member_map_[1] = E.TWO"),
    "subscript of an enum": (ENUM, "x * E['ONE'].value", "E._member_map_['ONE'] = E.TWO"),
    "deleted from an enum": (ENUM, "x * E['ONE'].value", "E._member_map_.pop('ONE', None)"),
    "length of an enum": (ENUM, "x * len(E)", "E._member_names_.append('TWO')"),
    "members of an enum": (ENUM, "x * sum([e.value for e in E])", "E._member_names_.append('TWO')"),
    "attribute of an enum": (ENUM, "x * E.ONE.value", "E._member_map_['ONE'] = E.TWO"),
    "enum changed within": (
        ENUM + "def f(x, k):\n    E._member_map_['ONE'] = E.TWO\n    return x * E['ONE'].value\n", "", ""),
    "membership in an enum": (ENUM + "one = E.ONE\n", "x * (one in E)", "E._member_map_.pop('ONE', None)"),
    "enum asked within": (
        ENUM + "one = E.ONE\ndef f(x, k):\n    E._member_map_.pop('ONE', None)\n    return x * (one in E)\n", "", ""),
    # a NumPy number, made of a constant, as a key
    "number as a key": ("d = {5: 3.0, 1: 7.0}\n", "x * d[np.int64(1)] + d.get(np.int64(1), 0.5)", "d[1] = k + 2.0"),
}  # fmt: skip


def calls(name: str, compiled: Any) -> list[Any]:
    """Of three calls: the result, or what was raised."""
    world, body, change = PROGRAMS[name]
    text = IMPORTS + world + (f"def f(x, k): return {body}\n" if body else "")
    scope = types.ModuleType("world").__dict__
    exec(text, scope)
    function, found = compiled(scope["f"]), []
    for k in range(3):
        try:
            found.append(function(np.arange(1.0, 3.0), k).tolist())
        except Exception as error:
            found.append(repr(error))
        found.append(list(scope["ASKED"]))
        exec(change, scope, {"k": k})
    vars(scope["builtins"]).pop("fuzzed", None)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_ways_to_one_state(name):
    assert calls(name, lambda f: pycompile.compile(f, backend="eager")) == calls(name, lambda f: f)


ASKED = []


class Asked(str):
    """A key whose comparisons are counted."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        ASKED.append(other)
        return str.__eq__(self, other)


def test_guards_do_not_compare_keys_of_the_program():
    class Box:
        v = 1.0

    def f(x):
        return x * box.v

    box = Box()
    compiled = pycompile.compile(f, backend="eager")
    counts = []
    for k, call in enumerate((compiled, compiled, f, compiled, f)):
        if k == 1:
            vars(box)[Asked("v")] = 3.0
        ASKED.clear()
        assert call(np.ones(1)) == (3.0 if k else 1.0)
        counts.append(len(ASKED))
    assert counts[1] == counts[2] == counts[3] == counts[4] > 0
