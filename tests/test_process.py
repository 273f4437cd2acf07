"""What surrounds a call: fork, recursion, pickling, tracing, profiling, monitoring, signals."""

import cProfile
import ctypes
import functools
import itertools
import multiprocessing
import operator
import os
import pickle
import pstats
import signal
import subprocess
import sys

import numpy as np
import pytest
from differential import check, compiled_calls

import pycompile


@pycompile.compile
def smooth(x, weight):
    """Mixes neighbours."""
    return x[1:] * weight + x[:-1] * (1 - weight)


def smooth_plain(x, weight):
    return x[1:] * weight + x[:-1] * (1 - weight)


LARGE = np.linspace(0.0, 1.0, 500_000)


def in_child(function):
    """What `function` returned in a forked child, or its failure as text."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            result = pickle.dumps(function())
        except BaseException as error:
            result = pickle.dumps(repr(error))
        os.write(write, result)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(data)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork with threads, which is the point
def test_fork_after_the_pool_has_started():
    wanted = smooth_plain(LARGE, 0.3)
    assert smooth(LARGE, 0.3).tobytes() == wanted.tobytes()
    for _ in range(3):
        assert in_child(lambda: smooth(LARGE, 0.3).tobytes() == wanted.tobytes()) is True
    assert smooth(LARGE, 0.3).tobytes() == wanted.tobytes()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_before_the_first_call():
    pycompile.reset()
    wanted = smooth_plain(LARGE, 0.7)
    assert in_child(lambda: smooth(LARGE, 0.7).tobytes() == wanted.tobytes()) is True


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_pool_of_processes():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.starmap(smooth, [(LARGE[: 1000 * i], 0.5) for i in range(1, 5)])
    for i, result in enumerate(found, 1):
        assert result.tobytes() == smooth_plain(LARGE[: 1000 * i], 0.5).tobytes()


def test_pickle_goes_by_name():
    again = pickle.loads(pickle.dumps(smooth))
    assert again is smooth


def test_pickle_of_a_bound_method():
    model = pickle.loads(pickle.dumps(Model(2.0).apply))
    assert (model(np.ones(3)) == 3.0).all()


class Model:
    def __init__(self, scale):
        self.scale = scale

    @pycompile.compile
    def apply(self, x):
        return x * self.scale + 1


def descend(x, depth):
    y = x + 1
    if depth == 0:
        return y
    return descend(y, depth - 1)


def test_recursion_of_a_compiled_function():
    check(descend, np.zeros(3), 20, captured=False)


def endless(x):
    y = x + 1
    return endless(y)


def test_recursion_limit():
    plain_depth = []

    def depth_of(function):
        try:
            function(np.zeros(2))
        except RecursionError as error:
            depth, trace = 0, error.__traceback__
            while trace is not None:
                depth, trace = depth + 1, trace.tb_next
            plain_depth.append(depth)
            return str(error)
        return None

    text = depth_of(endless)
    compiled = pycompile.compile(endless)
    for _ in range(3):
        assert depth_of(compiled) == text
    assert max(plain_depth) - min(plain_depth) <= 5, plain_depth


def test_recursion_through_the_compiled_name():
    @pycompile.compile
    def down(x, n):
        y = x * 2
        if n == 0:
            return y
        return down(y, n - 1) + 1

    def plain(x, n):
        y = x * 2
        return y if n == 0 else plain(y, n - 1) + 1

    for n in (0, 3, 50, 3):
        assert down(np.ones(3), n).tobytes() == plain(np.ones(3), n).tobytes()


def traced(function, *args):
    """The line events inside `function`."""
    code = function.__code__ if hasattr(function, "__code__") else function.__wrapped__.__code__
    lines = []

    def tracer(frame, event, argument):
        if frame.f_code is code:
            lines.append((event, frame.f_lineno - code.co_firstlineno))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        function(*args)
    finally:
        sys.settrace(before)
    return lines


def test_settrace_sees_every_line():
    x = np.arange(8.0)

    def f(x):
        y = x + 1
        z = y * 2
        for i in range(3):
            z = z + i
        return z

    compiled = pycompile.compile(f)
    compiled(x)
    compiled(x)
    assert traced(compiled, x) == traced(f, x)
    assert compiled(x).tobytes() == f(x).tobytes()


def test_profile_counts_the_calls():
    def helper(x):
        return x * 2

    def f(x):
        return helper(x) + helper(x)

    compiled = pycompile.compile(f)
    x = np.arange(4.0)
    compiled(x)
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(5):
        compiled(x)
    profile.disable()
    calls = {name[2]: row[0] for name, row in pstats.Stats(profile).stats.items()}
    assert calls["helper"] == 10 and calls["f"] == 5


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_monitoring_sees_the_lines():
    def f(x):
        y = x + 1
        return y * 2

    compiled = pycompile.compile(f)
    x = np.arange(4.0)
    compiled(x)
    seen = []
    tool = sys.monitoring.PROFILER_ID
    sys.monitoring.use_tool_id(tool, "test")
    try:
        sys.monitoring.register_callback(
            tool, sys.monitoring.events.LINE, lambda code, line: seen.append(line)
        )
        sys.monitoring.set_local_events(tool, f.__code__, sys.monitoring.events.LINE)
        compiled(x)
        sys.monitoring.set_local_events(tool, f.__code__, 0)
    finally:
        sys.monitoring.free_tool_id(tool)
    first = f.__code__.co_firstlineno
    assert seen == [first + 1, first + 2]
    assert compiled(x).tobytes() == f(x).tobytes()


def test_signal_handler_runs_and_may_raise():
    class Alarm(Exception):
        pass

    def handler(number, frame):
        raise Alarm

    @pycompile.compile
    def f(x):
        y = x
        while True:
            y = y + 1

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Alarm):
            f(np.zeros(3))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_signal_handler_at_the_start_reads_the_locals():
    """The signal comes while C calls function after function: the compiled one meets it first."""
    factor = 3.0

    @pycompile.compile
    def f(x):
        return np.exp(x) * factor + x

    x = np.arange(4.0)
    for _ in range(5):
        wanted = f(x)
    raised = functools.partial(ctypes.PyDLL(None)["raise"], signal.SIGUSR1)
    seen = []

    def handler(number, frame):
        seen.append((frame.f_code.co_name, dict(frame.f_locals)))

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        (result,) = map(f, map(operator.getitem, [[x]], itertools.starmap(raised, [()])))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert np.array_equal(result, wanted)
    assert len(seen) == 1
    name, names = seen[0]
    assert (name, sorted(names)) == ("f", ["factor", "x"])
    assert names["x"] is x and names["factor"] == 3.0


def run_child(code, **variables):
    environment = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )


def test_exit_with_compiled_functions_alive():
    code = """
import numpy as np, pycompile
@pycompile.compile
def f(x):
    return np.tanh(x + 1).sum()
class Last:
    def __del__(self):
        f(np.ones(300000))
f(np.ones(300000))
last = Last()
"""
    done = run_child(code)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_compiled_calls_are_counted():
    pycompile.reset()
    smooth(LARGE[:10], 0.3)
    smooth(LARGE[:10], 0.3)
    assert compiled_calls(smooth) >= 1


@pytest.mark.slow
def test_exit_while_threads_are_in_plans():
    code = """
import threading, time
import numpy as np, pycompile
@pycompile.compile
def f(x):
    return np.tanh(x + 1).sum()
def run():
    while True:
        f(np.ones(300000))
for _ in range(4):
    threading.Thread(target=run, daemon=True).start()
f(np.ones(10))
time.sleep(0.3)
"""
    done = run_child(code)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_subinterpreters_are_refused():
    code = """
import numpy, pycompile
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
name = interpreters.create()
failed = None
try:
    failed = interpreters.run_string(name, "import pycompile._C")
except Exception as error:
    failed = error
assert failed is not None
interpreters.destroy(name)
import numpy as np
f = pycompile.compile(lambda x: x * 2 + 1)
assert (f(np.ones(3)) == 3).all() and (f(np.ones(3)) == 3).all()
"""
    done = run_child(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_while_threads_compile():
    import threading

    stop = threading.Event()

    def run():
        while not stop.is_set():
            pycompile.reset()
            smooth(LARGE[:1000], 0.2)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wanted = smooth_plain(LARGE, 0.4)
        for _ in range(3):
            assert in_child(lambda: smooth(LARGE, 0.4).tobytes() == wanted.tobytes()) is True
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("what", ["_C.hints()", "pycompile.reset()"])
def test_code_that_dies_runs_the_programs_code(what):
    """An object without weak references dies, while there are states of the code that used it: one of
    them per set of options."""
    code = f"""
import numpy as np, pycompile
from pycompile import _C
class Last:
    __slots__ = ("factor",)
    def __init__(self):
        self.factor = 2.0
    def __del__(self):
        {what}
        print("gone")
namespace = {{"last": Last()}}
exec("def f(x):\\n y = x + 1\\n eval('0')\\n return y * last.factor", namespace)
f = namespace["f"]
for threads in (1, 2, 3):
    pycompile.compile(f, options={{"plan_always": True, "threads": threads}})(np.ones(3))
del namespace["last"]
print("held")
del namespace["f"], f
"""
    done = run_child(code, PYTHONMALLOC="debug")
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("gone\nheld\n", "")


def test_code_that_is_replaced_calls_the_function():
    """The old code goes when the function is called with its new one, and calls it meanwhile."""
    code = """
import numpy as np, pycompile
class Last:
    def __del__(self):
        print(g(1.0))
        f.__code__ = (lambda x: x + 3).__code__
        print(g(1.0))
def f(x): return x + 1
g = pycompile.compile(f)
f.__code__ = f.__code__.replace(co_consts=(*f.__code__.co_consts, Last()))
print(g(1.0))
f.__code__ = (lambda x: x + 2).__code__
print(g(1.0))
"""
    done = run_child(code, PYTHONMALLOC="debug")
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("2.0\n3.0\n4.0\n4.0\n", "")


@pytest.mark.parametrize("stands_there", ["object()", "None", "type(sys)('enum')", "Fake()"])
def test_what_is_no_module_stands_for_enum(stands_there):
    """sys.modules is the program's: anything may stand in it under the name."""
    done = run_child(
        f"""
import enum, sys
import numpy as np
import pycompile

class Fake:
    EnumType = 3

class Colour(enum.Enum):
    RED = 1

def f(x, colour):
    return np.sqrt(x) * 2 + (1 if colour is Colour.RED else Colour(1).value)

x = np.ones(3000)
wanted = f(x, Colour.RED)
sys.modules["enum"] = {stands_there}
compiled = pycompile.compile(f, options={{"plan_always": True}})
print(all(np.array_equal(compiled(x, Colour.RED), wanted) for _ in range(3)))
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True\n"
