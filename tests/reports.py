"""What explain tells of a function: its breaks, and the lines that they are at."""

import inspect
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
