"""What explain tells of a function, its breaks, the lines that they are at, its loops; the C text of its
plans."""

import inspect
import logging
import warnings

import pycompile
from pycompile import _explain_text


def line_of_code(function, text="# here"):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def breaks(function, *args, code=None):
    """The breaks that explain shows in its summary."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycompile.PycompileWarning)
        found = _explain_text.found_breaks(pycompile.explain(function)(*args))
    return [item for item in found if code in (None, item["code"])]


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
