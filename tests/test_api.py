"""compile on every kind of callable, its options, disable, graph_break, backends, reset."""

import ast
import asyncio
import functools
import inspect
import os
import pickle
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from differential import check, compiled_calls

import pycompile
from pycompile import _C, _eager

X = np.linspace(0.0, 1.0, 7)


def double(x, *, offset=1.0):
    """Twice x, and an offset."""
    return x * 2 + offset


def test_bare_decorator_and_with_arguments():
    @pycompile.compile
    def bare(x):
        return x + 1

    @pycompile.compile(fullgraph=True, dynamic=None, mode="default")
    def called(x):
        return x + 1

    for f in (bare, called):
        assert (f(X) == X + 1).all() and (f(X) == X + 1).all()
        assert compiled_calls(f) > 0


def test_looks_like_the_function():
    f = pycompile.compile(double)
    assert f.__name__ == "double" and f.__qualname__ == "double"
    assert f.__doc__ == double.__doc__ and f.__module__ == double.__module__
    assert f.__wrapped__ is double
    assert inspect.signature(f) == inspect.signature(double)
    assert inspect.unwrap(f) is double
    assert inspect.getsource(f) == inspect.getsource(double)
    assert callable(f) and "double" in repr(f)


def test_attributes_can_be_set():
    f = pycompile.compile(double)
    f.note = "kept"
    assert f.note == "kept"
    assert not hasattr(double, "nothing_such") and not hasattr(f, "nothing_such")


def test_attributes_are_refused_and_deleted_as_those_of_the_function():
    def told(function, *change):
        try:
            change[0](function, *change[1:])
        except Exception as error:
            return type(error), str(error)

    def noted():
        def f(x):
            return x

        f.note = "kept"
        return f

    plain, compiled = noted(), pycompile.compile(noted())
    for change in (
        (delattr, "nothing_such"),
        (delattr, "note"),
        (getattr, "note"),
        (delattr, "__wrapped__"),
        (setattr, "__globals__", {}),
        (setattr, "__closure__", ()),
        (setattr, "__builtins__", {}),
        (delattr, "__code__"),
    ):
        assert told(compiled, *change) == told(plain, *change)


def test_keywords_defaults_and_stars():
    def f(a, b=2.0, /, c=3.0, *rest, d=4.0, **others):
        total = a * b + c
        for value in rest:
            total = total + value
        for value in others.values():
            total = total - value
        return total * d

    check(f, X)
    check(f, X, 5.0, 6.0, 7.0, 8.0)
    check(f, X, c=1.5, d=0.5)
    check(f, X, e=1.0, g=X)


class Model:
    scale = 3.0

    def __init__(self, offset):
        self.offset = offset

    @pycompile.compile
    def method(self, x):
        return x * self.scale + self.offset

    @pycompile.compile
    @classmethod
    def outer_class_method(cls, x):
        return x * cls.scale

    @classmethod
    @pycompile.compile
    def inner_class_method(cls, x):
        return x * cls.scale

    @pycompile.compile
    @staticmethod
    def outer_static_method(x):
        return x + 2

    @staticmethod
    @pycompile.compile
    def inner_static_method(x):
        return x + 2

    @property
    @pycompile.compile
    def squared(self):
        return self.offset * self.offset

    @pycompile.compile
    def __call__(self, x):
        return x - self.offset

    def plain(self, x):
        return x / self.offset


class Derived(Model):
    scale = 5.0

    def method(self, x):
        return super().method(x) + 1


def test_methods():
    model, derived = Model(X), Derived(X + 1)
    for _ in range(3):
        assert (model.method(X) == X * 3.0 + X).all()
        assert (derived.method(X) == X * 5.0 + (X + 1) + 1).all()
        assert (model.squared == X * X).all()
        assert (model(X) == 0).all()
        for owner, scale in ((Model, 3.0), (Derived, 5.0), (derived, 5.0)):
            assert (owner.outer_class_method(X) == X * scale).all()
            assert (owner.inner_class_method(X) == X * scale).all()
            assert (owner.outer_static_method(X) == X + 2).all()
            assert (owner.inner_static_method(X) == X + 2).all()
    assert Model.method(model, X).tobytes() == model.method(X).tobytes()
    assert model.method.__self__ is model
    assert compiled_calls(Model.method) > 0


def test_bound_methods_and_callables():
    model = Model(2.0)
    bound = pycompile.compile(model.plain)
    assert isinstance(bound, types.MethodType) and bound.__self__ is model
    assert (bound(X) == X / 2.0).all()

    class Callable:
        def __call__(self, x):
            return x + 10

    called = pycompile.compile(Callable())
    assert (called(X) == X + 10).all() and (called(X) == X + 10).all()


def test_partials():
    f = pycompile.compile(functools.partial(double, offset=5.0))
    assert isinstance(f, functools.partial)
    assert (f(X) == X * 2 + 5).all() and (f(X, offset=0.0) == X * 2).all()
    assert compiled_calls(f.func) > 0


def test_lambdas_and_closures():
    factor = 2.0

    def change():
        nonlocal factor
        factor += 1

    f = pycompile.compile(lambda x: x * factor)
    assert (f(X) == X * 2).all()
    change()
    assert (f(X) == X * 3).all()
    change()
    assert (f(X) == X * 4).all()


def test_classes_are_refused():
    with pytest.raises(TypeError, match="not the class 'Model'; decorate its methods"):
        pycompile.compile(Model)


@pytest.mark.parametrize("thing", [3, "f", [1], object()])
def test_what_cannot_be_called_is_refused(thing):
    with pytest.raises(TypeError, match="takes a callable"):
        pycompile.compile(thing)


def test_a_property_is_refused_with_what_to_do():
    with pytest.raises(TypeError, match="not 'property'; put @property above it"):
        pycompile.compile(property(len))


@pytest.mark.parametrize("asked", ["compile", "disable"])
def test_other_descriptors_are_refused_with_what_to_do(asked):
    def scaled(self, x, factor):
        return x * factor

    wrap = getattr(pycompile, asked)
    with pytest.raises(TypeError, match=rf"partialmethod\(pycompile\.{asked}\(f\), \.\.\.\)"):
        wrap(functools.partialmethod(scaled, factor=2.0))
    for kind in (functools.cached_property, functools.singledispatchmethod):
        with pytest.raises(TypeError, match=f"put @functools.{kind.__name__} above it"):
            wrap(kind(scaled))

    class Followed:  # what the messages say
        twice = functools.partialmethod(wrap(scaled), factor=2.0)

        @functools.cached_property
        @wrap
        def total(self):
            return X.sum()

        @functools.singledispatchmethod
        @wrap
        def added(self, x):
            return x + 1

    made = Followed()
    assert (made.twice(X) == X * 2).all() and made.total == X.sum()
    assert (made.added(X) == X + 1).all()


def test_functions_without_bytecode_come_back():
    for thing in (len, np.add, np.sum, [].append):
        assert pycompile.compile(thing) is thing


def test_compiling_twice_is_compiling_once():
    once = pycompile.compile(double)
    twice = pycompile.compile(once)
    assert twice.__wrapped__ is double
    assert (twice(X) == double(X)).all()


def test_generators_and_coroutines():
    @pycompile.compile
    def generator(x):
        for i in range(3):
            y = x + i
            got = yield y
            if got:
                yield got

    @pycompile.compile
    async def coroutine(x):
        await asyncio.sleep(0)
        return x * 2

    @pycompile.compile
    async def stream(x):
        for i in range(2):
            yield x + i

    async def main():
        parts = [part async for part in stream(X)]
        return await coroutine(X), parts

    assert inspect.isgeneratorfunction(generator)
    assert inspect.iscoroutinefunction(coroutine)
    assert [float(y[0]) for y in generator(X)] == [0.0, 1.0, 2.0]
    running = generator(X)
    next(running)
    assert running.send("sent") == "sent"
    doubled, parts = asyncio.run(main())
    assert (doubled == X * 2).all() and (parts[1] == X + 1).all()


def test_generators_called_inside():
    def pieces(x):
        for i in range(3):
            yield x[i] * 2

    def f(x):
        y = x + 1
        return sum(pieces(y)) + y

    check(f, X)


def test_unknown_options():
    with pytest.raises(ValueError, match="unknown option 'no_such'"):
        pycompile.compile(double, options={"no_such": 1})
    with pytest.raises(ValueError, match="mode"):
        pycompile.compile(double, mode="reduce-overhead")
    with pytest.raises(ValueError, match="numerics"):
        pycompile.compile(double, numerics="sloppy")
    with pytest.raises(ValueError, match="dynamic"):
        pycompile.compile(double, dynamic="all")
    with pytest.raises(TypeError):
        pycompile.compile(double, colour="red")


def test_options_reach_the_runtime():
    f = pycompile.compile(double, dynamic=False, options={"recompile_limit": 2})
    with pytest.warns(pycompile.PycompileWarning, match="was compiled 2 times"):
        for size in range(2, 8):
            x = np.ones(size)
            assert (f(x) == 3).all()


# ---- backends ----


def test_backends_are_listed():
    assert pycompile.list_backends()[:2] == ["c", "eager"]


def test_unknown_backend():
    with pytest.raises(pycompile.BackendError, match="unknown backend 'cuda12'; known: c, eager"):
        pycompile.compile(double, backend="cuda12")


def test_eager_backend_agrees():
    def f(x, y):
        z = np.tanh(x + y) * 2
        return z.sum(axis=0), z[:2]

    check(f, np.ones((3, 4)), np.arange(4.0), options={"backend": "eager"})


def test_custom_backend():
    graphs = []

    def backend(graph, example_inputs):
        graphs.append(graph)
        return lambda *inputs: _eager.run(graph, inputs)

    pycompile.register_backend("recording", backend)
    assert "recording" in pycompile.list_backends()

    def f(x):
        return np.sqrt(x * 2 + 1)

    check(f, X, options={"backend": "recording"})
    assert graphs and "sqrt" in str(graphs[0])


def test_methods_of_what_a_backend_gives_are_its_own():
    class Model:
        def __init__(self, graph):
            self.graph = graph

        def __call__(self, *inputs):
            return _eager.run(self.graph, inputs)

        def save(self, *args):
            raise AssertionError("called by a plan")

    def f(x):
        return np.sqrt(x * 2 + 1)

    check(f, X, options={"backend": lambda graph, inputs: Model(graph)})


def test_register_backend_refuses():
    with pytest.raises(ValueError, match="built in"):
        pycompile.register_backend("c", lambda graph, inputs: None)
    with pytest.raises(TypeError):
        pycompile.register_backend("other", 3)
    with pytest.raises(TypeError):
        pycompile.register_backend("", lambda graph, inputs: None)


# ---- disable, graph_break, is_compiling, reset ----


@pycompile.disable
def left_alone(x):
    """Runs in a frame of its own."""
    frame = sys._getframe()
    return x + frame.f_code.co_argcount


def break_codes(function):
    """The breaks of one call."""
    return [item["code"] for item in pycompile.explain(function)(X).breaks]


def test_disabled_functions_are_not_inlined():
    def f(x):
        y = left_alone(x * 2)
        return y + 1

    check(f, X, breaks=["PC0004"])


def test_disabled_functions_look_like_the_function():
    function = left_alone.__wrapped__
    assert left_alone.__name__ == "left_alone" and left_alone.__doc__ == function.__doc__
    assert left_alone.__module__ == __name__ and left_alone.__qualname__ == "left_alone"
    assert inspect.signature(left_alone) == inspect.signature(function)
    assert inspect.unwrap(left_alone) is function
    assert "disabled" in repr(left_alone) and "left_alone" in repr(left_alone)
    function.note = "the function's"
    assert left_alone.note == "the function's"
    assert left_alone.stats()["plan_runs"] == 0


def test_disable_leaves_the_function_as_it_was():
    def f(x):
        return x * 2 + 1

    before = dict(f.__dict__)
    disabled = pycompile.disable(f)
    assert f.__dict__ == before and disabled.__wrapped__ is f
    compiled = pycompile.compile(f)
    check(f, X, whole=True)
    assert (compiled(X) == disabled(X)).all() and (compiled(X) == X * 2 + 1).all()
    assert compiled_calls(compiled) > 0

    def g(x):
        return f(x) + 1

    check(g, X, whole=True)


def test_what_is_disabled_stays_so():
    assert pycompile.compile(left_alone) is left_alone
    assert pycompile.disable(left_alone) is left_alone
    compiled = pycompile.compile(double)
    disabled = pycompile.disable(compiled)
    assert type(disabled) is _C.DisabledFunction and disabled.__wrapped__ is double

    def by_other_names(x):
        return other(x) + kept["f"](x) + part(x)

    other, kept = disabled, {"f": left_alone}
    part = functools.partial(disabled, offset=3.0)
    check(by_other_names, X, captured=False)
    assert break_codes(by_other_names) == ["PC0004"] * 3


class Kept:
    scale = 3.0

    @pycompile.disable
    def method(self, x):
        return x * self.scale + sys._getframe().f_code.co_argcount

    @pycompile.disable
    @classmethod
    def outer_class_method(cls, x):
        return x * cls.scale + sys._getframe().f_code.co_argcount

    @classmethod
    @pycompile.disable
    def inner_class_method(cls, x):
        return x * cls.scale + sys._getframe().f_code.co_argcount

    @pycompile.disable
    @staticmethod
    def static_method(x):
        return x + sys._getframe().f_code.co_argcount

    @property
    @pycompile.disable
    def squared(self):
        return self.scale * self.scale + sys._getframe().f_code.co_argcount

    @pycompile.disable
    def __call__(self, x):
        return x - sys._getframe().f_code.co_argcount


def test_disabled_methods():
    kept = Kept()

    def f(x):
        y = np.sqrt(x)
        return kept.method(y) + 1

    def g(x):
        y = np.sqrt(x)
        return Kept.outer_class_method(y) + kept.inner_class_method(y)

    def h(x):
        y = np.sqrt(x)
        return Kept.static_method(y) + kept.static_method(y) + kept(y)

    def k(x):
        y = np.sqrt(x)
        return y + kept.squared

    for function, calls in ((f, 1), (g, 2), (h, 3), (k, 1)):
        check(function, X)
        assert break_codes(function) == ["PC0004"] * calls
    bound = pycompile.disable(Model(2.0).plain)
    assert isinstance(bound, types.MethodType) and (bound(X) == X / 2.0).all()
    assert (pycompile.disable(Model(X))(X) == 0).all()


def test_compiled_methods_are_followed():
    model = Model(2.0)

    def f(x):
        y = np.sqrt(x)
        return model.method(y) + model.inner_class_method(y) + Model.outer_static_method(y)

    check(f, X, whole=True)


def test_a_disabled_function_adds_no_frame_to_a_traceback():
    @pycompile.disable
    def inner(x):
        raise ValueError("here")

    def f(x):
        y = x + 1
        return inner(y)

    def names(function):
        with pytest.raises(ValueError) as caught:
            function(X)
        return [entry.name for entry in caught.traceback][1:]

    assert names(pycompile.compile(f)) == names(f) == ["f", "inner"]


def test_disabled_generators_and_coroutines():
    @pycompile.disable
    def pieces(x):
        yield from x

    @pycompile.disable
    async def later(x):
        return x

    assert inspect.isgeneratorfunction(pieces) and inspect.iscoroutinefunction(later)

    def f(x):
        y = x * 2
        return [float(part) for part in pieces(y)]

    check(f, X)
    assert "PC0004" in break_codes(f)


def test_what_cannot_be_disabled():
    for thing, text in (
        (3, "takes a callable"),
        (len, "a function of Python code"),
        (Model, "not the class 'Model'"),
    ):
        with pytest.raises(TypeError, match=text):
            pycompile.disable(thing)


def test_wrappers_of_disabled_functions_are_followed():
    @functools.wraps(left_alone)
    def wrapper(x):
        return x * 2 + 1

    check(lambda x: wrapper(x) + 1, X, whole=True)


def test_graph_break():
    def f(x):
        y = x + 1
        pycompile.graph_break()
        return y * 2

    check(f, X, breaks=["PC0005"])
    assert pycompile.graph_break() is None


def test_is_compiling():
    assert pycompile.is_compiling() is False
    f = pycompile.compile(lambda x: x + (1 if pycompile.is_compiling() else 2))
    assert (f(X) == X + 1).all()


def test_reset_forgets_plans():
    f = pycompile.compile(double)
    f(X), f(X)
    pycompile.reset()
    pycompile._C.report_begin()
    assert (f(X) == double(X)).all()
    assert any(record["kind"] == "plan" for record in pycompile._C.report_end())


MEMORY = """
import os
import numpy as np, pycompile
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") >> 20
@pycompile.compile
def outputs(x):
    return np.tanh(x) + 1, np.exp(x) * 2
@pycompile.compile
def arenas(x):
    return np.sort(np.tanh(x) * 2).sum() + np.sort(np.exp(x) + 1)[::2].sum()
x = np.linspace(0, 1, 3 << 20)  # 24 MiB
def run():
    outputs(x), arenas(x), arenas(x[: 1 << 20])
    kept = outputs(x)  # what the program holds stays
    return kept
pycompile.compile(lambda x: np.tanh(x) + 1)(np.ones(9000))
before = resident()
kept = run()
held = resident(), pycompile._C.pool_held() >> 20
pycompile.reset()
after = resident(), pycompile._C.pool_held() >> 20
print(before, *held, *after)
assert (kept[0] == np.tanh(x) + 1).all()
assert outputs(x)[0].tobytes() == kept[0].tobytes()
"""


@pytest.mark.slow
def test_reset_gives_memory_back():
    done = run_child(MEMORY)
    assert done.returncode == 0, done.stderr
    before, held, pooled, after, left = map(int, done.stdout.split())
    outputs = 48  # MiB that the program itself still holds
    assert pooled >= 48 and held >= before + outputs + 72, done.stdout
    assert left == 0 and after <= before + outputs + 16, done.stdout


def test_cache_info():
    info = pycompile.cache_info()
    assert isinstance(info, dict) and info["folder"] == os.environ["PYCOMPILE_CACHE_DIR"]


# ---- fullgraph ----


def test_fullgraph_shows_the_line():
    def f(x):
        y = x + 1
        print("not array code")
        return y

    compiled = pycompile.compile(f, fullgraph=True)
    line = f.__code__.co_firstlineno + 2
    for _ in range(2):
        with pytest.raises(pycompile.GraphBreakError) as caught:
            compiled(X)
        assert caught.value.code.startswith("PC") and caught.value.line == line
        assert caught.value.file == __file__
        assert f"{__file__}:{line}" in str(caught.value)
        assert "\n  hint: Nothing has to change" in str(caught.value)


def test_fullgraph_of_a_generator():
    def f(x):
        yield x

    with pytest.raises(pycompile.GraphBreakError, match="PC0020"):
        pycompile.compile(f, fullgraph=True)


def test_fullgraph_and_more_plans_than_there_may_be():
    compiled = pycompile.compile(
        double,
        dynamic=False,
        fullgraph=True,
        options={"recompile_limit": 2, "plan_always": True},
    )
    for n in (3, 4):
        compiled(np.ones(n))
    for n in (5, 6, 5):
        with pytest.raises(pycompile.GraphBreakError, match="PC0047.*recompile_limit") as caught:
            compiled(np.ones(n))
        assert caught.value.code == "PC0047" and caught.value.file == __file__
        assert caught.value.line == double.__code__.co_firstlineno
        assert f"now {n}" in str(caught.value)
    runs = compiled.stats()["plan_runs"]
    assert np.array_equal(compiled(np.ones(4)), double(np.ones(4)))  # the plans there are stay
    assert compiled.stats()["plan_runs"] == runs + 1


def test_fullgraph_is_told_at_every_call():
    def f(x):
        return x + 1, id(x)

    compiled = pycompile.compile(f, fullgraph=True, options={"recompile_limit": 2})
    for _ in range(5):
        with pytest.raises(pycompile.GraphBreakError, match="PC0030"):
            compiled(X)


def test_fullgraph_of_a_graph_that_cannot_be_lowered():
    def f(x):
        return x * 2 + 1

    whole = pycompile.compile(f, fullgraph=True)
    other = pycompile.compile(f, options={"unroll": 4095})  # a state of its own
    _C.test_lower_refuses("a reason of the test's")
    try:
        for _ in range(3):
            with pytest.raises(pycompile.GraphBreakError, match="a reason of the test's") as caught:
                whole(X)
            assert caught.value.code == "PC0027"
            assert caught.value.line == f.__code__.co_firstlineno
            assert f"{__file__}:{caught.value.line}" in str(caught.value)
        assert np.array_equal(other(X), f(X)) and other.stats()["plan_runs"] == 0
    finally:
        _C.test_lower_refuses(None)
    assert np.array_equal(whole(X), f(X)) and whole.stats()["plan_runs"] == 1


def test_fullgraph_of_code_that_is_not_followed():
    def f(x):
        return x

    def g(x):
        yield x

    compiled = pycompile.compile(f, fullgraph=True)
    f.__code__ = g.__code__
    with pytest.raises(pycompile.GraphBreakError, match="PC0020") as caught:
        compiled(X)
    assert caught.value.line == g.__code__.co_firstlineno


def test_fullgraph_of_what_is_not_worth_a_plan():
    def f(x, n):
        return n + 1

    compiled = pycompile.compile(f, fullgraph=True)
    for n in range(20):
        assert compiled(X, n) == n + 1
    assert compiled.stats()["plan_runs"] == 0


def test_fullgraph_and_calls_that_the_plan_did_not_foresee():
    def f(x):
        return 1 / x + x * 2 - x

    compiled = pycompile.compile(f, fullgraph=True)
    compiled(X + 3)
    for _ in range(40):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert np.isinf(compiled(np.zeros(X.shape))).all()
    assert compiled.stats()["deopts"] > 0


def test_fullgraph_of_what_is_whole():
    check(double, X, whole=True, options={"fullgraph": True})


def test_options_that_are_arguments_too():
    def f(x):
        print(end="")
        return x + 1

    with pytest.raises(pycompile.GraphBreakError):
        pycompile.compile(f, options={"fullgraph": True})(X)
    for options in ({"numerics": "quick"}, {"dynamic": "x"}, [1], "threads"):
        with pytest.raises((TypeError, ValueError), match="numerics|dynamic|mapping"):
            pycompile.compile(f, options=options)


# ---- environment ----


def run_child(code, **variables):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


CODE = """
import numpy as np, pycompile
def generator(x): yield x
@pycompile.compile
def f(x):
    return np.tanh(x + 1)
class A:
    @pycompile.compile
    def m(self, x): return f(x) * 2
print(type(f).__name__, type(A.m).__name__, float(A().m(np.zeros(3))[0]))
f(np.zeros(3)), f(np.zeros(3))
print(f.__wrapped__.__name__, f.stats()["plan_runs"], pycompile._C.toolchain_info()["compiled"])
print("left to CPython" in str(pycompile.explain(f)(np.zeros(3))), f"{f!r}".split()[0])
print(pycompile.compile(f).__wrapped__ is f.__wrapped__, list(pycompile.compile(generator)(2)))
"""


@pytest.mark.slow
def test_disabled_by_the_environment():
    on, off = run_child(CODE), run_child(CODE, PYCOMPILE_DISABLE="1")
    assert on.returncode == 0 and off.returncode == 0, on.stderr + off.stderr
    first, *rest = off.stdout.splitlines()
    assert first == on.stdout.splitlines()[0]
    assert rest == ["f 0 0", "True <compiled", "True [2]"]
    assert on.stdout.split()[0] == "CompiledFunction"
    no = run_child(CODE, PYCOMPILE_DISABLE="no")
    for done in (on, no):
        assert int(done.stdout.splitlines()[1].split()[1]) > 0
    for said in ("true", "YES", " on "):
        assert run_child(CODE, PYCOMPILE_DISABLE=said).stdout == off.stdout


def test_a_value_that_neither_disables_nor_enables():
    done = run_child(CODE, PYCOMPILE_DISABLE="maybe")
    told = "PYCOMPILE_DISABLE=maybe is neither 1 (true, yes, on) nor 0 (false, no, off): ignored"
    assert done.returncode == 0 and done.stderr.count(told) == 1, done.stderr
    assert "_api.py" not in done.stderr, done.stderr  # but the line of the program
    assert int(done.stdout.splitlines()[1].split()[1]) > 0


def test_public_names():
    for name in pycompile.__all__:
        assert hasattr(pycompile, name), name


def test_the_stub_of_the_extension_is_whole():
    """Every name that is no hook for tests is in the stub, and nothing else."""
    stub = ast.parse((Path(pycompile.__file__).parent / "_C.pyi").read_text())
    named = {n.name for n in stub.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    told = {name for name in named if not name.startswith("_")}
    assert told == {name for name in dir(_C) if not name.startswith(("_", "test_"))}


def test_stats_are_of_the_code_with_its_options():
    def f(x):
        return np.sqrt(x) * 2 + 1

    first, second = (pycompile.compile(f, options={"plan_always": True}) for _ in range(2))
    other = pycompile.compile(f, options={"plan_always": True, "unroll": 5000})
    x = np.ones(100)
    first(x), second(x), second(x)
    assert first.stats() == second.stats()  # they share their plans
    assert first.stats()["plan_runs"] == 3 and first.stats()["compiles"] == 1
    assert set(other.stats().values()) == {0}


def test_stats_are_explained_key_by_key():
    compiled = pycompile.compile(lambda x: x)
    page = (Path(__file__).parent.parent / "docs" / "settings.md").read_text()
    for key in compiled.stats():
        assert f"\n{key} " in compiled.stats.__doc__ and f"`{key}`" in page


def test_reset_sets_the_counts_to_zero():
    compiled = pycompile.compile(lambda x: x * 2 + 1, options={"plan_always": True})
    compiled(np.ones(8))
    assert compiled.stats()["plan_runs"] == 1
    pycompile.reset()
    assert compiled.stats()["plan_runs"] == compiled.stats()["plans"] == 0
    compiled(np.ones(8))
    assert compiled.stats()["plan_runs"] == compiled.stats()["plans"] == 1


ERRORS = ["BackendError", "GraphBreakError", "PycompileError", "PycompileWarning"]


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_named_as_users_import_them(name):
    kind = getattr(pycompile, name)
    assert f"{kind.__module__}.{kind.__qualname__}" == f"pycompile.{name}"
    assert type(pickle.loads(pickle.dumps(kind("said")))) is kind


def test_an_error_is_pickled_whole():
    error = pycompile.GraphBreakError("PC0002: ...", "PC0002", "f.py", 7)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.file, again.line) == (str(error), "PC0002", "f.py", 7)


def test_a_program_that_ends_by_an_error_names_it():
    code = "import pycompile\n@pycompile.compile(fullgraph=True)\ndef f(): yield 1\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "\npycompile.GraphBreakError: PC0020" in done.stderr, done.stderr
