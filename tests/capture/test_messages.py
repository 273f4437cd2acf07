"""What a message says is so at its place, and what its hint says to do removes the break."""

import inspect

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.differential import check

X = np.linspace(1.0, 2.0, 30000)
LONG = "v" * 300


def line_of_code(function, text="# here"):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def breaks(function, *args, code=None):
    """The breaks that explain shows in its summary."""
    found = _explain_text.found_breaks(pycompile.explain(function)(*args))
    return [item for item in found if code in (None, item["code"])]


def told(function, *args):
    """Its breaks' reasons."""
    return " | ".join(_explain_text.reason(item) for item in breaks(function, *args))


def made(text, name):
    """The function of a source text."""
    names = {"np": np}
    exec(text, names)
    return names[name]


# ---- texts are whole ----


def test_a_reason_is_not_cut():
    source = f"""
def f(x):
    {LONG} = 0
    for i in range(len(x)):
        {LONG} += x[i]
    return {LONG}
"""
    text = told(made(source, "f"), np.arange(9000, dtype=np.int32))
    assert f"'{LONG}' begins as Python's int" in text and "int(...) of the other)" in text, text


def test_a_long_name_of_a_branch_is_not_cut():
    source = f"""
def f(x):
    for i in range(len(x)):
        if x[i] > 1.5:
            {LONG} = "a"
        else:
            {LONG} = 1.0
    return {LONG}
"""
    assert f"'{LONG}' is str on one side and float on the other" in told(made(source, "f"), X)


# ---- the object that keeps a loop or a branch ----


def appends(x, y):
    found = []
    for i in range(1, len(x)):
        y[i] += x[i]
        found.append(i)
    return found


def counts_in_a_dict(x):
    seen = {"n": 0}
    for i in range(len(x)):
        if x[i] > 1.5:
            seen["n"] += 1
    return seen


def appends_on_one_side(x):
    y, found = np.sqrt(x) + 1, []
    if y.sum() > 3:
        found.append(1)
    return y * 2, found


def writes_a_view_on_one_side(x):
    y, z = np.sqrt(x) + 1, np.zeros(3)
    part = z[1:]
    if y.sum() > 3:
        part += 1
    return y * 2, z


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (appends, "it changes an object other than arrays: 'found' (list)"),
        (counts_in_a_dict, "one side changes an object from before the branch: 'seen' (dict)"),
        (appends_on_one_side, "its sides change an object from before the branch: 'found' (list)"),
        (writes_a_view_on_one_side, "changes an object from before the branch: 'z' (an array)"),
    ],
)
def test_what_changes_is_named(function, words):
    args = (X, X.copy()) if function is appends else (X,)
    assert words in told(function, *args)


# ---- lengths that the numbers of an array make ----


def repeats(x, counts):
    rows = np.repeat(np.arange(len(counts)), counts)
    out = np.zeros(len(counts))
    np.add.at(out, rows, np.sqrt(x) + 1)  # here
    return out * 2 + 1


def repeats_and_multiplies(x, counts):
    return (np.sqrt(x) + 1) * np.repeat(np.arange(len(counts)), counts)


def repeats_by_method(x, counts):
    return np.sqrt(x) + 1, (x[: len(counts)] + 1).repeat(repeats=counts) * 2


def tiles(x, counts):
    return np.sqrt(x) + 1, np.tile(np.arange(5.0), counts[:2] // 100) * 2


def pads(x, counts):
    return np.sqrt(x) + 1, np.pad(np.arange(5.0), counts[:2]) * 2


COUNTS = np.full(100, 300)


def test_no_length_of_a_stand_in_is_told():
    (item,) = breaks(repeats, X, COUNTS)
    assert item["line"] == line_of_code(repeats)
    assert item["code"] != "PC0017" and "broadcast" not in item["detail"], item


@pytest.mark.parametrize("function", [repeats_and_multiplies, repeats_by_method, tiles, pads])
def test_a_length_out_of_an_array_is_no_error(function):
    compiled = pycompile.compile(function)
    for _ in range(3):
        got, wanted = compiled(X, COUNTS), function(X, COUNTS)
        assert np.array_equal(got[1], wanted[1]) and np.array_equal(got[0], wanted[0])
    assert compiled.stats()["deopts"] == 0 and compiled.stats()["plan_runs"] == 3
    check(function, X, COUNTS, whole=True)
