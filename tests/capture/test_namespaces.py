"""Code that is executed in more than one namespace: each has its own globals and builtins, while the code
objects, and so what is known about them, are shared."""

from __future__ import annotations

import builtins
import functools
import gc
import importlib
import os
import subprocess
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pycompile

X = np.arange(6.0)
VALUES = [2.0, 300.0]

# A number is a constant of the kernel, an array is not: these share one.
MANY = [np.full(6, float(k)) for k in range(150)]


def spaces(source: str, values: list[Any] | None = None, **more: Any) -> list[dict[str, Any]]:
    """The source, compiled once and executed with a value of A in each namespace."""
    code = compile(source, "template", "exec")
    found = []
    for value in VALUES if values is None else values:
        space: dict[str, Any] = {"A": value, "np": np, **more}
        exec(code, space)
        found.append(space)
    return found


def bits(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value), [bits(item) for item in value]
    return type(value), value


def agree(
    pairs: list[tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]], rounds: int = 3
) -> None:
    """Each function gives what the plain one gives, whatever ran before; plans did run."""
    for _ in range(rounds):
        for plain, compiled, args in pairs:
            assert bits(compiled(*args)) == bits(plain(*args))
    for _, compiled, _ in pairs:
        assert compiled.stats()["plan_runs"] > 0  # type: ignore[attr-defined]


def entered(found: list[dict[str, Any]], name: str = "f", *args: Any) -> None:
    agree([(space[name], pycompile.compile(space[name]), args or (X,)) for space in found])


# ---- the function that is entered ----

ENTERED = {
    "a global": "def f(x): return x * A + 1",
    "a helper": "def h(x): return x * A\ndef f(x): return h(x) + A",
    "a helper's helper": "def k(x): return x * A\ndef h(x): return k(x) + A\ndef f(x): return h(x) - 1",
    "an array": "w = np.full(6, A)\ndef f(x): return x * w",
    "a lambda": "f = lambda x: x * A + A",
    "an inner function": "def f(x):\n    def h(y): return y * A\n    return h(x) + h(x + 1)",
    "a made function": "def make(b):\n    def f(x): return x * A + b\n    return f\nf = make(A / 2)",
    "a default": "def f(x, b=A): return x * b + 1",
    "a class": "class C:\n    s = A\n    def m(self, x): return x * A + self.s\nc = C()\ndef f(x): return c.m(x)",
    "a made instance": "class C:\n    def __init__(self, x): self.x = x * A\ndef f(x): return C(x).x + A",
    "a loop": "def f(x):\n    t = x.copy()\n    for i in range(40): t = t * 0.5 + A\n    return t",
    "a kept loop": "def f(x):\n    t = 0.0\n    for i in range(len(x)): t += x[i] * A\n    return t",
    "a comprehension": "def f(x): return [x * A + i for i in range(3)]",
    "a generator": "def g(x):\n    for i in range(3): yield x * A + i\ndef f(x): return sum(g(x))",
    "a break": "seen = []\ndef f(x):\n    y = x * A\n    seen.append(len(seen))\n    return y + A",
    "a property": "class C:\n    p = property(lambda s: A)\nc = C()\ndef f(x): return x * c.p + 1",
    "globals()": "def f(x): return x * globals()['A'] + 1",
    "its own name": "def f(x, n=2): return x * A if n == 0 else f(x + 1, n - 1) + 1",
}


@pytest.mark.parametrize("source", ENTERED.values(), ids=ENTERED.keys())
def test_an_entered_function_has_its_own_globals(source):
    entered(spaces(source))


def test_a_method_of_a_class_of_each_namespace():
    found = spaces("class C:\n    def f(self, x): return x * A + 1")
    entered([{"f": space["C"].f, "self": space["C"]()} for space in found], "f", None, X)


def test_a_store_to_a_global_goes_to_the_namespace():
    source = "n = 0\ndef f(x):\n    global n\n    n = n + 1\n    return x * A + n"
    plain, compiled = spaces(source), spaces(source)
    calls = [pycompile.compile(space["f"]) for space in compiled]
    for _ in range(3):
        for own, call, space in zip(compiled, calls, plain):
            assert bits(call(X)) == bits(space["f"](X))
            assert own["n"] == space["n"]


def test_a_copy_of_a_function_with_other_globals():
    def base(x):
        return x * A + 1  # type: ignore[name-defined] # noqa: F821

    entered([{"f": types.FunctionType(base.__code__, {"A": value})} for value in VALUES])


def test_a_global_that_changes_in_one_namespace():
    found = spaces("def f(x): return x * A + 1")
    calls = [pycompile.compile(space["f"]) for space in found]
    for turn in range(6):
        found[turn % 2]["A"] += 1
        for space, call in zip(found, calls):
            assert bits(call(X)) == bits(space["f"](X))


def test_a_module_that_is_loaded_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "loaded_again_module.py"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    use = spaces("def f(x): return m.h(x) + 1", [0.0], m=None)[0]
    compiled = pycompile.compile(use["f"])
    for k in range(4):
        file.write_text(f"A = {k}.0\ndef h(x): return x * A + {k if k < 3 else 2}\n")
        importlib.invalidate_caches()
        use["m"] = importlib.reload(use["m"]) if use["m"] else importlib.import_module(file.stem)
        own = pycompile.compile(use["m"].h)
        for _ in range(3):
            assert bits(compiled(X)) == bits(use["f"](X))
            assert bits(own(X)) == bits(use["m"].h(X))


def test_a_second_copy_of_a_module():
    code = compile(
        "def h(x): return x * A\nclass C:\n    def m(self, x): return h(x) + A", "copy", "exec"
    )
    use = spaces("def f(x): return m.h(x) + m.C().m(x)", [0.0], m=None)[0]
    compiled = pycompile.compile(use["f"])
    for value in VALUES * 2:
        use["m"] = types.ModuleType("copy")
        use["m"].A = value
        exec(code, use["m"].__dict__)
        for _ in range(3):
            assert bits(compiled(X)) == bits(use["f"](X))


# ---- functions that are called ----


def scaled(x):
    return x * A + 1  # type: ignore[name-defined] # noqa: F821


def generated(x):
    for i in range(3):
        yield x * A + i  # type: ignore[name-defined] # noqa: F821


def copies(function: types.FunctionType = scaled) -> list[Callable[..., Any]]:  # type: ignore[assignment]
    return [types.FunctionType(function.__code__, {"A": value}) for value in VALUES]


class Holder:
    def __init__(self, call):
        self.call = call

    def __call__(self, x):
        return self.call(x)


def closed_over(call):
    def f(x):
        return call(x) + 1

    return f


CALLED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "an argument": (lambda x, g: g(x) + 1, lambda g: g),
    "an item of a list": (lambda x, g: g[0](x) + 1, lambda g: [g]),
    "an item of a tuple": (lambda x, g: g[1](x) + 1, lambda g: (0, g)),
    "an item of a dict": (lambda x, g: g["k"](x) + 1, lambda g: {"k": g}),
    "an attribute": (lambda x, g: g.call(x) + 1, Holder),
    "a callable instance": (lambda x, g: g(x) + 1, Holder),
    "a bound method": (
        lambda x, g: g(x) + 1,
        lambda g: types.MethodType(lambda self, x: x * g.__globals__["A"], 0),
    ),
    "a method of the function": (lambda x, g: g() + 1, lambda g: types.MethodType(g, X)),
    "a partial": (lambda x, g: g() + 1, lambda g: functools.partial(g, X)),
    "a keyword": (lambda x, g: (lambda *, call: call(x))(call=g) + 1, lambda g: g),
    "an element of a map": (lambda x, g: list(map(g, [x, x + 1])), lambda g: g),
    "a sort's key": (lambda x, g: sorted([2.0, 1.0], key=g)[0] * x + g(x), lambda g: g),
    "a generator": (
        lambda x, g: sum(g(x)),
        lambda g: types.FunctionType(
            generated.__code__, {**g.__globals__, "range": range, "__builtins__": builtins}
        ),
    ),
    "a property": (
        lambda x, g: g.p * x + 1,
        lambda g: type("C", (), {"p": property(lambda s: g(1.0))})(),
    ),
    "a decorator's": (lambda x, g: g(x) + 1, lambda g: functools.wraps(g)(lambda x: g(x))),
    "a compiled function": (lambda x, g: g(x) + 1, pycompile.compile),
}


@pytest.mark.parametrize("calls, holds", CALLED.values(), ids=CALLED.keys())
def test_a_called_function_has_its_own_globals(calls, holds):
    compiled = pycompile.compile(calls)
    agree([(calls, compiled, (X, holds(g))) for g in copies()])


@pytest.mark.parametrize("calls, holds", CALLED.values(), ids=CALLED.keys())
def test_a_called_function_has_its_own_builtins(calls, holds):
    def magnitude(x):
        return abs(x) * A  # type: ignore[name-defined] # noqa: F821

    space = {"A": 2.0, "__builtins__": builtins}
    plain = types.FunctionType(magnitude.__code__, space)
    space["__builtins__"] = {"abs": lambda x: x - 7}  # type: ignore[assignment]
    other = types.FunctionType(magnitude.__code__, space)
    compiled = pycompile.compile(calls)
    agree([(calls, compiled, (X, holds(g))) for g in (plain, other)])


def test_a_called_function_of_a_closure():
    compiled = pycompile.compile(closed_over(copies()[0]))
    for g in copies() * 2:
        plain = closed_over(g)
        compiled = pycompile.compile(plain)
        for _ in range(2):
            assert bits(compiled(X)) == bits(plain(X))


def test_a_called_function_in_a_global():
    space = spaces("def f(x): return g(x) + A", [1.0])[0]
    compiled = pycompile.compile(space["f"])
    for g in copies() * 2:
        space["g"] = g
        for _ in range(2):
            assert bits(compiled(X)) == bits(space["f"](X))


# ---- builtins ----


def test_an_entered_function_has_its_own_builtins():
    code = compile("def f(x): return abs(x) * 2", "template", "exec")
    found: list[dict[str, Any]] = [
        {"__builtins__": {"abs": lambda x, k=k: x - k}} for k in range(3)
    ]
    for space in [{}, *found]:
        exec(code, space)
    entered([{}, *found][1:])


@pytest.mark.parametrize(
    "kind", [types.MappingProxyType, type("Dict", (dict,), {"__missing__": lambda d, k: abs})]
)
def test_builtins_that_are_no_dict(kind):
    space: dict[str, Any] = {
        "__builtins__": kind({"abs": lambda x: x - 7} if kind is types.MappingProxyType else {})
    }
    exec(compile("def f(x): return x * 2 + abs(x)", "template", "exec"), space)
    compiled = pycompile.compile(space["f"])
    for _ in range(3):
        assert bits(compiled(X)) == bits(space["f"](X))


def test_globals_that_are_no_dict():
    class Looks(dict):
        def __missing__(self, key):
            return 5.0

    space = Looks(A=2.0)
    f = types.FunctionType(scaled.__code__, Looks())
    compiled = pycompile.compile(f)
    for _ in range(3):
        assert bits(compiled(X)) == bits(f(X))
    exec(compile("def f(x): return x * B + A", "template", "exec"), space)
    compiled = pycompile.compile(space["f"])
    for _ in range(3):
        assert bits(compiled(X)) == bits(space["f"](X))


def test_builtins_replaced_between_two_functions():
    source = "def f(x):\n    def h(y): return abs(y) * A\n    return h(x) + abs(x), h"
    plain, compiled = spaces(source, [2.0])[0], spaces(source, [2.0])[0]
    call = pycompile.compile(compiled["f"])
    for k in range(4):
        other = {"abs": lambda x, k=k: x - k, "__build_class__": None}
        for space in (plain, compiled):
            space["__builtins__"] = builtins if k == 3 else other
        for _ in range(2):
            want, made = plain["f"](X)
            got, own = call(X)
            assert bits(got) == bits(want)
            assert own.__builtins__ == made.__builtins__
            assert bits(own(X)) == bits(made(X))


def test_an_inner_function_of_a_function_with_other_builtins():
    space: dict[str, Any] = {"__builtins__": {"abs": lambda x: x - 7}}
    exec(
        "def outer(x):\n    def h(y): return abs(y) * 2\n    return h\ndef call(h, x): return h(x)",
        space,
    )

    def f(x, outer, call):
        h = outer(x)
        return h(x) + abs(x), call(h, x), call(abs, x), h

    compiled = pycompile.compile(f)
    for _ in range(3):
        want, got = (g(X, space["outer"], space["call"]) for g in (f, compiled))
        assert bits(got[:3]) == bits(want[:3])
        assert got[3].__builtins__ is want[3].__builtins__
        assert got[3].__globals__ is want[3].__globals__


# ---- many namespaces ----


def test_twenty_namespaces_have_a_plan_each():
    found = spaces("def h(x): return x * A\ndef f(x): return h(x) + A", MANY[:20])
    calls = [pycompile.compile(space["f"]) for space in found]
    agree([(space["f"], call, (X,)) for space, call in zip(found, calls)])
    for call in calls:
        stats = call.stats()
        assert stats["plan_runs"] == 3 and stats["compiles"] == 1
        assert stats["recompiles"] == stats["given_up"] == 0


def test_a_copy_with_the_same_namespace_shares_plans():
    space = spaces("def f(x): return x * A", [2.0])[0]
    first = pycompile.compile(space["f"])
    first(X)
    second = pycompile.compile(types.FunctionType(space["f"].__code__, space))
    second(X)
    assert second.stats()["compiles"] == 1 and second.stats()["plan_runs"] == 2


def test_namespaces_that_come_and_go():
    """A dict may get the address of one that is gone, with the same code's functions in it."""
    code = compile("def h(x): return x * A\ndef f(x): return h(x) + w", "template", "exec")

    def calls(x, g):
        return g(x) + 1

    follows = pycompile.compile(calls, options={"recompile_limit": 100})
    for k in range(80):
        space = {"A": float(k % 2), "w": np.full(6, k + 0.5), "np": np}
        exec(code, space)
        call = pycompile.compile(space["f"])
        want = space["f"](X)
        assert bits(call(X)) == bits(call(X)) == bits(want)
        assert bits(follows(X, space["f"])) == bits(want + 1)
        del space, call
        if k % 20 == 19:
            gc.collect()


def test_more_namespaces_than_are_kept():
    """Plans are given up in turn; the calls stay right, and those of one namespace get a plan again."""
    found = spaces(
        "def f(x):\n    y = x * A\n    seen(A)\n    return y + A",
        MANY,
        seen=[].append,
    )
    calls = [pycompile.compile(space["f"]) for space in found]
    for _ in range(2):
        for space, call in zip(found, calls):
            assert bits(call(X)) == bits(space["f"](X))
    before = calls[0].stats()["plan_runs"]
    for _ in range(300):
        calls[0](X)
    assert calls[0].stats()["plan_runs"] > before


def test_a_namespace_left_for_another_while_it_runs():
    """A function that calls itself in a hundred other namespaces, in one of which it was before."""
    source = "def f(x, n):\n    y = x * A\n    seen(n)\n    z = call(n, y)\n    return y + z + A"
    found = spaces(source, MANY[:100], seen=[].append)

    def plain(n, y):
        return found[n % 100]["f"](y, n - 1) if n else y

    def compiled(n, y):
        return calls[n % 100](y, n - 1) if n else y

    for space in found:
        space["call"] = plain
    want = found[7]["f"](X, 130)
    for space in found:
        space["call"] = compiled
    calls = [pycompile.compile(space["f"]) for space in found]
    for _ in range(3):
        assert bits(calls[7](X, 130)) == bits(want)


@pytest.mark.parametrize("part", ["globals", "builtins"])
def test_the_cause_of_a_recompile_is_named(part, caplog):
    def f(x, g):
        return g(x) + 1

    spaces = [{"A": 2.0}, {"A": 2.0}] if part == "globals" else [{"A": 2.0}] * 2
    first = types.FunctionType(scaled.__code__, spaces[0])
    if part == "builtins":
        spaces[1]["__builtins__"] = {}  # type: ignore[assignment]
    second = types.FunctionType(scaled.__code__, spaces[1])
    compiled = pycompile.compile(f)
    compiled(X, first)
    with pycompile.set_logs("recompiles"), caplog.at_level("INFO", "pycompile"):
        compiled(X, second)
    told = [record.getMessage() for record in caplog.records]
    assert any(f"now its {part} are another dict" in line for line in told), told


def test_namespaces_that_are_left_are_told_of(caplog):
    found = spaces("def f(x): return x * A", MANY[:70])
    with pycompile.set_logs("recompiles"), caplog.at_level("INFO", "pycompile"):
        for space in found:
            pycompile.compile(space["f"])(X)
    told = [record.getMessage() for record in caplog.records]
    assert (
        len([line for line in told if "f (template:1) runs in more than 64 namespaces" in line])
        == 1
    ), told


# ---- whole programs ----

PROGRAM = """
import types
import numpy as np
text = '''
def h(x): return x * A + B
def f(x):
    t = h(x)
    for i in range(20): t = t * 0.5 + A
    return t
class C:
    def m(self, x): return h(x) + A + (lambda y: y * A)(x)
def drain(n):
    k, t = 0, 1.0
    while k < n:
        k += 1
        t = t * 0.9 + A
    return t
found = [f(np.arange(8.0) + i) for i in range(40)] + [C().m(np.arange(8.0) + i) for i in range(40)]
k, total, sums = 0, 0.0, np.zeros(300)
while k < 300:
    total = total * 0.5 + k * A
    sums[k] = total + B
    k += 1
for i in range(300):
    sums[i] = abs(sums[i]) * A + i
'''
code = compile(text, "template.py", "exec")
for n in range(3):
    space = {"A": n + 0.5, "np": np, "__name__": f"copy{n}"}
    if n == 2:
        space["__builtins__"] = {**vars(__builtins__), "abs": lambda x, n=n: x - n}
    if n % 2:
        space = types.ModuleType("copy").__dict__ | space
    space["B"] = 1.0
    exec(code, space)
    drained = [space["drain"](300) for _ in range(3)]
    print(n, np.sum(space["found"]), space["total"], float(space["sums"].sum()), space["k"], drained)
    if n:
        for other in kept: print(float(other["f"](np.ones(8)).sum()), float(other["C"]().m(np.ones(8)).sum()))
    kept = [*(kept if n else []), space]
"""


def test_a_whole_program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    root = os.path.dirname(os.path.dirname(os.path.abspath(pycompile.__file__)))
    environment = {
        **os.environ,
        "PYTHONPATH": root,
        "PYCOMPILE_BACKGROUND": "0",
        "PYCOMPILE_PLAN_ALWAYS": "1",
    }
    runs = [
        subprocess.run(
            [sys.executable, *way, str(path)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        for way in ([], ["-m", "pycompile", "run"])
    ]
    assert runs[0].returncode == 0, runs[0].stderr
    assert (runs[1].stdout, runs[1].stderr) == (runs[0].stdout, runs[0].stderr)
