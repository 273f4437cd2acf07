"""moves: a copy of what nobody else has is that array."""

import numpy as np
import pytest
from differential import check
from passes.rewritten import graph, ops


def copies(*lines, outputs):
    text = graph("f64[4] = input(0)", "f64 = input(1)", *lines, outputs=outputs)
    return ops(text, "moves").count("copy")


@pytest.mark.parametrize(
    ("lines", "outputs", "count"),
    [
        (["f64[4] = sqrt(%0)", "f64[4] = copy(%2)"], "%3", 0),
        (["f64[4] = sqrt(%0)", "f64[4] = copy(%2)", "f64[4] = copy(%3)"], "%4", 0),
        (["f64[4] = sqrt(%0)", "f64[4] = copy(%2)", "f64[4] = copy(%2)"], "%3, %4", 1),
        (["f64[4] = copy(%0)"], "%2", 1),
        (["f64[4] = sqrt(%0)", "f64[4] = copy(%2)"], "%2, %3", 1),
        (["f64[4] = sqrt(%0)", "f64[2] = slice(%2, ints=[0, 2, 1])", "f64[4] = copy(%2)"], "%3, %4", 1),
        (["f64[4] = sqrt(%0)", "f64[4] = extern(%2, object=numpy.sort)", "f64[4] = copy(%2)"], "%3, %4", 1),
    ],
)  # fmt: skip
def test_copies_that_are_left(lines, outputs, count):
    assert copies(*lines, outputs=outputs) == count


def of_a_loop(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = x[i] * 2
    first = y.copy()
    y[0] = 7.0
    again = y.copy()
    return first, again, y


def two_copies(x):
    y = np.sqrt(x)
    a, b = y.copy(), y.copy()
    a[1:] += 1
    b[:-1] *= a[1:]
    return a, b


def written_behind(x):
    y = np.sqrt(x)
    z = y.copy()
    z[0] = 5.0
    return z, y.sum(), y[::-1] + z


@pytest.mark.parametrize("function", [of_a_loop, two_copies, written_behind])
def test_values_and_identities(function):
    check(function, np.linspace(1, 2, 50))
