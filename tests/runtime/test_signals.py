"""Signals while a plan runs: seen between its steps, and nothing is half done.

Each test lets a timer go off in the midst of a call that takes long.  On a busy machine it may go
off before the plan begins or when it is done: what must hold does so all the same.
"""

import contextlib
import signal
import subprocess
import sys
import threading
import time
import traceback
import types

import numpy as np
import pytest

import pycompile

A = np.random.default_rng(0).standard_normal(20_000)
STEPS = 80


class Stop(BaseException):
    """What a handler raises."""


def sums(x, out):
    for _ in range(STEPS):
        x = np.cumsum(x * 0.5) + A
    out += 1
    out[0] = x[:150]
    return x


def caught(x, out):
    try:
        y = x + A
        for _ in range(STEPS):
            y = np.cumsum(y * 0.5) + A
        out += 1
        out[0] = y[:150]
    except Stop:
        return "stopped", out.sum()
    return "ended", out.sum()


def behind_a_break(x, out, log):
    before = x * A
    log.append(len(str(before.flags)))
    y = before
    for _ in range(STEPS):
        y = np.cumsum(y * 0.5) + A
    out += 1
    out[0] = y[:150]
    return y


@contextlib.contextmanager
def timer(seconds, handler):
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def stop(number, frame):
    raise Stop


def arguments(function):
    more = ([],) if function is behind_a_break else ()
    return A.copy(), np.zeros((2, 150)), *more


def prepared(function):
    """A copy of the function, compiled and warm, and the seconds that a call takes at least."""
    pycompile.reset()
    copy = types.FunctionType(function.__code__.replace(), function.__globals__)
    compiled = pycompile.compile(copy)
    least = 1e9
    for _ in range(4):
        args = arguments(function)
        began = time.perf_counter()
        compiled(*args)
        least = min(least, time.perf_counter() - began)
    assert compiled.stats()["deopts"] == 0 and compiled.stats()["plan_runs"] > 0
    return compiled, least


def interruptions(function, handler, check):
    """Calls with a timer that goes off after different times; how many plans it ended."""
    compiled, least = prepared(function)
    for number in range(60):
        if compiled.stats()["deopts"] >= 12:  # more than would drop a plan
            break
        part = 0.2 + number % 7 / 10
        args, before = arguments(function), compiled.stats()["deopts"]
        ended = lambda: compiled.stats()["deopts"] > before
        try:
            with timer(least * part, handler):
                result = compiled(*args)
        except Stop as error:
            check(None, args, error, ended())
        else:
            check(result, args, None, ended())
    assert compiled.stats()["compiles"] <= 3  # no plan was dropped
    return compiled.stats()["deopts"]


@pytest.mark.parametrize("function", [sums, behind_a_break])
def test_a_handler_that_raises(function):
    lines = function.__code__.co_firstlineno, max(k[2] or 0 for k in function.__code__.co_lines())

    def check(result, args, error, ended=False):
        x, out = args[:2]
        assert np.array_equal(x, A)
        if error is None:
            assert (out[1] == 1).all()
            return
        if ended:
            assert not out.any(), "written by a plan that did not end"
        else:  # before or after the plan
            assert not out.any() or (out[1] == 1).all()
        mine = [f for f in traceback.extract_tb(error.__traceback__) if f.name == function.__name__]
        assert len(mine) <= 1
        for frame in mine:  # the first line is where a frame that begins asks for signals
            assert lines[0] <= frame.lineno <= lines[1]

    assert interruptions(function, stop, check) > 0


@pytest.mark.parametrize("function", [sums, caught, behind_a_break])
def test_a_handler_that_returns(function):
    """The program goes on as though nothing had been."""
    wanted_args = arguments(function)
    wanted = function(*wanted_args)
    seen = []

    def check(result, args, error, ended=False):
        assert error is None
        for made, plain in zip(args, wanted_args, strict=True):
            assert np.array_equal(made, plain)
        if function is caught:
            assert result == wanted
        else:
            assert result.tobytes() == wanted.tobytes()

    assert interruptions(function, lambda number, frame: seen.append(number), check) > 0
    assert seen


def test_what_a_handler_changes_is_seen():
    """It runs before the plan's writes, which then start from what it leaves."""
    shared = {}

    def change(number, frame):
        shared["out"][1] += 10
        shared["came"] = True

    def check(result, args, error, ended=False):
        assert error is None
        if shared.pop("came", False):
            assert (args[1][1] == 11).all()

    compiled, least = prepared(sums)
    for part in (0.3, 0.5, 0.7):
        args = arguments(sums)
        shared["out"] = args[1]
        with timer(least * part, change):
            result = compiled(*args)
        check(result, args, None)


def test_a_try_behind_the_entry_catches_it():
    def check(result, args, error, ended=False):
        if error is None:
            assert result[0] in ("ended", "stopped")
            assert result[1] == args[1].sum() and args[1].any() == (result[0] == "ended")

    assert interruptions(caught, stop, check) > 0


def test_the_frame_is_at_the_entry():
    """Locals are those of the plan's beginning."""
    found = []

    def look(number, frame):
        if frame.f_code.co_name == behind_a_break.__name__:
            found.append((frame.f_lineno, sorted(frame.f_locals)))
        raise Stop

    interruptions(behind_a_break, look, lambda *unused: None)
    first = behind_a_break.__code__.co_firstlineno
    for line, names in found:
        assert first <= line <= first + 8
        assert {"x", "out", "log"} <= set(names)


def test_other_threads_go_on():
    """Handlers are the main thread's: plans of others are not ended."""
    compiled, least = prepared(sums)
    results = []

    def work():
        for _ in range(3):
            results.append(compiled(*arguments(sums)))

    came = []
    thread = threading.Thread(target=work)
    with timer(least, lambda *unused: came.append(1)):
        thread.start()
        thread.join()
    assert len(results) == 3 and compiled.stats()["deopts"] == 0


LONG = """
import numpy as np, pycompile
@pycompile.compile
def f(x, a):
    for _ in range(150):
        x = x @ a
    return x
a = np.random.default_rng(0).standard_normal((1000, 1000)) / 32
f(a[:9, :9].copy(), a[:9, :9].copy())
print("ready", flush=True)
f(a, a)
"""


@pytest.mark.slow
def test_interrupt_ends_a_long_plan():
    child = subprocess.Popen(
        [sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.7)
    child.send_signal(signal.SIGINT)
    errors = child.communicate()[1]
    assert child.returncode != 0 and "KeyboardInterrupt" in errors
    assert "in f\n" in errors, "raised when the plan had ended: " + errors
