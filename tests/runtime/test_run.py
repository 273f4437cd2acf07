"""The loop over one frame: entries, breaks, deopts, limits, resets, and the compiled function itself."""

import copy
import gc
import inspect
import pickle
import sys
import threading
import warnings
import weakref

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _C


@pycompile.compile
def named(x, y=2.0, *, z=1.0):
    """Adds."""
    return x * y + z


def test_looks_like_the_function():
    assert named.__name__ == "named" and named.__doc__ == "Adds."
    assert named.__module__ == __name__
    assert str(inspect.signature(named)) == "(x, y=2.0, *, z=1.0)"
    assert pickle.loads(pickle.dumps(named)) is named
    assert copy.deepcopy(named) is named
    assert weakref.ref(named)() is named
    assert repr(named).startswith("<compiled function named at ")
    named.mark = 3
    assert named.mark == 3 and not hasattr(named.__wrapped__, "mark")
    with pytest.raises(AttributeError):
        named.missing  # noqa: B018


def test_arguments_by_keyword_and_default():
    x = np.arange(3.0)
    for _ in range(3):
        assert (named(x) == x * 2 + 1).all()
        assert (named(x, y=3.0) == x * 3 + 1).all()
        assert (named(y=3.0, x=x, z=2.0) == x * 3 + 2).all()
        for bad in (
            lambda: named(),
            lambda: named(x, 1, 2),
            lambda: named(x, w=1),
            lambda: named(x, x=x),
        ):
            with pytest.raises(TypeError):
                bad()
    assert not _C._hook_is_armed()


def test_method_and_new_code():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @pycompile.compile
        def apply(self, x):
            return x * self.scale

    x = np.arange(3.0)
    for scale in (2.0, 3.0, 2.0):
        assert (Model(scale).apply(x) == x * scale).all()

    def other(self, x):
        return x + self.scale

    Model.__dict__["apply"].__code__ = other.__code__
    assert (Model(2.0).apply(x) == x + 2).all()


def test_break_in_the_middle():
    def f(x):
        y = x * 2
        print("between", y.shape)
        return y + 1

    check(f, np.arange(4.0), calls=3)


def test_loop_with_a_break_in_it():
    def f(x, n):
        for i in range(n):
            x = x * 2 + i
            sys.getrefcount(None)
        return x

    check(f, np.arange(4.0), 6, calls=3)


def test_branch_takes_each_side():
    def f(x):
        y = x + 1
        if y.sum() > 0:
            return y * 2
        return y * 3

    compiled = pycompile.compile(f)
    for x in (np.ones(3), -np.ones(3) * 5, np.ones(3)):
        assert (compiled(x) == f(x)).all()


def test_deopt_raises_naturally():
    def f(x, y):
        with np.errstate(divide="raise"):
            return x / y

    check(f, np.ones(3), np.zeros(3), calls=3, captured=False)


def test_warning_of_a_division():
    def f(x, y):
        return x / y + 1

    check(f, np.ones(3), np.zeros(3), calls=3, captured=False)


def test_repeated_deopts_pause_the_plan():
    @pycompile.compile
    def f(x, y):
        return x / y + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(40):
            f(np.ones(3), np.zeros(3))
    assert f.stats()["deopts"] < 40


@pytest.mark.usefixtures("a_plan_for_each_shape")
def test_limit_warns_once():
    @pycompile.compile(options={"recompile_limit": 3})
    def f(x):
        return x + 1

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for n in range(1, 8):
            assert f(np.ones(n)).shape == (n,)
    assert [w.category.__name__ for w in seen] == ["PycompileWarning"]
    assert f.stats()["plans"] == 3


def test_failed_guard_is_the_reason():
    @pycompile.compile
    def f(x):
        return x + 1

    _C.report_begin()
    f(np.ones(3))
    f(np.ones(4))
    records = _C.report_end()
    assert records[0].get("recompile") is None
    assert records[1]["recompile"].startswith("x.shape[0] == 3, now 4 (test_run.py:")


def test_no_array_work_is_left_alone():
    @pycompile.compile
    def f(n):
        total = 0
        for i in range(n):
            total += i
        return total

    for _ in range(5):
        assert f(10) == 45
    assert f.stats()["compiles"] <= 2 and f.stats()["plans"] == 0


class Nowhere:
    """A stream that runs Python code: printing to it is a break, whatever stdout is."""

    def write(self, text):
        pass


NOWHERE = Nowhere()


def test_fullgraph():
    @pycompile.compile(fullgraph=True)
    def f(x):
        y = x + 1
        print(y, file=NOWHERE)
        return y

    with pytest.raises(pycompile.GraphBreakError) as info:
        f(np.ones(3))
    assert info.value.code == "PC0021" and info.value.file == __file__
    assert info.value.line == f.__code__.co_firstlineno + 3


def test_reset_during_a_call():
    def f(x):
        y = x * 2
        pycompile.reset()
        return y + 1

    check(f, np.arange(3.0), calls=3)


def test_reentrant_call_at_a_break():
    def f(x, n):
        y = x * 2
        if n:
            y = y + compiled(y, n - 1)
        return y + 1

    compiled = pycompile.compile(f)

    def plain(x, n):
        y = x * 2
        if n:
            y = y + plain(y, n - 1)
        return y + 1

    x = np.arange(3.0)
    for _ in range(2):
        assert (compiled(x, 3) == plain(x, 3)).all()


def test_results_own_what_numpy_says():
    def f(x):
        a = x + 1.0
        b = x + 1.0
        return a, b, a.T, x, x[:], x.T, +x, a

    check(f, np.arange(12.0).reshape(3, 4), calls=2)


def test_arrays_written_with_each_other():
    def f(x, y):
        x[:], y[:] = y * 1, x * 1

    def g(x):
        x[1:] = x[:-1]
        return x

    check(f, np.arange(4.0), np.ones(4), calls=3)
    check(g, np.arange(6.0), calls=3)


def test_threads_share_a_plan():
    """Each has lengths of its own."""

    def plain(x):
        y = (x * 2 + 1) * x
        return y[1:], (y * x)[:-1]

    f = pycompile.compile(plain, dynamic=True, options={"plan_always": True})
    arrays = [np.arange(200_000.0 + i % 2) for i in range(4)]
    f(arrays[0])
    bad = []

    def work(x):
        wanted = plain(x)
        for _ in range(10):
            bad.extend(not np.array_equal(*both) for both in zip(f(x), wanted))

    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(bad) == 80 and not any(bad)


def test_nothing_is_kept():
    def run():
        @pycompile.compile
        def f(x):
            y = x * 2
            print(end="", file=NOWHERE)
            return y + 1

        for n in range(1, 4):
            f(np.ones(n))
        return weakref.ref(f), weakref.ref(f.__wrapped__)

    refs = run()
    gc.collect()
    assert all(ref() is None for ref in refs)


def test_references_are_flat():
    def f(x):
        y = x * 2
        print(end="", file=NOWHERE)
        return y + x

    compiled = pycompile.compile(f)
    x = np.arange(3.0)
    for _ in range(5):
        compiled(x)
    before = sys.getrefcount(x), sys.getrefcount(f), sys.getrefcount(f.__code__)
    for _ in range(100):
        compiled(x)
    assert (sys.getrefcount(x), sys.getrefcount(f), sys.getrefcount(f.__code__)) == before


@pytest.mark.parametrize("backend", ["eager", "python"])
def test_backends(backend):
    seen = []

    def python(graph, inputs):
        seen.append(str(graph))
        return lambda x, y: [x * y, (x * y).sum()]

    def f(x, y):
        z = x * y
        return z, z.sum()

    compiled = pycompile.compile(f, backend=python if backend == "python" else backend)
    x, y = np.arange(4.0), np.full(4, 3.0)
    for _ in range(2):
        z, total = compiled(x, y)
        assert (z == x * y).all() and total == 18.0 and type(total) is np.float64
    assert compiled.stats()["plan_runs"] == 2
    assert bool(seen) == (backend == "python")


def test_a_value_without_array_work_does_not_speak_for_others():
    def f(x, flag):
        if flag:
            return x * 2 + 1
        return None

    compiled = pycompile.compile(f)
    x = np.arange(3.0)
    for flag in (0, 0, 1, 0, 1, 1):
        assert (compiled(x, flag) is None) == (not flag)
    assert compiled.stats()["plan_runs"] == 3


def test_our_warnings_are_never_raised():
    """With warnings made errors, the program still runs as it would without us."""

    def f(x, n):
        return x.reshape(n, -1) * 2

    compiled = pycompile.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(1, 21):
            x = np.arange(n * 3.0)
            assert np.array_equal(compiled(x, n), f(x, n))
