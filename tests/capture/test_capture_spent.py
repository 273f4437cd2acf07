"""Where capture may follow no more, what is told is what has taken the instructions or the tries."""

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.reports import line_of_code

X = np.linspace(1.0, 2.0, 300)


def digits(x):
    y = np.sqrt(x) + 1
    t = 0
    for i in range(300_000):  # here
        t += int(str(i)[0])
    return y, t


def on_one_line(x):
    t = 0
    while t < 300_000: t += len(str(t))  # here  # noqa: E701  # fmt: skip
    return t


def told(function, *args, **options):
    return pycompile.explain(function, options=options)(*args).breaks[0]


@pytest.mark.slow
@pytest.mark.parametrize("function", [digits, on_one_line])
def test_a_loop_that_is_followed_to_the_end(function):
    """It is not the function that is too long."""
    item = told(function, X, unroll=1_000_000)
    text = _explain_text.reason(item)
    assert item["code"] == "PC0013" and item["line"] == line_of_code(function), text
    assert "unrolled until capture may follow no more instructions" in text
    assert "which did not stay a loop: " in text and "stay loops" in item["hint"]


def with_loops(count):
    names = {}
    lines = "".join(
        f"    for i in range(3):\n        t += len(str(x[i + {n}]))\n" for n in range(count)
    )
    exec(f"def f(x):\n    t = 0\n{lines}    return t\n", names)
    return names["f"]


@pytest.mark.slow
def test_tries_that_loops_have_taken():
    """Dividing the function would be no help as long as they are not changed."""
    item = told(with_loops(45), X, unroll=1_000_000)
    text = _explain_text.reason(item)
    assert item["code"] == "PC0024" and "capture began again too often" in text, text
    assert "the loop of line 3 did not stay a loop: call of 'text'" in text, text
    assert "change what is named here" in item["hint"]
