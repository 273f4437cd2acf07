"""Compiled and disabled functions travel wherever the plain ones do: pickle, cloudpickle, processes."""

import copy
import functools
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import pycompile
from pycompile import _C, _eager

X = np.linspace(0.0, 1.0, 9)
PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


@pycompile.compile
def named(x):
    return x * 2 + 1


@pycompile.disable
def left(x):
    return x * 3


def plain(x):
    return x * 4


renamed = pycompile.compile(plain, options={"recompile_limit": 3})
renamed_left = pycompile.disable(plain)


class Model:
    scale = 5.0

    @pycompile.compile
    def method(self, x):
        return x * self.scale

    @pycompile.compile
    @staticmethod
    def static(x):
        return x * 6

    @pycompile.compile
    @classmethod
    def of_class(cls, x):
        return x * cls.scale


def by_array_functions(graph, example_inputs):
    return lambda *inputs: _eager.run(graph, inputs)


def same(one, other, *args):
    assert np.asarray(one(*args)).tobytes() == np.asarray(other(*args)).tobytes()


def options_of(function):
    return function.__reduce_ex__(4)[1][1]


# ---- pickle ----


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_by_name_where_the_name_leads_to_it(protocol):
    for function in (named, left, Model.method, Model.static):
        assert pickle.loads(pickle.dumps(function, protocol)) is function


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_another_name_sends_the_plain_function_and_the_options(protocol):
    again = pickle.loads(pickle.dumps(renamed, protocol))
    assert type(again) is type(renamed) and again is not renamed
    assert again.__wrapped__ is plain and options_of(again)["recompile_limit"] == 3
    same(again, plain, X)
    again = pickle.loads(pickle.dumps(renamed_left, protocol))
    assert type(again) is _C.DisabledFunction and again.__wrapped__ is plain


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_bound_methods_and_partials(protocol):
    model = Model()
    for bound in (model.method, Model.of_class, functools.partial(named, X)):
        again = pickle.loads(pickle.dumps(bound, protocol))
        arguments = () if isinstance(bound, functools.partial) else (X,)
        same(again, bound, *arguments)
    assert pickle.loads(pickle.dumps(model.method)).__func__ is Model.method


def test_own_attributes_travel():
    function = pycompile.compile(plain)
    function.note = [1, 2]
    assert pickle.loads(pickle.dumps(function)).note == [1, 2]


def test_backends_travel():
    function = pycompile.compile(plain, backend=by_array_functions)
    again = pickle.loads(pickle.dumps(function))
    assert options_of(again)["backend"] is by_array_functions
    same(again, plain, X)
    again = pickle.loads(pickle.dumps(pycompile.compile(plain, backend="eager")))
    assert options_of(again)["backend"] is _eager.backend


def test_what_pickle_cannot_send_stays_an_error():
    def local(x):
        return x

    for function in (local, lambda x: x):
        with pytest.raises((pickle.PicklingError, AttributeError)) as expected:
            pickle.dumps(function)
        for wrap in (pycompile.compile, pycompile.disable):
            with pytest.raises((pickle.PicklingError, AttributeError)) as found:
                pickle.dumps(wrap(function))
            assert type(found.value) is type(expected.value)
            assert str(found.value) == str(expected.value)


def test_copies_are_the_function():
    local = pycompile.compile(lambda x: x + 1)
    for function in (named, renamed, local, left, Model.method):
        assert copy.copy(function) is function and copy.deepcopy(function) is function
        held = copy.deepcopy({"f": function, "list": [function]})
        assert held["f"] is function and held["list"][0] is function


def test_the_python_pickler():
    for function in (named, left, Model.method):
        assert pickle.loads(pickle._dumps(function)) is function
    assert pickle.loads(pickle._dumps(renamed)).__wrapped__ is plain


# ---- cloudpickle ----


@pytest.fixture
def cloud():
    return pytest.importorskip("cloudpickle")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_cloudpickle_takes_local_functions(cloud, protocol):
    factor = 3.0

    def outer(x):
        return x * factor

    for function in (outer, lambda x: x - factor):
        compiled = pycompile.compile(function, options={"unroll": 77})
        again = pickle.loads(cloud.dumps(compiled, protocol))
        assert type(again) is _C.CompiledFunction and options_of(again)["unroll"] == 77
        same(again, function, X)
        disabled = pickle.loads(cloud.dumps(pycompile.disable(function), protocol))
        assert type(disabled) is _C.DisabledFunction
        same(disabled, function, X)


def test_cloudpickle_sends_names_by_name(cloud):
    for function in (named, left, Model.method, Model.static):
        assert pickle.loads(cloud.dumps(function)) is function
    assert cloud.loads(cloud.dumps(Model().method)).__func__ is Model.method
    same(cloud.loads(cloud.dumps(Model.of_class)), Model.of_class, X)
    same(cloud.loads(cloud.dumps(renamed)), plain, X)


def test_cloudpickle_of_a_function_that_calls_itself(cloud):
    @pycompile.compile
    def down(x, n):
        y = x * 2
        return y if n == 0 else down(y, n - 1)

    again = cloud.loads(cloud.dumps(down))
    assert again.__closure__[0].cell_contents is again
    same(again, down, X, 3)


def test_cloudpickle_of_functions_that_call_each_other(cloud):
    @pycompile.compile
    def even(x, n):
        return x if n == 0 else odd(x * 2, n - 1)

    @pycompile.disable
    def odd(x, n):
        return x if n == 0 else even(x * 3, n - 1)

    again = cloud.loads(cloud.dumps(even))
    other = again.__closure__[0].cell_contents
    assert type(other) is _C.DisabledFunction and other.__closure__[0].cell_contents is again
    same(again, even, X, 5)


def test_cloudpickle_of_a_local_class(cloud):
    class Base:
        @pycompile.compile
        def scaled(self, x):
            return x * self.scale

    class Local(Base):
        scale = 3.0

        @pycompile.compile
        def scaled(self, x):
            return super().scaled(x) + 1

        @pycompile.compile
        @classmethod
        def made(cls, x):
            return x * cls.scale

        @pycompile.disable
        @staticmethod
        def kept(x):
            return x - 1

        @property
        @pycompile.compile
        def square(self):
            return self.scale * self.scale

    again = cloud.loads(cloud.dumps(Local()))
    kind = type(again)
    assert kind.scaled.__closure__[0].cell_contents in (kind, kind.scaled)
    assert type(kind.__dict__["scaled"]) is _C.CompiledFunction
    assert type(kind.__dict__["kept"].__func__) is _C.DisabledFunction
    for name in ("scaled", "made", "kept"):
        same(getattr(again, name), getattr(Local(), name), X)
    assert again.square == 9.0
    same(cloud.loads(cloud.dumps(Local().scaled)), Local().scaled, X)


def test_cloudpickle_of_modules_that_travel_by_value(cloud, tmp_path, monkeypatch):
    (tmp_path / "travelling.py").write_text(
        "import pycompile\n@pycompile.compile\ndef f(x):\n    return x * 2\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import travelling

    cloud.register_pickle_by_value(travelling)
    data = cloud.dumps(travelling.f)
    cloud.unregister_pickle_by_value(travelling)
    assert cloud.loads(cloud.dumps(travelling.f)) is travelling.f
    code = f"import pickle; print(pickle.loads({data!r})(21))"
    done = run_child(code)
    assert done.stdout == "42\n", done.stderr


COUNT = 0


def helper(x, n=-0.0):
    return np.tanh(x) + n


def functions_that_come_once():
    factor, kinds = 3.0, (np.float64, "text", 1.5)
    yield lambda x: np.sqrt(x) * factor
    yield (lambda x, n=kinds: helper(x) + left(x) + n[2])
    yield lambda x: (lambda y: y * factor)(x) + named(x)


def functions_that_come_anew():
    array, total, boxed = np.ones(9), 0, []

    def writes_a_global(x):
        global COUNT
        COUNT = COUNT + 1
        return x * COUNT

    def writes_a_cell(x):
        nonlocal total
        total += 1
        return x * total

    def down(x, n=2):
        return x if n == 0 else compiled_down(x * 2, n - 1)

    compiled_down = pycompile.compile(down)
    yield from (writes_a_global, writes_a_cell, compiled_down)
    yield lambda x: x + array
    yield lambda x, seen=boxed: x + (seen.append(1) or len(seen))
    yield lambda x: eval("x + 1")


@pytest.mark.parametrize("again", [True, False])
def test_one_that_came_before_is_taken_again(cloud, monkeypatch, again):
    """Where nobody sees a difference, so that its plans are used by the next task."""
    monkeypatch.setattr(helper, "__module__", "elsewhere")  # so that it goes by value
    for function in functions_that_come_once() if again else functions_that_come_anew():
        data = cloud.dumps(pycompile.compile(function))
        first, second = pickle.loads(data), pickle.loads(data)
        assert (first is second) == again
        for arrived in (first, second):
            same(arrived, pickle.loads(cloud.dumps(function)), X)


def test_another_function_of_that_code_comes_as_it_is(cloud):
    def make(n, options=None):
        return pycompile.compile(lambda x: np.copysign(x, n), options=options)

    sent = [make(0.0), make(-0.0), make(0), make(np.float32(0)), make(0.0, {"unroll": 7})]
    arrived = [cloud.loads(cloud.dumps(function)) for function in sent]
    assert len({id(function) for function in arrived}) == 5
    for one, other in zip(arrived, sent, strict=True):
        same(one, other, X)
    arrived[0].note = 1  # one that has been changed is not taken again
    assert cloud.loads(cloud.dumps(sent[0])) is not arrived[0]


# ---- processes ----


def run_child(code, path="-c", **variables):
    where = [sys.executable, path, code] if path == "-c" else [sys.executable, path]
    environment = {**os.environ, **variables}
    return subprocess.run(where, env=environment, capture_output=True, text=True, timeout=300)


MAIN = """
import functools, multiprocessing, pickle, sys
import numpy as np
import pycompile

FACTOR = 2.0

@pycompile.compile
def compiled(x):
    return np.tanh(x) * FACTOR + inner(x)

@pycompile.compile(options={"unroll": 99})
def inner(x):
    return down(x, 3)

@pycompile.compile
def down(x, n):
    return x if n == 0 else down(x + 1, n - 1)

@pycompile.disable
def disabled(x):
    return inner(x) + 1

class Model:
    def __init__(self, scale):
        self.scale = scale

    @pycompile.compile
    def method(self, x):
        return x * self.scale

def plain(x):
    return x - 1

other_name = pycompile.compile(plain)
anonymous = pycompile.compile(lambda x: x + FACTOR)
X = np.linspace(0, 1, 5)

def everything():
    methods = [Model(3.0).method, functools.partial(down, n=2)]
    return [compiled, inner, disabled, other_name, *methods]

def agree(results, functions):
    for found, function in zip(results, functions, strict=True):
        assert found.tobytes() == function(X).tobytes(), function
"""


def script(tmp_path, text):
    path = tmp_path / "program.py"
    path.write_text(MAIN + textwrap.dedent(text))
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_main_and_multiprocessing(tmp_path, method):
    code = f"""
        if __name__ == "__main__":
            for function in (compiled, inner, disabled):
                assert pickle.loads(pickle.dumps(function)) is function
            with multiprocessing.get_context({method!r}).Pool(1) as pool:
                functions = everything()
                agree([pool.apply(function, (X,)) for function in functions], functions)
                assert pool.apply(type, (compiled,)) is type(compiled)
            print("done")
    """
    done = run_child("", script(tmp_path, code))
    assert done.stdout == "done\n", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"PYCOMPILE_DISABLE": "1"}])
def test_main_and_loky(tmp_path, options):
    pytest.importorskip("joblib")
    code = """
        from joblib import Parallel, delayed
        functions = [*everything(), anonymous, pycompile.disable(anonymous)]
        results = Parallel(n_jobs=1)(delayed(function)(X) for function in functions)
        agree(results, functions)
        from joblib.externals.loky import get_reusable_executor
        with get_reusable_executor(max_workers=1) as pool:
            agree([pool.submit(function, X).result() for function in functions], functions)
            kinds = [pool.submit(type, function).result() for function in functions]
        assert kinds == [type(function) for function in functions], kinds
        print("done")
    """
    done = run_child("", script(tmp_path, code), **options)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.slow
def test_main_to_another_program(tmp_path):
    """By value out of __main__, into a process that has none of it."""
    pytest.importorskip("cloudpickle")
    code = """
        import cloudpickle
        functions = [*everything(), anonymous, Model]
        sys.stdout.buffer.write(cloudpickle.dumps((functions, [f(X) for f in functions[:-1]])))
    """
    path = script(tmp_path, code)
    data = subprocess.run([sys.executable, path], capture_output=True, timeout=300)
    assert data.returncode == 0, data.stderr
    (tmp_path / "data").write_bytes(data.stdout)
    code = f"""
import pickle, numpy as np
functions, results = pickle.load(open({str(tmp_path / "data")!r}, "rb"))
X = np.linspace(0, 1, 5)
for f, found in zip(functions, results):
    assert f(X).tobytes() == found.tobytes(), f
assert type(functions[0]).__name__ == "CompiledFunction"
assert functions[1].__reduce_ex__(4)[1][1]["unroll"] == 99
inner = functions[0].__globals__["inner"]
assert inner is functions[1], "one function twice"
assert functions[-1](4.0).method(2.0) == 8.0
print("done")
"""
    done = run_child(code)
    assert done.stdout == "done\n", done.stderr
