"""Plans keep nothing of the program alive, and what dies while guards are checked disturbs nothing."""

import gc
import os
import subprocess
import sys
import textwrap
import types
import weakref

import numpy as np
import pytest

import pycompile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(pycompile.__file__)))
X = np.arange(4.0)

# ---- namespaces ----

NAMESPACE = """
import enum
import numpy as np
import pycompile

class Token:
    pass

class Holder:
    w = np.ones(4)
    many = [np.ones(4)]
    table = {"k": np.ones(4)}

class Slots:
    __slots__ = ("v",)
    def __init__(self):
        self.v = np.ones(4)
    def times(self, x):
        return x * self.v

def outer():
    captured = np.full(4, 2.0)
    def inner(x):
        return x + captured
    return inner

def helper(x):
    return x * A

def default(x, w=np.ones(4), k=2):
    return x * w + k

def keyword(x, *, w=np.ones(4)):
    return x * w

@pycompile.disable
def plain(x):
    return x * A

@pycompile.compile
def decorated(x):
    return x * A

def power(x, n):
    return x if n == 0 else power(x, n - 1) * 2

token, A, slots, inner = Token(), np.ones(4), Slots(), outer()
many, table = [np.ones(4), 2.0], {"k": np.ones(4)}

class E(enum.Enum):
    ONE = 1.0
    TWO = 2.0
    def twice(self):
        return self.value * 2

class N(enum.IntEnum):
    ONE = 1
    TWO = 2
    def twice(self):
        return 2 * self

class Bits(enum.IntFlag):
    LOW = 1
    HIGH = 2
    def low(self):
        return self & Bits.LOW

def loud(x):
    print("", end="")
    return x * 2

way, bits, pair, by_number = N.TWO, Bits.LOW | Bits.HIGH, (N.ONE, 2.0), {N.TWO: 3.0}
by_class, by_member = {Token: 2.0, (Token, float): 4.0}, {E.ONE: 2.0}
by_function, a_set, frozen = {helper: 2.0}, {Token, E.ONE}, frozenset([helper, (Token, 1)])
union, ufunc = Token | float, np.frompyfunc(helper, 1, 1)
"""
BODIES = {
    "globals": "helper(x) + A",
    "class attribute": "Holder.w + x",
    "slots": "slots.times(x)",
    "closure": "inner(x)",
    "default": "default(x)",
    "keyword": "keyword(x)",
    "library": "np.sum(x) + len(x)",
    "containers": "many[0] * x + table['k']",
    "containers of a class": "Holder.many[0] * x + Holder.table['k']",
    "a function that is not followed": "x + plain(x)",
    "a decorated function": "x + decorated(x)",
    "recursion": "power(x, 3)",
    "output of a function that is followed": "loud(x) + A",
    "break": "(x + len(str(A.shape))) * A",
    "keys": "x + by_class[Token] + by_class[Token, float] + by_member[E.ONE] + by_function[helper]",
    "keys that are asked": "x + by_class.get(type(token), 0.0)",
    "sets": "x + (Token in a_set) + (helper in frozen) + len(a_set)",
    "union": "x + isinstance(token, union)",
    "ufunc of a function": "x * (ufunc is not np.sin)",
    "members of an enum": "x + E['ONE'].value + E(2.0).value + sum(m.value for m in E) + (E.ONE in E)",
    "members of an enum of ints": "x + N.ONE + (way is N.TWO) + by_number[way] + pair[0]"
    " + (way in {N.ONE, N.TWO})",
    "members that leave": "x + (bits is not None) + len([bits, N.ONE, pair]) + (bits & Bits.LOW)",
    "methods of an enum": "x + E.ONE.twice() + len(E) + E.__members__['TWO'].value",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_namespace_is_freed_with_what_is_in_it(body):
    tokens = []
    for _ in range(3):
        names = {"__name__": "template"}
        exec(NAMESPACE + f"def f(x):\n    return {body}\n", names)
        names["compiled"] = pycompile.compile(names["f"])
        for _ in range(2):
            assert np.array_equal(names["compiled"](X), names["f"](X))
        assert names["compiled"].stats()["plans"] > 0
        tokens.append(weakref.ref(names["token"]))
    del names
    gc.collect()
    assert [token() for token in tokens] == [None] * 3


def test_namespaces_of_one_code():
    code = compile("def h(x): return x * A\ndef f(x): return h(x) + A", "template", "exec")
    arrays = []
    for k in range(20):
        names = {"A": np.full(4, float(k))}
        exec(code, names)
        names["f"] = pycompile.compile(names["f"])
        for _ in range(2):
            assert np.array_equal(names["f"](X), X * k + k)
        arrays.append(weakref.ref(names["A"]))
    del names
    gc.collect()
    assert not any(array() is not None for array in arrays)


def test_the_namespace_of_a_function_that_is_replaced():
    made = "A = np.ones(4)\ndef make():\n    def h(x): return x * A\n    return h\nh = make()"
    holder, arrays = types.SimpleNamespace(), []

    def call(x):
        return holder.h(x)

    compiled = pycompile.compile(call)
    for k in range(4):
        names = {"np": np, "__name__": "template"}
        exec(made, names)
        names["A"] += k
        holder.h = names["h"] if k % 2 else names["make"]()
        arrays.append(weakref.ref(names["A"]))
        for _ in range(2):
            assert np.array_equal(compiled(X), call(X))
    del names
    gc.collect()
    assert [array() is not None for array in arrays] == [False] * 3 + [True]


def test_the_namespace_of_a_function_that_it_does_not_hold():
    """It has neither a module nor a function in it, and builtins of its own."""

    class Token:
        pass

    def base(x):
        return x * A + len(x)  # noqa: F821  (of the namespaces below)

    compiled, tokens = pycompile.compile(lambda x, h: h(x) + 1), []
    for k in range(3):
        builtins = {"len": len, "token": Token()}
        names = {"A": float(k), "token": Token(), "__builtins__": builtins}
        tokens += [weakref.ref(names["token"]), weakref.ref(builtins["token"])]
        h = types.FunctionType(base.__code__, names)
        for _ in range(2):
            assert np.array_equal(compiled(X, h), X * k + 5)
        del names, builtins, h
    gc.collect()
    assert [token() for token in tokens] == [None] * 6


def test_tuples_of_arrays_get_other_items():
    compiled = pycompile.compile(calls_tuple)
    for pair in ((X, 2), (X, 3), (X + 1, 3, 4), (2.0, X), (X, 2)):
        with_tuple.__defaults__ = (pair,)
        Held.pair = (X, pair)
        for _ in range(2):
            assert np.array_equal(compiled(X), calls_tuple(X))
    with_tuple.__defaults__ = ((X,),)
    with pytest.raises(IndexError):
        compiled(X)


def test_a_module_that_is_loaded_again():
    dead = []

    def load(k):
        module = types.ModuleType("loaded")
        exec(f"import numpy as np\nA = np.full(4, {k}.0)\ndef f(x): return x + A", vars(module))
        return module

    def call(x):
        return module.f(x) + module.A

    module = load(0)
    compiled = pycompile.compile(call)
    for k in range(4):
        module = load(k)
        dead.append(weakref.ref(module.A))
        for _ in range(2):
            assert np.array_equal(compiled(X), X + 2 * k)
    module = load(0)
    gc.collect()
    assert not any(array() is not None for array in dead)


EXIT = """
import sys
import numpy as np, pycompile
out = open(sys.argv[1], "w")
out.write("result")
A = np.ones(4)
def helper(x):
    return x * A
def f(x):
    return helper(x) + A
g = pycompile.compile(f)
for _ in range(3):
    g(A)
"""


@pytest.mark.parametrize("command", [["script.py"], ["-m", "pycompile", "run", "script.py"]])
def test_a_file_that_a_module_left_open_is_written(tmp_path, command):
    (tmp_path / "script.py").write_text(EXIT)
    subprocess.run(
        [sys.executable, *command, "out"],
        cwd=tmp_path,
        check=True,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    assert (tmp_path / "out").read_text() == "result"


# ---- what the program replaces ----


class Held:
    a = np.zeros(4)


def class_attribute(x):
    return x + Held.a


def with_default(x, w=X):
    return x * w


def calls_default(x):
    return with_default(x)


def closed_over(w):
    def inner(x):
        return x + w

    return inner


def calls_closure(x):
    return closure(x)


class Slots:
    __slots__ = ("v",)

    def times(self, x):
        return x * self.v


def calls_slots(x):
    return slots.times(x)


def reads_global(x):
    return x + big


def replaced_slots(w):
    global slots
    slots = Slots()
    slots.v = w


def replaced_closure(w):
    global closure
    closure = closed_over(w)


def replaced_default(w):
    with_default.__defaults__ = (w,)


def replaced_global(w):
    global big
    big = w


def replaced_attribute(w):
    Held.a = w


def calls_described(x):
    return x + Slots.held.fget(None)


def replaced_described(w):
    Slots.held = property(lambda self, v=w: v)


def calls_tuple(x):
    return with_tuple(x) + Held.pair[0] + with_keyword(x)


def with_tuple(x, pair=(X, 2)):
    return x * pair[0] + pair[1]


def with_keyword(x, *, pair=(1, (X,))):
    return x * pair[1][0]


def replaced_tuples(w):
    with_tuple.__defaults__ = ((w, 2),)
    with_keyword.__kwdefaults__ = {"pair": (1, (w,))}
    Held.pair = (w, w)


MANY = 40
PARAMETERS = ", ".join(f"w{i}=X" for i in range(MANY))
SUM = " + ".join(f"w{i}" for i in range(MANY))
SCOPE = {"X": X}
exec(f"def with_many(x, {PARAMETERS}): return x + {SUM}", SCOPE)
with_many = SCOPE["with_many"]


def calls_many(x):
    return with_many(x)


def replaced_many(w):
    with_many.__defaults__ = (*(w + i for i in range(MANY - 1)), w)


REPLACED = [
    (calls_many, replaced_many),
    (calls_tuple, replaced_tuples),
    (calls_described, replaced_described),
    (class_attribute, replaced_attribute),
    (calls_default, replaced_default),
    (calls_closure, replaced_closure),
    (calls_slots, replaced_slots),
    (reads_global, replaced_global),
]


@pytest.mark.parametrize("backend", ["c", "eager"])
@pytest.mark.parametrize(("function", "replace"), REPLACED, ids=lambda value: value.__name__)
def test_of_what_is_replaced_only_the_last_lives(function, replace, backend):
    compiled = pycompile.compile(function, backend=backend)
    dead = []
    for k in range(5):
        array = np.full(4, float(k))
        replace(array)
        dead.append(weakref.ref(array))
        del array
        for _ in range(2):
            assert np.array_equal(compiled(X), function(X))
    assert [array() is not None for array in dead] == [False] * 4 + [True]
    assert compiled.stats()["plan_runs"] >= 5


def test_an_array_that_a_plan_uses_is_resized():
    Held.a = np.ones(4)
    compiled = pycompile.compile(class_attribute)
    for _ in range(3):
        compiled(X)
    Held.a.resize(6)
    assert np.array_equal(compiled(np.arange(6.0)), class_attribute(np.arange(6.0)))


def same_array(x):
    return x + 1 if Held.a is Held.b else x - 1


def test_two_arrays_become_one():
    Held.a, Held.b = np.ones(4), np.ones(4)
    compiled = pycompile.compile(same_array)
    for second in (Held.b, Held.a, np.ones(4), Held.a):
        Held.b = second
        for _ in range(2):
            assert np.array_equal(compiled(X), same_array(X))


def test_a_deleted_global_is_gone():
    global big
    big = np.ones(4)
    compiled = pycompile.compile(reads_global)
    for _ in range(3):
        compiled(X)
    dead = weakref.ref(big)
    del big
    assert dead() is None
    with pytest.raises(NameError):
        compiled(X)


# ---- what dies while guards are checked ----

BOXES = """
import gc, weakref
import numpy as np, pycompile

class Box:
    pass
class Telling(Box):
    def __del__(self):
        end()
class Cycle(Box):
    def __init__(self):
        self.me = self
class TellingCycle(Cycle, Telling):
    pass

def f(x):
    return C.a + x
def h(x):
    return T(x) * C.a
def made():
    def inner(x):
        return x + 1
    return inner

g, k = pycompile.compile(f), pycompile.compile(h)
x = np.arange(3.0)
depth = 0

def rebind():
    global C, T
    C, T = kind(), made()
    C.a = np.arange(3.0)

def calls():
    global depth
    if depth < 2:
        depth += 1
        g(x), k(x)
        depth -= 1

ENDS = {
    "nothing": lambda: None,
    "reset": pycompile.reset,
    "collect": gc.collect,
    "rebind": lambda: (globals().update(end=lambda: None), rebind(), calls(), globals().update(end=chosen)),
    "calls": calls,
    "reset, calls": lambda: (pycompile.reset(), calls()),
}

for kind in (Box, Telling, Cycle, TellingCycle):
    for name, chosen in ENDS.items():
        end = chosen
        for threshold in (0, 1):
            gc.set_threshold(threshold or 700)
            for turn in range(12):
                rebind()
                watcher = weakref.ref(C, lambda _: end())
                made_here = [Cycle() for _ in range(3)]
                for _ in range(2):
                    assert np.array_equal(g(x), f(x)), (kind, name)
                    assert np.array_equal(k(x), h(x)), (kind, name)
                C.__dict__ if turn % 2 else None
print("done")
"""


def test_objects_that_die_run_code_and_change_what_is_checked():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BOXES)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    assert done.stdout == "done\n", done.stderr[-2000:]


class Token:
    """Its end shows."""


def ended(kept, rebound, *, keyword=None):
    before = sys.getrefcount(rebound), sys.getrefcount(keyword)
    dead = weakref.ref(rebound), weakref.ref(keyword), weakref.ref(kept)
    rebound = keyword = None
    return before, [ref() is None for ref in dead]


def ended_of_many(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r):  # noqa: E741
    before, dead = sys.getrefcount(r), weakref.ref(r)
    r = None
    return before, dead() is None


CALLS_THAT_GIVE = [
    lambda f, held: f(held, Token(), keyword=Token()),
    lambda f, held: f(Token(), held, keyword=held),
    lambda f, held: f(rebound=Token(), kept=held, keyword=Token()),
]
CALL_WITH_MANY = eval(f"lambda f: f({'Token(), ' * 18})")


def given(function, of_many):
    held = Token()
    found = [call(function, held) for call in CALLS_THAT_GIVE]
    with pytest.raises(TypeError, match="missing 1 required positional"):
        function(Token())
    return found, CALL_WITH_MANY(of_many), sys.getrefcount(held)


@pytest.mark.parametrize("options", [{}, {"plan_always": False, "sample": True, "wait": False}])
def test_what_only_a_call_holds_ends_in_the_function(options):
    """Also in calls that nobody looks at, which come to be many."""
    left, many = (pycompile.compile(f, options=options) for f in (ended, ended_of_many))
    for _ in range(100):
        assert given(left, many) == given(ended, ended_of_many)
