"""What is told of sides of branches, keys, memory and loops is true at its place, and helps there."""

import numpy as np
import pytest

from pycompile import _explain_text
from tests.differential import check
from tests.reports import breaks, line_of_code

X = np.linspace(1.0, 2.0, 3000)
ROWS = np.random.default_rng(0).normal(size=(60, 60))


def said(function, *args, code=None):
    """The first break's reason and hint."""
    item = breaks(function, *args, code=code)[0]
    return _explain_text.reason(item), item["hint"]


# ---- sides that change arrays only ----


def swaps_rows(a):
    a, p = a.copy(), np.arange(len(a))
    for k in range(len(a) - 1):
        m = k + np.argmax(np.abs(a[k:, k]))
        if m != k:
            a[[k, m]] = a[[m, k]]  # here
            p[[k, m]] = p[[m, k]]
        a[k + 1 :, k:] -= np.outer(a[k + 1 :, k] / a[k, k], a[k, k:])
    return a, p


def writes_what_a_function_made(x):
    rows = np.eye(50)
    m = np.argmax(x[:30])
    if m != 1:
        rows[[1, m], :1] = rows[[m, 1], :1]
    return rows + 1


def writes_a_copy_of_it(x):
    rows = np.eye(50).copy()
    m = np.argmax(x[:30])
    if m != 1:
        rows[[1, m], :1] = rows[[m, 1], :1]
    return rows + 1


def test_what_stops_a_side_is_what_is_to_be_changed():
    text, hint = said(swaps_rows, ROWS, code="PC0006")
    assert "a list of numbers as an index" in text, text
    assert "other than arrays" not in hint and "change what is named here" in hint, hint


def test_an_array_that_may_share_its_memory_is_to_be_copied():
    text, hint = said(writes_what_a_function_made, X)
    assert text.endswith("one side changes an object from before the branch: 'rows' (an array)")
    assert "other than arrays" not in hint and "Write to a copy" in hint, hint
    assert not breaks(writes_a_copy_of_it, X)
    check(writes_a_copy_of_it, X)


# ---- keys that are text already ----


def keyed_by_text(x, b):
    y = np.sqrt(x) + 1
    return {str(int(b[0])): y}


def stored_by_text(x, b):
    y, found = np.sqrt(x) + 1, {}
    found[f"{b[0]}"] = y
    return found


def keyed_by_text_and_a_number(x, b):
    y = np.sqrt(x) + 1
    return {(str(b[0]), 1): y}


def text_in_a_set(x, b):
    y = np.sqrt(x) + 1
    return y, {str(int(b[0]))}


def key_from_the_caller(x, key):
    y = np.sqrt(x) + 1
    return {key: y, (key, 1): y}, {key}


@pytest.mark.parametrize(
    "function", [keyed_by_text, stored_by_text, keyed_by_text_and_a_number, text_in_a_set]
)
def test_a_key_of_text_that_the_run_makes(function):
    text, hint = said(function, X, np.array([3, 4]))
    assert "that is only known when the code runs" in text, text
    assert "key dicts by text" not in hint and "Make the key in the caller" in hint, hint
    check(key_from_the_caller, X, "3", whole=True)


# ---- the memory of an array ----


def reads_its_memory(x):
    y = np.sqrt(x) + 1
    return y.data[3] + y


def reads_an_element(x):
    y = np.sqrt(x) + 1
    return y[3] + y


def test_the_memory_of_an_array():
    text, hint = said(reads_its_memory, X)
    assert "attribute 'data' of an array" in text and "x[i]" in hint, (text, hint)
    check(reads_an_element, X, whole=True)


# ---- loops that hand on arrays ----


def steps(y, end):
    """A solver: the step is chosen by the error."""
    t, h, times = 0.0, 0.01, []
    while t < end:  # here
        h = min(h, end - t)
        better = y + h * np.tanh(y) - h * h / 2 * y
        error = np.max(np.abs(better - (y + h * y)))
        if error <= 0.01:
            t += h
            y = better
            times.append(t)
        h *= min(5, max(0.2, 0.9 * (0.01 / (error + 1e-30)) ** 0.2))
    return y, times


def test_a_loop_over_arrays_is_none_that_would_stay_one():
    """Even where the graph begins at its test, and has seen numbers only."""
    found = breaks(steps, X, 2.0)
    ends = [item for item in found if item["line"] == line_of_code(steps)]
    assert ends
    for item in ends:
        assert "did not stay a loop" not in _explain_text.reason(item), item["detail"]
        assert "`while` loops stay loops" not in item["hint"], item["hint"]


# ---- dtypes that meet ----


def adds_products(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]  # here
    return s


def adds_products_from_float64(x, y):
    s = np.float64(0.0)
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def test_dtypes_that_meet_are_named():
    args = np.linspace(1.0, 2.0, 20000), np.linspace(1.0, 2.0, 20000, dtype=np.float32)
    text, _ = said(adds_products, *args)
    line = line_of_code(adds_products)
    words = (
        "'s' begins as Python's number and becomes a numpy.float64, in a loop that computes with"
    )
    assert f"{words} numpy.float32, too, line {line} (begin with np.float64(...))" in text, text
    assert not breaks(adds_products_from_float64, *args)
    check(adds_products_from_float64, *args)
