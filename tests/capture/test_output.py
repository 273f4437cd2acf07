"""Prints, log calls and warnings out of inlined functions and after writes: order, frames, failures."""

import io
import logging
import sys
import traceback
import warnings

import numpy as np
import pytest
from differential import check

import pycompile

log = logging.getLogger("tests.capture.output")
log.propagate = False


class Records(logging.Handler):
    def __init__(self):
        super().__init__()
        self.seen = []

    def emit(self, record):
        self.seen.append((record.funcName, record.lineno, record.pathname, record.getMessage()))


def _tell(y):
    log.warning("sum %s", float(y.sum()))
    return y * 2


def tells(x):
    y = _tell(x + 1)
    log.warning("told")
    return y


def test_log_records_name_the_inlined_function():
    records = Records()
    log.addHandler(records)
    try:
        x = np.arange(3.0)
        tells(x)
        compiled = pycompile.compile(tells)
        for _ in range(3):
            compiled(x)
    finally:
        log.removeHandler(records)
    assert compiled.stats()["breaks"] == 0
    assert records.seen == records.seen[:2] * 4
    assert [name for name, *_ in records.seen[:2]] == ["_tell", "tells"]


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


@pytest.mark.parametrize("function, breaks", [(writes, 0), (writes_twice, 1)])
def test_writes_are_done_when_a_handler_looks(function, breaks):
    seen = []
    compiled = pycompile.compile(function)
    for call in (function, compiled, compiled, compiled):
        x = np.arange(3.0)
        handler = Looks(x)
        log.addHandler(handler)
        try:
            call(x)
        finally:
            log.removeHandler(handler)
        seen.append(handler.seen)
    assert seen == seen[:1] * 4 and seen[0][0] == [7.0, 1.0, 2.0]
    assert (compiled.stats()["breaks"] > 0) == bool(breaks)


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
        log.addHandler(handler)
        try:
            call(np.arange(3.0), box)
        finally:
            log.removeHandler(handler)
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
