"""What explain tells of a function, its breaks, the lines that they are at, its loops; the C text of its
plans."""

import inspect
import logging
import re
import warnings

import numpy as np

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


def turns_in_place(function, *args):
    """Are the loop's turns driven, and is nothing in them of the size of an argument with rows?"""
    explanation = pycompile.explain(function)(*args)
    schedules = [record["schedule"] for record in explanation.records if record.get("schedule")]
    sizes = [str(list(a.shape)).replace(" ", "") for a in args if np.ndim(a) > 1]
    held = re.compile(
        "(temp|chosen): [a-z0-9]+(" + "|".join(map(re.escape, sizes)) + r")(,|$)", re.M
    )
    return "drive of steps" in "".join(schedules) and not any(map(held.search, schedules))


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
