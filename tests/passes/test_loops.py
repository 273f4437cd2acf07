"""loops: what a loop before them did is done there."""

import numpy as np
import pytest
from differential import check

from pycompile._C import graph_pass

TEXT = """%0: f64[9] = input(0)
%1: int = input(1)
%2: int = const(0)
%3: int = const(1)
%4: f64 = const(1.0)
%5: object = loop(%2, %1, %3, %4) {
  params %6: int, %7: f64
  %8: f64 = element_load(%0, %6)
  %9: f64 = multiply(%7, %8)
  results %9
}
%10: f64 = result(%5, index=0)
%11: f64 = sqrt(%10)
%12: f64 = const(1.0)
%13: f64[9] = full(%12)
%14: object = loop(%2, %1, %3, %12, %13) {
  params %15: int, %16: f64, %17: f64[9]
  %18: f64[9] = element_store(%17, %15, %16)
  %19: f64 = element_load(%0, %15)
  %20: f64 = multiply(%16, %19)
  results %20, %18
}
%21: f64[9] = result(%14, index=1)
outputs %11, %21
"""


def loops_left(text):
    return str(graph_pass(text, "loops")).count(" = loop(")


def test_one_that_repeats_is_part_of_the_first():
    assert loops_left(TEXT) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("loop(%2, %1, %3, %12", "loop(%3, %1, %3, %12"),  # of other turns
        ("loop(%2, %1, %3, %12", "loop(%2, %1, %3, %11"),  # it begins with another number …
        ("%12: f64 = const(1.0)", "%12: f64 = const(2.0)"),
        ("%20: f64 = multiply(%16, %19)", "%20: f64 = add(%16, %19)"),  # … goes on with one
        ("%20: f64 = multiply(%16, %19)", "%20: f64 = multiply(%19, %16)"),  # another NaN
        ("element_store(%17, %15, %16)", "element_store(%17, %15, %11)"),  # needs the first one
        ("full(%12)", "full(%11)"),
        ("outputs %11, %21", "%22: f64 = result(%14, index=0)\noutputs %11, %21, %22"),
    ],
)
def test_what_stays_two(old, new):
    assert old in TEXT and loops_left(TEXT.replace(old, new)) == 2


def powers(x, scale):
    y, total, kept = 1.0, 0.0, np.zeros(len(x))
    for i in range(len(x)):
        total = total + y
        y = y * x[i] * scale
    again = 1.0
    for i in range(len(x)):
        kept[i] = again
        again = again * x[i] * scale
    return total, y, kept


@pytest.mark.parametrize("values", [np.linspace(0.5, 1.5, 40), np.array([1.0, np.inf, -0.0, 2.0])])
def test_values_are_plain_ones(values):
    check(powers, values, 1.25)
