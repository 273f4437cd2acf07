"""The hook: armed across one call only, stepping aside for whatever watches or interrupts."""

import signal
import sys
import threading
import time
import traceback

import pytest

from pycompile import _C


def add(a, b=2, *, c=3):
    return a + b + c


def taken(function, *args, **kwargs):
    """The result and whether the hook handed the frame over."""
    trace = []
    result = _C._drive(function, args, kwargs, -1, "resume", None, trace)
    assert not _C._hook_is_armed()
    return result, bool(trace)


def test_frames_are_handed_over():
    assert taken(add, 1) == (6, True)
    assert taken(add, 1, 2, c=4) == (7, True)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), ((1, 2, 3), {}), ((1,), {"d": 1}), ((1,), {"a": 1})],
    ids=["few", "many", "unknown", "twice"],
)
def test_arguments_that_do_not_fit(args, kwargs):
    with pytest.raises(TypeError) as plain:
        add(*args, **kwargs)
    with pytest.raises(TypeError) as driven:
        _C._drive(add, args, kwargs)
    assert str(driven.value) == str(plain.value)
    assert not _C._hook_is_armed()


def test_binding_that_runs_python():
    class Key(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            assert add(0) == 5  # other frames pass the armed hook by
            return str.__eq__(self, other)

    assert taken(add, **{Key("a"): 1}) == (6, True)


def test_binding_that_calls_the_same_function():
    class Key(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            add(0)
            return str.__eq__(self, other)

    assert taken(add, **{Key("a"): 1})[0] == 6


def test_generators_and_coroutines_are_plain_calls():
    def generator(n):
        yield n

    async def coroutine(n):
        return n

    found, was = taken(generator, 4)
    assert (list(found), was) == ([4], False)
    found, was = taken(coroutine, 4)
    assert was is False
    with pytest.raises(StopIteration):
        found.send(None)


def test_nested_calls():
    def inner(x):
        assert not _C._hook_is_armed()
        return x + 1

    def outer(x):
        assert not _C._hook_is_armed()
        value, was = taken(inner, x)
        assert was
        return value * 2

    assert taken(outer, 1) == (4, True)


def test_exceptions_disarm():
    def fails():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        taken(fails)
    assert not _C._hook_is_armed()


def test_calls_are_offered():
    class Thing:
        def method(self, x):
            return x

    def callee(x, **kw):
        return x

    def caller(thing):
        extra = {"k": 1}
        return (
            callee(1),
            callee(*[2]),
            callee(3, k=1),
            callee(4, **extra),
            thing.method(5),
            len("abc"),
        )

    seen = []
    assert _C._drive(caller, (Thing(),), {}, -1, "resume", None, [], seen.append) == (
        1,
        2,
        3,
        4,
        5,
        3,
    )
    assert seen == [callee, callee, callee, callee, Thing.method, len]


def test_bound_method_in_a_variable_is_opened():
    class Thing:
        def method(self, x):
            return x

    def caller(bound):
        return bound(5)

    seen = []
    assert _C._drive(caller, (Thing().method,), {}, -1, "resume", None, [], seen.append) == 5
    assert seen == [Thing.method]


# ---- stepping aside ----


def traced_events(call):
    events = []

    def tracer(frame, event, arg):
        if frame.f_code is add.__code__:
            events.append((event, frame.f_lineno))
        return tracer

    sys.settrace(tracer)
    try:
        call()
    finally:
        sys.settrace(None)
    return events


def test_tracing():
    trace = []
    expected = traced_events(lambda: add(1))
    assert traced_events(lambda: _C._drive(add, (1,), {}, -1, "resume", None, trace)) == expected
    assert expected and trace == []
    assert taken(add, 1) == (6, True)


def test_profiling():
    def profiled(call):
        events = []
        sys.setprofile(
            lambda frame, event, arg: events.append(event) if frame.f_code is add.__code__ else None
        )
        try:
            call()
        finally:
            sys.setprofile(None)
        return events

    trace = []
    expected = profiled(lambda: add(1))
    assert (
        profiled(lambda: _C._drive(add, (1,), {}, -1, "resume", None, trace))
        == expected
        == ["call", "return"]
    )
    assert trace == []


def test_local_monitoring():
    if sys.version_info < (3, 12):
        return  # sys.monitoring came with 3.12
    monitoring, tool = sys.monitoring, sys.monitoring.PROFILER_ID
    events, trace = [], []
    monitoring.use_tool_id(tool, "test")
    monitoring.register_callback(
        tool, monitoring.events.PY_START, lambda *found: events.append(found)
    )
    monitoring.set_local_events(tool, add.__code__, monitoring.events.PY_START)
    try:
        assert not _C._thread_is_plain(add.__code__)
        _C._drive(add, (1,), {}, -1, "resume", None, trace)
        assert trace == [] and len(events) == 1
    finally:
        monitoring.set_local_events(tool, add.__code__, 0)
        monitoring.free_tool_id(tool)
    assert taken(add, 1) == (6, True)


def test_tracing_switched_on_inside():
    def callee(events):
        frame = sys._getframe(1)

        def tracer(frame, event, arg):
            events.append((event, frame.f_lineno - base))
            return tracer

        base = frame.f_code.co_firstlineno
        frame.f_trace = tracer
        sys.settrace(tracer)

    def caller(events):
        callee(events)
        x = 1
        x += 2
        sys.settrace(None)
        return x

    plain, driven = [], []
    assert caller(plain) == 3
    assert _C._drive(caller, (driven,), {}) == 3
    assert [event for event in driven if event in plain] == plain
    assert driven[: len(plain)] == plain


def test_foreign_hook_stays():
    if sys.version_info < (3, 12):
        return  # perf trampolines came with 3.12
    try:
        sys.activate_stack_trampoline("perf")
    except ValueError:
        return  # not on this platform
    try:
        trace = []
        assert _C._drive(add, (1,), {}, -1, "resume", None, trace) == 6
        assert trace == []
    finally:
        sys.deactivate_stack_trampoline()
    assert taken(add, 1) == (6, True)


# ---- signals, threads, recursion ----


def spin(seconds, log):
    end = time.monotonic() + seconds
    n = 0
    while time.monotonic() < end and not log:
        n += 1
    return n


def test_signal_in_stepped_code_runs_with_the_user_frame():
    log = []
    old = signal.signal(signal.SIGVTALRM, lambda number, frame: log.append(frame.f_code.co_name))
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.02)
    try:
        _C._drive(spin, (2.0, log), {})
    finally:
        signal.signal(signal.SIGVTALRM, old)
    assert log == ["spin"]


def test_signal_handler_that_raises():
    def handler(number, frame):
        raise KeyboardInterrupt

    def caught(log):
        try:
            signal.raise_signal(signal.SIGALRM)
        except KeyboardInterrupt as error:
            entry = error.__traceback__
            names = []
            while entry is not None:
                names.append(entry.tb_frame.f_code.co_name)
                entry = entry.tb_next
            return names

    old = signal.signal(signal.SIGALRM, handler)
    try:
        assert caught([]) == ["caught", "handler"]
        assert _C._drive(caught, ([],), {}) == ["caught", "handler"]
    finally:
        signal.signal(signal.SIGALRM, old)


def test_signal_pending_at_the_start():
    """A signal that comes between the caller's check and the callee's start is the callee's."""

    class Arrives(Exception):
        pass

    seen = []

    def handler(number, frame):
        seen.append((frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno))
        raise Arrives

    def target(value):
        return value

    def lines(call):
        try:
            call()
        except Arrives as error:
            return [(e.name, e.lineno) for e in traceback.extract_tb(error.__traceback__)][2:]
        return None

    old = signal.signal(signal.SIGUSR1, handler)
    try:
        found = lines(
            lambda: _C._drive(target, (1,), {}, -1, "resume", None, [], None, signal.SIGUSR1)
        )
    finally:
        signal.signal(signal.SIGUSR1, old)
    assert seen == [("target", 0)]
    assert [name for name, _ in found] == ["target", "handler"]
    assert not _C._hook_is_armed()
    assert taken(target, 1) == (1, True)


def test_stepped_code_gives_the_gil_away():
    log = []
    other = threading.Thread(target=lambda: (time.sleep(0.02), log.append("other")))
    other.start()
    _C._drive(spin, (5.0, log), {})
    other.join()
    assert log == ["other"]


def test_threads_driving_at_once():
    def work(n):
        total = 0
        for i in range(n):
            total += i
        return total

    failures = []

    def run():
        for _ in range(200):
            if _C._drive(work, (50,), {}) != 1225:
                failures.append(1)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    assert not failures and not _C._hook_is_armed()


def test_async_exception_is_raised_in_the_stepped_code():
    import ctypes

    class Stop(Exception):
        pass

    def loop(ident):
        try:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(ident), ctypes.py_object(Stop)
            )
            for _ in range(10_000):
                pass
        except Stop as error:
            entries = []
            entry = error.__traceback__
            while entry is not None:
                entries.append(entry.tb_frame.f_code.co_name)
                entry = entry.tb_next
            return entries

    assert _C._drive(loop, (threading.get_ident(),), {}) == ["loop"]


def test_recursion_to_the_limit():
    def down(n):
        return 0 if n == 0 else 1 + _C._drive(down, (n - 1,), {})

    assert down(50) == 50
    with pytest.raises(RecursionError):
        down(100_000)
    assert not _C._hook_is_armed()
    assert down(50) == 50


def test_recursion_that_the_c_stack_cannot_hold():
    def down(n):
        return 0 if n == 0 else 1 + _C._drive(down, (n - 1,), {})

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    try:
        with pytest.raises(RecursionError):
            down(150_000)
    finally:
        sys.setrecursionlimit(limit)
    assert down(50) == 50
