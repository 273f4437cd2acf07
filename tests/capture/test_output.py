"""Prints, log calls and warnings out of inlined functions and after writes: order, frames, failures."""

import contextlib
import importlib.util
import io
import logging
import sys
import traceback
import types
import warnings

import numpy as np
import pytest
from differential import check

import pycompile

log = logging.getLogger("tests.capture.output")
log.propagate = False


class Records(logging.Handler):
    """Code of the program: the graph ends at a call that it handles."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def emit(self, record):
        self.seen.append((record.funcName, record.lineno, record.pathname, record.getMessage()))


@contextlib.contextmanager
def handled(handler):
    before, log.handlers = log.handlers, [handler]  # pytest has some of its own there
    try:
        yield handler
    finally:
        log.handlers = before


def _tell(y):
    log.warning("sum %s", float(y.sum()))
    return y * 2


def tells(x):
    y = _tell(x + 1)
    log.warning("told")
    return y


def test_log_records_name_the_inlined_function():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(funcName)s %(lineno)d %(pathname)s %(message)s"))
    x, compiled = np.arange(3.0), pycompile.compile(tells)
    with handled(handler):
        for call in (tells, compiled, compiled, compiled):
            call(x)
    assert compiled.stats()["breaks"] == 0
    lines = stream.getvalue().splitlines()
    assert lines == lines[:2] * 4
    assert [line.split()[0] for line in lines[:2]] == ["_tell", "tells"]


class Looks(logging.Handler):
    """Notes what an array holds when something is logged."""

    def __init__(self, x):
        super().__init__()
        self.x, self.seen = x, []

    def emit(self, record):
        self.seen.append(self.x.tolist())


def writes(x):
    x[0] = 7.0
    log.warning("one")
    return x * 2


def writes_twice(x):
    x[0] = 7.0
    log.warning("one")
    x[1] = 8.0
    log.warning("two")
    return x * 2


@pytest.mark.parametrize("function", [writes, writes_twice])
def test_writes_are_done_when_a_handler_looks(function):
    seen = []
    compiled = pycompile.compile(function)
    for call in (function, compiled, compiled, compiled):
        x = np.arange(3.0)
        handler = Looks(x)
        with handled(handler):
            call(x)
        seen.append(handler.seen)
    assert seen == seen[:1] * 4 and seen[0][0] == [7.0, 1.0, 2.0]
    assert compiled.stats()["breaks"] > 0


class Box:
    value = 0


def stores(x, box):
    box.value = 1
    log.warning("one")
    box.value = 2
    return x * 2


def test_a_store_is_not_put_over_an_earlier_one_across_a_log_call():
    compiled = pycompile.compile(stores)
    for call in (stores, compiled, compiled):
        box, seen = Box(), []
        handler = Records()
        handler.emit = lambda record, box=box, seen=seen: seen.append(box.value)
        with handled(handler):
            call(np.arange(3.0), box)
        assert seen == [1] and box.value == 2


def _shout(y):
    print("\xe9", float(y.sum()))
    return y


def shouts(x):
    x[0] = 5.0
    return _shout(x * 2) + 1


def test_a_failing_print_in_an_inlined_function():
    seen = []
    compiled = pycompile.compile(shouts)
    for call in (shouts, compiled, compiled):
        x = np.arange(3.0)
        stream, out = io.TextIOWrapper(io.BytesIO(), encoding="ascii"), sys.stdout
        sys.stdout = stream
        try:
            with pytest.raises(UnicodeEncodeError) as info:
                call(x)
        finally:
            sys.stdout = out
        frames = traceback.extract_tb(info.value.__traceback__)
        seen.append([(f.name, f.lineno, f.colno, f.end_colno) for f in frames[1:]] + [x.tolist()])
    assert seen == seen[:1] * 3
    assert [frame[0] for frame in seen[0][:-1]] == ["shouts", "_shout"]


def _old(y):
    warnings.warn("of the caller", DeprecationWarning, stacklevel=2)
    warnings.warn("of itself", UserWarning, stacklevel=1)
    return y * 2


def warns(x):
    return _old(x) + 1


def test_warnings_name_their_lines():
    compiled = pycompile.compile(warns)
    seen = []
    for call in (warns, compiled, compiled):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(np.arange(3.0))
        seen.append([(w.category, str(w.message), w.filename, w.lineno) for w in caught])
    assert seen == seen[:1] * 3 and len(seen[0]) == 2
    assert compiled.stats()["breaks"] == 0


def test_a_warning_that_is_an_error():
    compiled = pycompile.compile(warns)
    with warnings.catch_warnings(record=True):
        compiled(np.arange(3.0))
    seen = []
    for call in (warns, compiled):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(DeprecationWarning) as info:
                call(np.arange(3.0))
        seen.append(
            [(f.name, f.lineno) for f in traceback.extract_tb(info.value.__traceback__)[1:]]
        )
    assert seen[0] == seen[1] and [name for name, _ in seen[0]] == ["warns", "_old"]


def test_a_number_whose_class_a_branch_decides():
    def f(x):
        s = 0.0
        for i in range(len(x)):
            if x[i] > 0:
                s += x[i]
        print("sum", s, [s])
        return x * 2 + s

    for x in (np.arange(-3.0, 6.0), -np.ones(9)):
        check(f, x, whole=True, options={"fullgraph": True, "options": {"plan_always": True}})


# ---- code of the program that runs where text goes ----

state = Box()


def bump(*_, **__):
    state.value += 10
    return "text"


class Bumps(logging.Handler):
    emit = bump


class BumpsWhenWritten(io.StringIO):
    write = bump


class BumpsWhenFormatted(logging.Formatter):
    format = bump


class BumpsWhenMade(UserWarning):
    def __init__(self, *_):
        bump()


class BumpsWhenShown(UserWarning):
    __str__ = bump


def stream_handler(stream=None, **attributes):
    handler = logging.StreamHandler(stream or io.StringIO())
    vars(handler).update(attributes)
    return handler


def logs(x):
    log.warning("a")
    return x + state.value


def logs_to_root(x):
    logging.warning("a")
    return x + state.value


def does_not_log(x):
    log.debug("a")
    return x + state.value


def shows(x):
    warnings.warn("a", stacklevel=1)
    return x + state.value


def shows_made(x):
    warnings.warn("a", BumpsWhenMade, stacklevel=1)
    return x + state.value


def shows_text(x):
    warnings.warn("a", BumpsWhenShown, stacklevel=1)
    return x + state.value


def writes_text(x):
    sys.stdout.write("a")
    return x + state.value


def prints_text(x):
    print("a")
    return x + state.value


def records(x):
    before = len(state.recorded)
    warnings.warn("a", stacklevel=1)
    return x + (len(state.recorded) - before)


class Filter:
    match = bump


PLAIN = [
    (logs, lambda: [(log, "handlers", [stream_handler()])]),
    (logs, lambda: [(log, "handlers", [logging.NullHandler()])]),
    (logs, lambda: [(sys, "stderr", io.StringIO())]),
    (does_not_log, lambda: [(log, "handlers", [Bumps()]), (log, "level", logging.WARNING)]),
    (logs, lambda: [(log, "handlers", [Bumps(logging.ERROR), stream_handler()])]),
    (shows, lambda: [(sys, "stderr", io.StringIO())]),
]
LOUD = [
    (logs, lambda: [(log, "handlers", [Bumps()])]),
    (logs, lambda: [(log, "handlers", [stream_handler(emit=bump)])]),
    (logs, lambda: [(log, "handlers", [stream_handler(BumpsWhenWritten())])]),
    (logs, lambda: [(log, "handlers", [stream_handler(filters=[bump])])]),
    (logs, lambda: [(log, "handlers", [stream_handler(formatter=BumpsWhenFormatted())])]),
    (logs, lambda: [(log, "handlers", [stream_handler()]), (log, "filters", [bump])]),
    (logs, lambda: [(log, "propagate", True), (logging.root, "handlers", [Bumps()])]),
    (logs, lambda: [(log, "handlers", []), (logging, "lastResort", Bumps())]),
    (logs, lambda: [(log, "handlers", []), (sys, "stderr", BumpsWhenWritten())]),
    (logs, lambda: [(logging, "_logRecordFactory", counted_record)]),
    (logs_to_root, lambda: [(logging.root, "handlers", [Bumps()])]),
    (shows, lambda: [(warnings, "showwarning", bump)]),
    (shows, lambda: [(warnings, "formatwarning", bump)]),
    (shows, lambda: [(warnings, "filters", [("always", Filter(), UserWarning, None, 0)])]),
    (shows, lambda: [(sys, "stderr", BumpsWhenWritten())]),
    (shows_made, list),
    (shows_text, list),
    (writes_text, lambda: [(sys, "stdout", BumpsWhenWritten())]),
    (prints_text, lambda: [(sys, "stdout", BumpsWhenWritten())]),
    (records, list),
]


def counted_record(*args):
    bump()
    return logging.LogRecord(*args)


def shown_by_python():
    """What shows warnings where nobody records them, as pytest does."""
    spec = importlib.util.spec_from_file_location("warnings_again", warnings.__file__)
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    return types.FunctionType(again._showwarnmsg_impl.__code__, vars(warnings))


SHOW = shown_by_python()


def called(function, changes):
    """The result and the state behind a call, with attributes of modules and loggers changed."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        state.value, state.recorded = 1, caught
        warnings.simplefilter("always")
        if function.__name__ != "records":
            patch.setattr(warnings, "_showwarnmsg_impl", SHOW)
            patch.setattr(sys, "stderr", io.StringIO())
        for holder, name, value in changes():
            patch.setattr(holder, name, value)
        log.manager._clear_cache()
        return function(np.arange(3.0)).tolist(), state.value, len(caught)


@pytest.mark.parametrize("function, changes", LOUD)
def test_what_it_changes_is_read_behind_it(function, changes):
    compiled = pycompile.compile(function, options={"plan_always": True})
    expected = called(function, changes)
    assert [called(compiled, changes) for _ in range(3)] == [expected] * 3
    assert expected[1:] != (1, 0) and compiled.stats()["plan_runs"] > 0


@pytest.mark.parametrize("function, changes", PLAIN)
def test_the_librarys_own_are_in_one_graph(function, changes):
    compiled = pycompile.compile(function, options={"plan_always": True})
    assert [called(compiled, changes) for _ in range(3)] == [called(function, changes)] * 3
    assert compiled.stats()["breaks"] == 0 and compiled.stats()["plan_runs"] == 3


@pytest.mark.parametrize("loud", [0, 1, 6, 11, 12, 14])
def test_code_of_the_program_comes_later(loud):
    """A plan that tells by the library's code is undone where the program's would run."""
    function, changes = LOUD[loud]
    compiled = pycompile.compile(function, options={"plan_always": True})
    handler = [(log, "handlers", [stream_handler()])]
    for now in (lambda: handler, lambda: handler, changes, lambda: handler, changes):
        assert called(compiled, now) == called(function, now)
    assert compiled.stats()["plan_runs"] > 1
