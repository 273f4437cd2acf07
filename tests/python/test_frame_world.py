"""What called code sees of a stepped frame, and what it may do to it."""

import inspect
import sys
import traceback
import warnings
import weakref

from pycompile import _C


def both(function, *arguments):
    """The plain and the driven result, each with arguments of its own."""
    plain = function(*(make() for make in arguments))
    driven = _C._drive(function, tuple(make() for make in arguments), {})
    assert not _C._hook_is_armed()
    return plain, driven


def look(log):
    frame = sys._getframe(1)
    log.append((frame.f_code.co_name, frame.f_lineno, dict(frame.f_locals).keys()))


def looks(log):
    a = 1  # noqa: F841
    look(log)
    for i in range(2):
        look(log)
        b = i  # noqa: F841
    return [(name, line, sorted(names)) for name, line, names in log]


def test_line_and_locals():
    plain, driven = both(looks, list)
    assert plain == driven


def test_frame_kept_after_return():
    def keeps(out):
        x = 5
        out.append(sys._getframe())
        x = 6  # noqa: F841
        return out

    def looked(out):
        (frame,) = out
        return frame.f_locals["x"], frame.f_lineno, frame.f_code.co_name

    plain, driven = both(keeps, list)
    assert looked(plain) == looked(driven)


def test_stack_names():
    def names():
        return [frame.function for frame in inspect.stack(0)][:2]

    def calls():
        return names()

    plain, driven = both(calls)
    assert plain == driven == ["names", "calls"]


def test_locals_eval_super():
    class Base:
        def f(self):
            return "base"

    class Child(Base):
        def f(self):
            n = 3
            return super().f(), eval("n + 1"), sorted(locals())

    child = Child()
    assert _C._drive(Child.f, (child,), {}) == child.f()


def test_warning_line():
    def warns():
        warnings.warn("watch out", stacklevel=1)
        helper()

    def helper():
        warnings.warn("from below", stacklevel=2)

    def caught(call):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call()
        return [(str(w.message), w.lineno, w.filename) for w in found]

    assert caught(warns) == caught(lambda: _C._drive(warns, (), {}))


def test_traceback_through_a_callee():
    def fails(x):
        return x / 0

    def caller(x):
        y = x
        return [
            1,
            fails(y),
        ]

    def lines(call):
        try:
            call()
        except ZeroDivisionError as error:
            return [
                (e.name, e.lineno, e.colno, e.end_colno)
                for e in traceback.extract_tb(error.__traceback__)
            ][2:]

    assert lines(lambda: caller(1)) == lines(lambda: _C._drive(caller, (1,), {}))


def test_writing_locals_from_below():
    def writes():
        sys._getframe(1).f_locals["x"] = 10

    def caller():
        x = 1
        writes()
        return x

    plain, driven = both(caller)
    assert plain == driven == (10 if sys.version_info >= (3, 13) else 1)


def test_destructors_run_where_they_would():
    def scene(log):
        class Loud:
            def __init__(self, name):
                self.name = name

            def __del__(self):
                log.append((self.name, sys._getframe(1).f_lineno))

        a = Loud("a")
        a = Loud("b")
        del a
        Loud("c")
        x = [Loud("d"), Loud("e")]
        x.pop()
        x[0] = None
        (Loud("f"), Loud("g"))
        return log

    plain, driven = both(scene, list)
    assert plain == driven


def test_nothing_is_kept():
    class Thing:
        pass

    def uses(thing):
        things = [thing for _ in range(3)]
        return len(things)

    thing = Thing()
    gone = weakref.ref(thing)
    assert _C._drive(uses, (thing,), {}) == 3
    del thing
    assert gone() is None


def flat(function, calls=20_000):
    """References to a function, its code and its arguments stay what they were."""
    argument = [1.5, 2.5]
    before = [sys.getrefcount(o) for o in (function, function.__code__, argument)]
    blocks = sys.getallocatedblocks()
    for _ in range(calls):
        function(argument)
    after = [sys.getrefcount(o) for o in (function, function.__code__, argument)]
    assert before == after
    assert abs(sys.getallocatedblocks() - blocks) < 1000


def leak_target(x):
    try:
        for y in x:
            if y > 2:
                more = {"j": x}
                z = {"k": y, **more}
        return f"{y} {len(z)}"
    except ZeroDivisionError:
        return None


def test_leaks_of_stepping():
    flat(lambda argument: _C._drive(leak_target, (argument,), {}))


def test_leaks_of_resuming_in_the_middle():
    flat(lambda argument: _C._drive(leak_target, (argument,), {}, 9))


def test_leaks_of_returning():
    flat(lambda argument: _C._drive(leak_target, (argument,), {}, 9, "return", argument))


def test_leaks_of_raising():
    def caught(argument):
        _C._drive(leak_target, (argument,), {}, 6, "raise", ZeroDivisionError())

    def uncaught(argument):
        try:
            _C._drive(leak_target, (argument,), {}, 6, "raise", KeyError())
        except KeyError:
            pass

    flat(caught)
    flat(uncaught)


def test_function_and_code_references():
    counts = [sys.getrefcount(leak_target), sys.getrefcount(leak_target.__code__)]
    for steps in (-1, 0, 5, 9):
        for action in ("resume", "return"):
            for _ in range(100):
                _C._drive(leak_target, ([1.0, 3.0],), {}, steps, action, None)
    assert counts == [sys.getrefcount(leak_target), sys.getrefcount(leak_target.__code__)]
