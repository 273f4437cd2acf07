"""How it is told: whole texts, each hint once, names that tell functions of one line apart, the summary."""

import inspect
import logging
import re

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.differential import check
from tests.reports import (
    breaks,
    line_of_code,
    reasons,
)

MANY = np.linspace(1.0, 2.0, 30000)
LETTERS = "v" * 300


def made(text, name):
    """The function of a source text."""
    names = {"np": np}
    exec(text, names)
    return names[name]


SIGNED = np.linspace(-1.0, 1.0, 3000)
LOOPS = "`while` loops stay loops"
X = np.linspace(1.0, 2.0, 3000)
LONG = np.linspace(1.0, 2.0, 20000)


SQUARE = np.random.default_rng(1).random((60, 60)) + 1


def until_close(x):
    error = 10.0
    while error > 1e-3:  # here
        y = np.sqrt(x)
        error = np.abs(y - x).max()
        x = y[:]  # a view is not carried to the next turn
    return x


# ---- texts are whole ----


def test_a_reason_is_not_cut():
    source = f"""
def f(x):
    {LETTERS} = 0.0
    later = lambda: {LETTERS}
    for i in range(len(x)):
        {LETTERS} += x[i]
    return later()
"""
    text = reasons(made(source, "f"), np.arange(9000.0))
    assert f"it stores '{LETTERS}', which the lambda of line 4 shares" in text, text
    assert "in the loop), line 6" in text, text


def test_a_long_name_of_a_branch_is_not_cut():
    source = f"""
def f(x):
    for i in range(len(x)):
        if x[i] > 1.5:
            {LETTERS} = "a"
        else:
            {LETTERS} = 1.0
    return {LETTERS}
"""
    assert f"'{LETTERS}' is str on one side and float on the other" in reasons(
        made(source, "f"), MANY
    )


# ---- hints are given once ----


def three_loops(x, d):
    for i in range(len(x)):
        d["a"] = x[i]
    for i in range(len(x)):
        d["b"] = x[i]
    for i in range(len(x)):
        d["c"] = x[i] + 1
    return np.sqrt(x * x)


def test_a_hint_is_given_once_by_explain():
    found = pycompile.explain(three_loops)(SIGNED, {})
    for text in (str(found), found.verbose(), found._repr_html_()):
        assert text.count(LOOPS) == 1, text


def sums(x):
    s = {"a": 0.0}
    for i in range(len(x)):
        s["a"] += x[i]
    return s


def largest(x):
    t = {"a": 0.0}
    for i in range(len(x)):
        t["a"] = max(t["a"], x[i])
    return t


def long_loops(x):
    return sums(x), largest(np.sqrt(x * x))


def test_later_hints_refer_to_the_first():
    text = str(pycompile.explain(long_loops)(SIGNED))
    assert text.count("break PC0013") >= 2 and text.count(LOOPS) == 1, text
    assert re.search(r"hint: as for PC0013 at \S+:\d+\n", text), text


def test_a_hint_is_given_once_by_the_log(caplog):
    caplog.set_level(logging.DEBUG)
    pycompile.reset()
    with pycompile.set_logs("graph_breaks"):
        pycompile.compile(three_loops)(SIGNED, {})
        first = "\n".join(caplog.messages)
        assert first.count(LOOPS) == 1 and "hint: as for PC0013 at " in first, first
    caplog.clear()
    pycompile.reset()
    with pycompile.set_logs("graph_breaks"):
        pycompile.compile(three_loops)(SIGNED, {})
    assert "\n".join(caplog.messages).count(LOOPS) == 1
    with pytest.raises(pycompile.GraphBreakError, match="hint: Loops over"):
        pycompile.compile(three_loops, fullgraph=True)(SIGNED, {})


# ---- an attempt that is given up ----


def kept(x, y):
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def through_kept(x, y):
    z = np.sqrt(x) + 1
    return kept(z, y) * 2


def test_a_function_that_stays_a_loop_has_no_break():
    assert not breaks(through_kept, LONG, LONG.copy())
    check(through_kept, LONG, LONG.copy(), whole=True)


def test_explain_says_what_it_counts():
    """The loop makes ten turns; two captures met the break."""
    text = str(pycompile.explain(until_close)(X))
    (item,) = breaks(until_close, X)
    assert item["captures"] > 1
    assert f"(in {item['captures']} captures)" in text and " times)" not in text


# ---- several functions on one line ----


# fmt: off
def two_lambdas(x):
    first, second = (lambda v: v + id(v)), (lambda v: v * id(v))
    return first(np.sqrt(x) + 1), second(np.sqrt(x) + 2)


def one_lambda(x):
    first = lambda v: v + id(v)  # noqa: E731
    return first(np.sqrt(x) + 1)
# fmt: on


def test_a_column_tells_lambdas_of_one_line_apart():
    line = inspect.getsourcelines(two_lambdas)[0][1]
    columns = [i + 1 for i in range(len(line)) if line.startswith("lambda", i)]
    wanted = {f"two_lambdas.<locals>.<lambda> (column {column})" for column in columns}
    explanation = pycompile.explain(two_lambdas)(X)
    assert {item["frames"][0][2] for item in explanation.breaks} == wanted
    assert {item["user"][2] for item in breaks(two_lambdas, X)} == wanted
    rows = {row["function"]: row for row in _explain_text.functions(explanation)}
    assert rows.keys() == wanted | {"two_lambdas"}
    assert all(rows[name]["plans"] >= 1 and rows[name]["breaks"] for name in wanted)
    with pytest.raises(pycompile.GraphBreakError, match=r"<lambda> \(column \d+\)"):
        pycompile.compile(two_lambdas, fullgraph=True)(X)


def test_no_column_where_the_line_says_it():
    names = {item["frames"][0][2] for item in pycompile.explain(one_lambda)(X).breaks}
    assert names == {"one_lambda.<locals>.<lambda>"}


# ---- the summary ----


def helper(x):
    y = np.sqrt(x) + 1
    z = y * 2
    return z, id(z)


def calls_a_helper(x):
    return helper(x)[0] + 1


def test_the_heading_has_the_line_of_the_def():
    explanation = pycompile.explain(calls_a_helper)(MANY)
    rows = {row["function"]: row["line"] for row in _explain_text.functions(explanation)}
    assert rows["helper"] == line_of_code(helper, "def helper")
    assert rows["calls_a_helper"] == line_of_code(calls_a_helper, "def calls")
    assert f"test_texts.py:{rows['helper']})" in str(explanation)


def two_indices(a):
    b = a * 2
    k = int(b[0].argmax())
    row = np.maximum(b[k], 1)
    id(row)
    item = [a, b, row][int(row[0]) % 3]
    return item * 2


def test_hints_of_one_code_that_differ_are_all_shown():
    explanation = pycompile.explain(two_indices)(SQUARE)
    hints = {item["hint"] for item in explanation.breaks if item["code"] == "PC0050"}
    assert len(hints) == 2
    text = " ".join(str(explanation).split())
    for hint in hints:
        assert hint in text, text


def sums_to_overflow(x):
    h = 5381
    for i in range(len(x)):
        h = h * 33 + int(x[i])
    return h


def test_an_overflow_is_told_as_one():
    text = " ".join(str(pycompile.explain(sums_to_overflow)(MANY[:100])).split())
    assert "an int beyond 64 bits, in a loop" in text and "run to its end" not in text
