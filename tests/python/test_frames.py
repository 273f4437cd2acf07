"""Leaving real frames: at every instruction, by every way out, compared with the plain call."""

import sys
import traceback

import pytest
from frames_corpus import CASES

from pycompile import _C

IDS = [f"{function.__name__}{number}" for number, (function, _) in enumerate(CASES)]
BY_CASE = pytest.mark.parametrize(("function", "arguments"), CASES, ids=IDS)

# What a step leaves to the interpreter.
NOT_STEPPED = {
    "RETURN", "CONST", "RAISE", "RERAISE", "PUSH_EXC_INFO", "MATCH_CLASS", "MATCH_KEYS",
}  # fmt: skip
# Errors whose text is the interpreter's own.
LEFT_TO_RAISE = {"LOAD_LOCAL"}


class Injected(Exception):
    pass


def outcome(call):
    """What a call did: its value, or the exception with its lines and context; and the exception state after it."""
    try:
        result = ("value", call())
    except BaseException as error:
        lines = [
            (entry.name, entry.lineno)
            for entry in traceback.extract_tb(error.__traceback__)
            if entry.name not in ("outcome", "<lambda>", "tracer", "traced", "monitored")
        ]
        context = error.__context__
        result = (
            "error",
            type(error),
            str(error),
            lines,
            type(context),
            getattr(context, "args", None),
        )
    return result, sys.exc_info()


def drive(function, arguments, steps=-1, action="resume", value=None, trace=None, call=None):
    args, kwargs = arguments()
    trace = [] if trace is None else trace
    result = outcome(lambda: _C._drive(function, args, kwargs, steps, action, value, trace, call))
    assert trace, "the hook did not hand the frame over"
    assert not _C._hook_is_armed()
    return result


def plain(function, arguments):
    args, kwargs = arguments()
    return outcome(lambda: function(*args, **kwargs))


def steps_of(function, arguments):
    """The instructions that stepping passes, as their idx."""
    trace = []
    drive(function, arguments, trace=trace)
    assert not [entry for entry in trace if isinstance(entry, str) and entry.startswith("depth")]
    return [entry for entry in trace if isinstance(entry, int)], trace[-1]


@BY_CASE
def test_stepping_gives_the_plain_result(function, arguments):
    assert drive(function, arguments) == plain(function, arguments)


@BY_CASE
def test_stepping_goes_as_far_as_it_should(function, arguments):
    if function.__name__ in ("handled_unbound", "except_star"):
        return  # they are about errors that the interpreter raises
    _, why = steps_of(function, arguments)
    assert isinstance(why, int) or why.split()[1] in NOT_STEPPED


@BY_CASE
def test_reentry_at_every_instruction(function, arguments):
    expected = plain(function, arguments)
    idxs, _ = steps_of(function, arguments)
    for count in range(len(idxs)):
        assert drive(function, arguments, count) == expected, (
            f"after {count} steps, at {idxs[count]}"
        )


@BY_CASE
def test_return_from_every_instruction(function, arguments):
    idxs, _ = steps_of(function, arguments)
    marker = object()
    for count in range(len(idxs)):
        assert drive(function, arguments, count, "return", marker) == (
            ("value", marker),
            (None, None, None),
        )


def traced_raise(function, arguments, at, occurrence):
    """The plain call with an exception raised by a tracer at the n-th pass of an instruction."""
    args, kwargs = arguments()
    seen = 0

    def passed(lasti):
        nonlocal seen
        seen += lasti == 2 * at
        return lasti == 2 * at and seen == occurrence

    def tracer(frame, event, _):
        if frame.f_code is not function.__code__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and passed(frame.f_lasti):
            sys.settrace(None)
            raise Injected
        return tracer

    def traced():
        sys.settrace(tracer)
        try:
            return function(*args, **kwargs)
        finally:
            sys.settrace(None)

    return outcome(
        traced if sys.version_info < (3, 12) else lambda: monitored(function, args, kwargs, passed)
    )


def monitored(function, args, kwargs, passed):
    """The same where sys.monitoring is: its tracing of opcodes is reliable."""
    monitoring, tool = sys.monitoring, sys.monitoring.DEBUGGER_ID

    def tracer(code, offset):
        if passed(offset):
            raise Injected

    monitoring.use_tool_id(tool, "test")
    monitoring.register_callback(tool, monitoring.events.INSTRUCTION, tracer)
    monitoring.set_local_events(tool, function.__code__, monitoring.events.INSTRUCTION)
    try:
        return function(*args, **kwargs)
    finally:
        monitoring.set_local_events(tool, function.__code__, 0)
        monitoring.free_tool_id(tool)


@BY_CASE
def test_exception_at_every_instruction(function, arguments):
    # 3.11 traces the prefix of an instruction, later versions the instruction itself.
    at_of = {
        idx: idx if sys.version_info < (3, 12) else at
        for _, _, _, idx, at, *_ in _C._instrs(function.__code__)
    }
    idxs, _ = steps_of(function, arguments)
    passes = {}
    for count, idx in enumerate(idxs):
        passes[idx] = passes.get(idx, 0) + 1
        if count == 0:
            continue  # the tracer gets no event before RESUME
        expected = traced_raise(function, arguments, at_of[idx], passes[idx])
        assert drive(function, arguments, count, "raise", Injected()) == expected, (
            f"after {count} steps, at {idx}"
        )
