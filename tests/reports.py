"""What explain tells of a function, its breaks, the lines that they are at, its loops; the C text of its
plans."""

import inspect
import logging
import warnings

import pycompile
from pycompile import _explain_text
from tests.differential import check


def line_of_code(function, text="# here"):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def breaks(function, *args, code=None):
    """The breaks that explain shows in its summary."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycompile.PycompileWarning)
        found = _explain_text.found_breaks(pycompile.explain(function)(*args))
    return [item for item in found if code in (None, item["code"])]


def reasons(function, *args):
    """All breaks' reasons."""
    return " | ".join(_explain_text.reason(item) for item in breaks(function, *args))


def details(function, *args):
    """All breaks' details."""
    return " | ".join(item["detail"] for item in breaks(function, *args))


def stays(function, *args):
    """Nothing of it is left to Python, and it gives what Python gives."""
    assert breaks(function, *args) == []
    check(function, *args)


def only_break(function, *args, code=None):
    (item,) = breaks(function, *args, code=code)
    return item


def said(function, *args):
    """The only break's reason and hint."""
    item = only_break(function, *args)
    return _explain_text.reason(item), item["hint"]


def said_first(function, *args, code=None):
    """The first break's reason and hint."""
    item = breaks(function, *args, code=code)[0]
    return _explain_text.reason(item), item["hint"]


def said_here(function, *args):
    """The only break's reason and hint, which names the line `# here`."""
    item = only_break(function, *args)
    assert item["line"] == line_of_code(function), item
    return _explain_text.reason(item), item["hint"]


def loop_reason(function, *args):
    """What keeps the loop of the function from staying one, told with the line `# here`."""
    item = only_break(function, *args, code="PC0013")
    assert item["detail"].endswith(f", line {line_of_code(function)}"), item
    return item["detail"]


def keeps_loop(function, *args):
    """Has the call's plan a loop that was not unrolled?"""
    told = _explain_text.verbose(pycompile.explain(function)(*args))
    return "unrolled" not in told and " = loop(" in told


def output_code(function, *args):
    """The C text that a call makes."""
    logger = logging.getLogger("pycompile.output_code")
    texts, handler = [], logging.Handler()
    handler.emit = lambda record: texts.append(record.getMessage())
    logger.addHandler(handler)
    try:
        with pycompile.set_logs("output_code"):
            function(*args)
    finally:
        logger.removeHandler(handler)
    return "\n".join(texts)
