"""Objects whose end runs code of the program: what that changes is read behind it, in the same call.

A program is a setup, which is executed before each call, and the body of `f(x)`; `G.n` is what ends
change.  Where it is made plain in `# …`, the place of the end.
"""

import contextvars
import functools
import textwrap

import numpy as np
import pytest

import pycompile

COMMON = """
import collections, dataclasses, functools, gc, sys, types, weakref
import numpy as np, pycompile
class G: n = 1
class Noisy:
    def __init__(self, k=10, x=None): self.k, self.x = k, x
    def __del__(self): G.n += self.k
    def m(self, y): return y * 2
class Prints(Noisy):
    def __del__(self): print("del")
class Plain: pass
class Slotted: __slots__ = ("v", "__weakref__")
class Owner:
    def __init__(self, array):
        self.memory, self.__array_interface__ = array, array.__array_interface__
    def __del__(self): G.n += 10
def bump(*_): G.n += 10
def told(v):
    weakref.finalize(v, bump)
    return v
def holder(v):
    c = Plain()
    c.v = v
    return c
def owned(n=3): return np.asarray(Owner(np.arange(float(n))))
def pair(): return [Noisy(), 2.0]
def held(v):
    n = v
    raise ValueError
noisy, noisy_x, prints = lambda *a: Noisy(*a), lambda: Noisy(10, np.ones(3)), lambda: Prints()
for name in ("owned", "pair", "held", "noisy", "noisy_x", "prints", "holder", "told"):
    globals()["make_" + name] = pycompile.disable(globals()[name])
"""

STORED = "c.v = 0; return x + G.n"
REPLACED = {
    "an attribute": ("c = holder(Noisy())", STORED),
    "of a class": ("c = type('C', (), {'v': Noisy()})", STORED),
    "of a module": ("c = sys.modules['mm'] = types.ModuleType('mm'); c.v = Noisy()", STORED),
    "of a function": ("def c(): pass\nc.v = Noisy()", STORED),
    "under a key of another class": (
        "class K(str):\n    __hash__, __eq__ = str.__hash__, str.__eq__\n"
        "c = holder(0); del c.v; vars(c)[K('v')] = Noisy()",
        STORED,
    ),
    "a slot": ("c = Slotted(); c.v = Noisy()", STORED),
    "an attribute deleted": ("c = holder(Noisy())", "del c.v; return x + G.n"),
    "a slot deleted": ("c = Slotted(); c.v = Noisy()", "del c.v; return x + G.n"),
    "by setattr": ("c = holder(Noisy())", "setattr(c, 'v', 0); return x + G.n"),
    "by a property": (
        "class C:\n    v = property(lambda c: c.w, lambda c, v: setattr(c, 'w', v))\n"
        "c = C(); c.w = Noisy()",
        STORED,
    ),
    "of a dataclass": ("c = dataclasses.make_dataclass('D', ['v'])(Noisy())", STORED),
    "by vars": ("c = holder(Noisy())", "vars(c)['v'] = 2; return x + G.n"),
    "in place": (
        "class A(Noisy):\n    def __add__(self, o): return 7\nc = holder(A())",
        "c.v += 1; return x + G.n",
    ),
    "taken": ("c = holder(Noisy())", "n, c.v = c.v, 0; y = x * n.k + G.n; del n; return y + G.n"),
    "taken by a function": (
        "c = holder(Noisy())\ndef g(x):\n    n = c.v; c.v = None\n    return x * n.k + G.n",
        "y = g(x); return y + G.n",
    ),
    "under a condition": ("c = holder(Noisy())", "if x.sum() > 0: c.v = 0\nreturn x + G.n"),
    "a global": ("V = Noisy()", "global V; V = None; return x + G.n"),
    "a global deleted": ("V = Noisy()", "global V; del V; return x + G.n"),
    "a global that is read": ("V = Noisy()", "global V; y = x * V.k; V = 1; return y + G.n"),
    "behind a kept loop": (
        "V = Noisy()",
        "global V; s = 0.0\nfor i in range(len(x)): s += x[i]\nV = None; return s + G.n",
    ),
    "an item": ("L = [Noisy()]", "L[0] = None; return x + G.n"),
    "items in a loop": (
        "L = [Noisy(k) for k in range(4)]",
        "s = 0.0\nfor k in range(4):\n    L[k] = k; s += float((x * k).sum()) + G.n\nreturn s",
    ),
    "popped in a loop": (
        "L = [Noisy(k) for k in range(4)]",
        "s = 0.0\nwhile L:\n    L.pop(); s += float(x.sum()) + G.n\nreturn s",
    ),
    "cleared": ("L = [Noisy(), 2]", "L.clear(); return x + G.n"),
    "a slice": ("L = [Noisy(), 3]", "L[:] = []; return x + G.n"),
    "an entry": ("D = {'a': Noisy()}", "D['a'] = 1; return x + G.n"),
    "an entry popped": ("D = {'a': Noisy()}", "D.pop('a'); return x + G.n"),
    "entries updated": ("D = {'a': Noisy()}", "D.update(a=2); return x + G.n"),
    "of a set": ("S = {Noisy()}", "S.clear(); return x + G.n"),
    "of a full deque": ("Q = collections.deque([Noisy()], 1)", "Q.append(1); return x + G.n"),
}

# Nothing about the object that is replaced tells of what dies with it.
INSIDE = {
    "an instance": "c = holder(holder(Noisy()))",
    "lists": "c = holder([[Noisy()]])",
    "a dict": "c = holder({'a': (1, [Noisy()])})",
    "a defaultdict": "c = holder(collections.defaultdict(list, a=Noisy()))",
    "a closure": "c = holder((lambda v: lambda: v)(Noisy()))",
    "a method": "c = holder(Noisy().m)",
    "a partial": "c = holder(functools.partial(bump, Noisy()))",
    "an array of objects": "c = holder(np.array([Noisy(), 1], object))",
    "a traceback": "c = Plain()\ntry: held(Noisy())\nexcept ValueError as e: c.v = e",
    "a generator": "def g():\n    n = Noisy()\n    yield n\nc = holder(g()); next(c.v)",
    "a generator that is closed": (
        "def g():\n    try: yield 1\n    finally: bump()\nc = holder(g()); next(c.v)"
    ),
    "one in a list": (
        "def g():\n    try: yield 1\n    finally: bump()\nc = holder([g()]); next(c.v[0])"
    ),
    "one that waits for another": (
        "def g():\n    try: yield 1\n    finally: bump()\n"
        "def h(): yield from K[0]\nK = [g()]; c = holder(h()); next(c.v); K[0].send(None) if 0 else 0"
    ),
    "a weak reference": "c = holder(Plain()); R = weakref.ref(c.v, bump)",
    "a finalizer": "c = holder(told(Plain()))",
    "an array": "c = holder(told(np.ones(3)))",
    "an array's base": "c = holder(told(np.ones(6))[::2])",
    "an array's owner": "c = holder(owned())",
}

ARRAYS = {
    "an attribute": ("c = holder(told(np.ones(3)))", "c.v = c.v + 1; return x + G.n"),
    "of an owner": ("c = holder(owned())", "c.v = c.v * 2; return x + G.n"),
    "a view": ("c = holder(told(np.ones(6))[::2])", "c.v = c.v + 1; return x + G.n"),
    "an item": ("L = [told(np.ones(3))]", "L[0] = L[0] + 1; return x + G.n"),
    "an entry": ("D = {'a': owned()}", "D['a'] = D['a'] * 2; return x + G.n"),
    "a global": ("V = owned()", "global V; V = V * 2; return x + G.n"),
    "a local": ("", "v = make_owned(); v = v * 2; return x + G.n + v"),
    "a local deleted": ("", "v = make_owned(); w = v * 2; del v; return x + G.n + w"),
    "a local under a view": ("", "v = make_owned(); v = v[1:]; y = x + G.n; del v; return y + G.n"),
    "a temporary": ("", "v = make_owned() * 2; return x + G.n + v"),
    "an argument": ("def g(v): return v * 2", "w = g(make_owned()); return x + G.n + w"),
    "of a kept loop": (
        "",
        "v = make_owned(99); s = 0.0\nfor i in range(len(v)): s += v[i]\nv = 0; return s + G.n",
    ),
    "that a kept loop goes over": (
        "",
        "s = 0.0\nfor e in make_owned(99): s += e\nreturn s + G.n",
    ),
    "that a loop replaces": (
        "",
        "s = 0.0; v = make_owned(3)\nfor i in range(3): s += v[i] + G.n; v = v + 1\nreturn s + G.n",
    ),
    "that a loop by a value replaces": (
        "",
        "v = make_owned(9)\nwhile v.sum() < 1e5: v = v * 2 + G.n\nreturn v, G.n",
    ),
}

ASKED = {
    "a weak dict": ("W = weakref.WeakValueDictionary(); c = holder(Plain()); W[0] = c.v", "len(W)"),
    "a weak set": ("W = weakref.WeakSet(); c = holder(Plain()); W.add(c.v)", "len(W)"),
    "a weak reference": ("c = holder(Plain()); R = weakref.ref(c.v)", "(R() is None)"),
    "an array's": ("c = holder(np.ones(3)); R = weakref.ref(c.v)", "(R() is None)"),
}

LOCALS = {
    "deleted": "n = make_noisy(); y = x * n.k; del n; return y + G.n",
    "bound again": "n = make_noisy(); y = x * n.k; n = y; return y + G.n",
    "in a loop": "s = 0.0\nfor k in range(4): n = make_noisy(k); s += float(x.sum() * k) + G.n\n"
    "return s + G.n",
    "by a kept loop": "n = make_noisy(); s = 0.0\nfor i in range(len(x)): n = x[i]; s += n * G.n\n"
    "return s + G.n",
    "a list": "n = [make_noisy(), make_noisy()]; y = x * 2; del n; return y + G.n",
    "an instance": "n = make_holder(Noisy()); y = x * 2; del n; return y + G.n",
    "a dict": "n = make_holder({'a': Noisy()}).v; y = x * 2; del n; return y + G.n",
    "a set": "n = make_holder({Noisy()}).v; y = x * len(n); del n; return y + G.n",
    "told": "n = make_told(Plain()); y = x * 2; del n; return y + G.n",
    "a cell": "n = make_noisy()\ndef g(): return n\ny = x * g().k; n = None; return y + G.n",
    "unpacked": "n, k = make_pair(); y = x * k; n = None; return y + G.n",
    "of an inlined function": "def g(x):\n    n = make_noisy()\n    return x * n.k\n"
    "y = g(x); return y + G.n",
    "made here": "n = Noisy(); y = x * n.k; del n; return y + G.n",
    "in the midst of prints": "print('a'); n = make_prints(); y = x + 1; print('b'); n = y\n"
    "print('c'); return y + 1",
}

TEMPORARIES = {
    "an attribute": "y = make_noisy_x().x + 1; return y + G.n",
    "a number": "y = x * make_noisy().k; return y + G.n",
    "made here": "y = Noisy(10, x).x + 1; return y + G.n",
    "an item": "y = x * make_pair()[1]; return y + G.n",
    "of an instance": "y = x * make_holder([Noisy(), 2.0]).v[1]; return y + G.n",
    "a method": "y = make_noisy().m(x); return y + G.n",
    "tested": "y = x + 1\nif make_noisy(): y = y * 2\nreturn y + G.n",
    "compared": "y = x + 1\nif make_noisy() is not None: y = y * 2\nreturn y + G.n",
    "an argument": "y = (lambda n: x * n.k)(make_noisy()); return y + G.n",
    "of a builtin": "y = x + isinstance(make_noisy(), Noisy); return y + G.n",
    "in text": "y = x + 1; t = f'{make_noisy().k}'; return y + G.n + len(t)",
    "gone over": "s = x * 0\nfor n in make_pair()[:1]: s = s + n.k + G.n\nn = 0; return s + G.n",
    "gone over, unused": "s = 0.0\nfor n in make_holder([Noisy(), Noisy(3)]).v: s += n.k\n"
    "n = 0; return x + s + G.n",
    "a context": "with make_told(Context()): y = x + G.n\nreturn y + G.n",
    "printed around": "print('a'); y = x + make_prints().k; print('b'); return y",
}

EXCEPTIONS = {
    "a frame": "try: make_held(Noisy())\nexcept ValueError: pass\nreturn x + G.n",
    "a name": "try: make_held(Noisy())\nexcept ValueError as e: y = x + G.n\nreturn y + G.n",
    "inlined": "try: held(Noisy())\nexcept ValueError as e: y = x + G.n\nreturn y + G.n",
    "an argument": "try: raise ValueError(make_noisy())\n"
    "except ValueError as e: y = x + G.n\nreturn y + G.n",
    "handled here": "n = make_noisy(); y = x + n.k\n"
    "try: {}['a']\nexcept KeyError as e: y = y + 1\ndel n; return y + G.n",
}

CELLS = {
    "stored": "v = None; return x + G.n",
    "deleted": "del v; return x + G.n",
    "read": "y = x * v.k; v = None; return y + G.n",
    "of an inlined function": "h(); return x + G.n",
}

CONTEXT = "class Context:\n    def __enter__(self): return 1\n    def __exit__(self, *_): pass\n"


def programs():
    for name, (setup, body) in REPLACED.items():
        yield f"replaced: {name}", setup, body
    for name, setup in INSIDE.items():
        yield f"inside: {name}", setup, STORED
    for name, (setup, body) in ARRAYS.items():
        yield f"arrays: {name}", setup, body
    for name, (setup, asked) in ASKED.items():
        yield f"asked: {name}", setup, f"c.v = 0; return x + {asked}"
    for name, body in LOCALS.items():
        yield f"locals: {name}", "", body
    for name, body in TEMPORARIES.items():
        yield f"temporaries: {name}", CONTEXT, body
    for name, body in EXCEPTIONS.items():
        yield f"exceptions: {name}", "", body
    for name, body in CELLS.items():
        lines = [f"        {line}" for line in lines_of("nonlocal v; " + body)]
        inner = "    def h():\n        nonlocal v\n        v = 0\n    def f(x):\n" + "\n".join(
            lines
        )
        yield (
            f"cells: {name}",
            f"def outer():\n    v = Noisy()\n{inner}\n    return f\nf = outer()",
            "",
        )


def lines_of(body):
    """Statements at the outer level are divided by semicolons."""
    for line in body.splitlines():
        yield from (
            [line]
            if line.startswith((" ", "for", "if", "while", "with", "try", "except", "def"))
            else line.split("; ")
        )


class Side:
    """A program, plain or compiled."""

    def __init__(self, setup, body, compiled):
        self.space, self.setup, self.compiled = {"__name__": "programs"}, setup, compiled
        exec(COMMON, self.space)
        if body:
            exec("def f(x):\n" + textwrap.indent("\n".join(lines_of(body)), "    "), self.space)
            self.space["f"] = self.made(self.space["f"])

    def made(self, f):
        return pycompile.compile(f, options={"plan_always": True}) if self.compiled else f

    def call(self, setup=None):
        self.space["G"].n = 1
        before = self.space.get("f")
        exec(setup or self.setup, self.space)
        f = self.space["f"] if self.space["f"] is before else self.made(self.space["f"])
        return repr(f(np.arange(1.0, 4.0))), self.space["G"].n, f


@pytest.mark.parametrize("setup, body", [pytest.param(*p[1:], id=p[0]) for p in programs()])
def test_its_end_comes_where_it_is(setup, body, capsys):
    runs, seen = 0, []
    for compiled in (False, True):
        side = Side(setup, body, compiled)
        for _ in range(3):
            *result, f = side.call()
            seen.append([*result, capsys.readouterr().out])
            runs += f.stats()["plan_runs"] if compiled else 0
    assert seen[3:] == seen[:3]
    assert runs > 0


QUIET = {
    "an array": ("c = holder(np.ones(3))", "c.v = c.v + 1; return x + c.v"),
    "not read": ("c = holder(np.ones(3))", "c.v = x + 1; return x + c.v"),
    "of a view": ("c = holder(np.ones(6)[::2])", "c.v = c.v + 1; return x + c.v"),
    "weakly referenced": (
        "c = holder(np.ones(3)); R = weakref.ref(c.v)",
        "c.v = c.v + 1; return x + c.v",
    ),
    "an instance": ("c = holder(holder([np.ones(3), 'a', {}]))", "c.v = None; return x + 1"),
    "a function": ("c = holder(lambda: 0)", "c.v = None; return x + 1"),
    "a generator": ("def g(): yield 1\nc = holder(g()); next(c.v)", "c.v = 0; return x + 1"),
    "a global": ("V = holder(1)", "global V; V = x; return x + 1"),
    "an item": ("L = [np.ones(3), 2]", "L[0] = L[0] * 2; return x + 1"),
    "a slot": ("c = Slotted(); c.v = [np.ones(3)]", "c.v = x; return x + 1"),
    "what plans watch": ("c = holder(np.full)", "y = c.v(3, 2.0) + x; c.v = None; return y"),
    "what others hold": ("c = holder(K := [holder(0)])", "c.v = x; return x + 1"),
}


@pytest.mark.parametrize("name", QUIET)
def test_ends_without_code_stay_in_the_graph(name):
    side = Side(*QUIET[name], True)
    for _ in range(3):
        *_, f = side.call()
    assert f.stats()["breaks"] == 0 and f.stats()["plan_runs"] == 3


def test_what_is_replaced_becomes_another_kind():
    """A plan is for what ends quietly; its guard asks what dies with it, too."""
    kinds = ["Plain()", "Plain()", "told(Plain())", "holder(0)", "holder(told(Plain()))", "Plain()"]
    sides = [Side("", STORED, compiled) for compiled in (False, True)]
    for kind in kinds:
        plain, ours = (side.call(f"c = holder({kind})") for side in sides)
        assert ours[:2] == plain[:2]
    assert ours[2].stats()["plan_runs"] > 0


def test_two_that_hold_the_same():
    setup = "c = holder(Noisy()); d = holder([c.v]); c.v = [c.v]"
    body = "c.v = 0; y = x + G.n; d.v = 0; return y + G.n"
    plain, ours = (Side(setup, body, compiled).call() for compiled in (False, True))
    assert ours[:2] == plain[:2]


# ---- arguments that the callee rebinds ----


class Told:
    """Its end is noted."""

    def __init__(self, ended, name):
        self.ended, self.name = ended, name

    def __del__(self):
        self.ended.append(self.name)

    def method(self, other):
        ended, self = self.ended, None
        ended.append("self is rebound")
        other = None
        ended.append("other is rebound")
        return other


def rebinds(x, told, ended):
    x = x.sum() + 1
    told = None
    ended.append("told is rebound")
    return x, told


def clears(ended, *args, **kwargs):
    args = ()
    ended.append("args are rebound")
    kwargs.clear()
    ended.append("kwargs are cleared")
    return args


def by_position(x, ended):
    return rebinds(x + 1, Told(ended, "told"), ended)


def by_keyword(x, ended):
    return x + 1, rebinds(ended=ended, told=Told(ended, "told"), x=x)


def by_star(x, ended):
    return x * 2, clears(ended, Told(ended, "told"), name=Told(ended, "named"))


def by_method(x, ended):
    return x + 1, Told(ended, "self").method(Told(ended, "other"))


def by_bound_method(x, ended):
    return x + 1, [Told(ended, "self").method][0](Told(ended, "other"))


def by_partial(x, ended):
    return x + 1, functools.partial(rebinds, x)(Told(ended, "told"), ended)


def by_context(x, ended):
    """C code that holds no references of its own to what it passes on."""
    run = contextvars.copy_context().run
    return x + 1, run(rebinds, x, Told(ended, "told"), ended)


@pytest.mark.parametrize("compiled", ["caller", "callee", "both"])
@pytest.mark.parametrize(
    "caller",
    [by_position, by_keyword, by_star, by_method, by_bound_method, by_partial, by_context],
)
def test_an_argument_that_the_callee_rebinds(caller, compiled, monkeypatch):
    def ends(function):
        ended = []
        function(np.ones(3), ended)
        return ended

    plain = ends(caller)
    compile_ = pycompile.compile(options={"plan_always": True})
    if compiled != "caller":
        for name in ("rebinds", "clears"):
            monkeypatch.setitem(globals(), name, compile_(globals()[name]))
        monkeypatch.setattr(Told, "method", compile_(Told.method))
    function = caller if compiled == "callee" else compile_(caller)
    for _ in range(3):
        assert ends(function) == plain
