"""What is said of a break is true where it is said, names what the user knows, and what its hint says
to do can be done there."""

import numpy as np
from differential import check

from pycompile import _explain_text
from tests.reports import breaks, line_of_code

X = np.linspace(-1.0, 1.0, 3000)


def said(function, *args):
    """The only break's reason and hint."""
    (item,) = breaks(function, *args)
    return _explain_text.reason(item), item["hint"]


# ---- loops: variables by their names ----


def float_or_int(x):
    s = 0
    for i in range(len(x)):
        if x[i] > 0:  # here
            s = 1.5
        elif x[i] < -0.5:
            s = 2
    return s


def floats(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            s = 1.5
        elif x[i] < -0.5:
            s = 2.0
    return s


def test_a_value_of_two_types_is_named():
    text, _ = said(float_or_int, X)
    line = line_of_code(float_or_int, "# here")
    assert (
        f"'s', which is float on one side and int on the other of the branch of line {line} "
        "(make it float(...) on each way)" in text
    ), text
    check(floats, X, whole=True)
