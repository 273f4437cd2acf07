"""What is said of a break is true where it is said, names what the user knows, and what its hint says
to do can be done there."""

import logging
import re

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _explain_text
from tests.reports import breaks, line_of_code

X = np.linspace(-1.0, 1.0, 3000)
LOOPS = "`while` loops stay loops"


def said(function, *args):
    """The only break's reason and hint."""
    (item,) = breaks(function, *args)
    return _explain_text.reason(item), item["hint"]


# ---- draws in a part that may not run ----


def draws_on_one_side(x, rng):
    y = np.sqrt(x * x) + 1
    if y.sum() > 10:
        y = y + rng.normal()  # here
    return y * 2


def draws_before(x, rng):
    y = np.sqrt(x * x) + 1
    r = rng.normal()
    if y.sum() > 10:
        y = y + r
    return y * 2


def draws_by_a_number(x, t):
    y = np.sqrt(x * x) + 1
    if t > 0.5:
        z = np.random.normal(size=3)  # here
    else:
        z = np.zeros(3)
    return y * 2, z


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("function", "args"),
    [(draws_on_one_side, (X, rng())), (draws_by_a_number, (X, np.float64(0.75)))],
)
def test_a_draw_on_one_side_is_told_as_that(function, args):
    text, hint = said(function, *args)
    assert text.startswith("branch on a value that is only known when the code runs"), text
    line = line_of_code(function, "# here")
    assert text.endswith(f": one side draws a random number, line {line}"), text
    assert "draw before the branch" in hint
    with pytest.raises(pycompile.GraphBreakError, match=f"draws a random number, line {line}"):
        pycompile.compile(function, fullgraph=True)(*args)


def test_a_draw_before_the_branch_is_no_break():
    check(draws_before, X, rng(), whole=True)


def walks(rng, n):
    t = 0.0
    for _ in range(n):
        if rng.random() < 0.5:  # here
            t += 1.5
        else:
            t -= 1.0
    return t


def walks_by_an_array(rng, n):
    t, r = 0.0, rng.random(size=n)
    for i in range(n):
        if r[i] < 0.5:
            t += 1.5
        else:
            t -= 1.0
    return t


def test_a_draw_in_a_loop_is_told_as_that():
    text, hint = said(walks, rng(), 3000)
    assert f"a draw of a random number, line {line_of_code(walks, '# here')}" in text, text
    assert "value of an array" not in text and "Draw them before the loop" in hint
    assert walks(rng(), 3000) == walks_by_an_array(rng(), 3000)
    check(walks_by_an_array, rng(), 3000, whole=True)


# ---- lengths ----


def counted(x, found):
    m = 0
    for i in range(len(x)):
        if x[i] > 0:
            found[m] = x[i]
            m += 1
    return np.sqrt(found[:m]) + 1  # here


def counted_and_masked(x, found):
    m = 0
    for i in range(len(x)):
        if x[i] > 0:
            found[m] = x[i]
            m += 1
    return np.where(np.arange(len(found)) < m, np.sqrt(found) + 1, 0)


def test_what_the_function_counts_is_not_to_come_from_the_caller():
    text, hint = said(counted, X, np.zeros(3000))
    assert text.endswith("a bound of a slice") and "caller" not in hint
    assert "np.where(np.arange(len(x)) < m, x, 0)" in hint
    check(counted_and_masked, X, np.zeros(3000), whole=True)


def made_by_a_count(x, found):
    m = 0
    for i in range(len(x)):
        if x[i] > 0:
            found[m] = x[i]
            m += 1
    return [0.0] * m, np.sqrt(found)


def test_a_list_that_is_counted_has_no_mask():
    _, hint = said(made_by_a_count, X, np.zeros(3000))
    assert "caller" not in hint and "np.where" not in hint and "return the number" in hint


def of_the_argument(x):
    y = np.sqrt(x * x) + 1
    return y[: int(x[-1] * 9)] * 2


def test_what_the_caller_can_compute_is_told_so():
    assert "Compute the number in the caller" in said(of_the_argument, X)[1]


def goes_through_places(x):
    s = 0.0
    for j in np.flatnonzero(x > 0):
        s += x[j]
    return s


def goes_through_different(x):
    y = np.sqrt(x * x) + 1
    for v in np.unique(np.round(x)):
        y = y + v
    return y


def test_a_mask_is_named_where_there_is_one():
    assert "np.where(mask, a, 0)" in said(goes_through_places, X)[1]
    items = breaks(goes_through_different, X, code="PC0045")
    assert items and not any("mask" in item["hint"] for item in items)


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


def makes_each_turn(x):
    for i in range(len(x)):
        v = x * 2
        v[i] = 1  # here
    return v


def holds_a_row(x):
    for i in range(len(x)):
        v = x
        v[i] = 1.0
    return v


def has_none(x):
    v = None
    for i in range(len(x)):
        if v is None:
            v = np.zeros(3)
        v[0] += x[i]
    return v


def has_a_list(x):
    a = [0.0] * 3
    for i in range(len(x)):
        a[0] += x[i]
    return a


def told(function, *args):
    return " | ".join(_explain_text.reason(item) for item in breaks(function, *args))


def test_what_is_no_array_is_told_as_what_it_is():
    text = told(makes_each_turn, X)
    line = line_of_code(makes_each_turn, "# here")
    assert "'v' (an array), which was not there before the loop" in text, text
    assert f"line {line}" in text and "nothing" not in text
    text = told(holds_a_row, X.copy())
    assert "'v' is no number after a turn, but an array" in text and "int before" not in text, text
    assert "elements of 'v', which is no array before it (NoneType)" in told(has_none, X)
    assert "elements of 'a', which is no array before it (list)" in told(has_a_list, X)


def selected(x):
    v = x[x > 0]
    n = 0
    for i in range(len(x)):
        if x[i] > 0.5:
            v = x
            n += 1
    return v, n


def after_a_list(x):
    v = [1]
    n = 0
    for i in range(len(x)):
        if x[i] > 0.5:
            v = n
            n += 1
    return v, n


def test_what_a_loop_cannot_carry_is_told_as_what_it_is():
    assert "'v', which holds an array before it, another one behind each turn" in told(selected, X)
    assert "'v', which holds no number before it (list)" in told(after_a_list, X)
    for function in (selected, after_a_list, has_a_list, has_none, makes_each_turn):
        check(function, X, also=((-X,), (X[:1],)))


def makes_arrays(x):
    out = []
    for i in range(len(x)):
        v = np.array([x[i], 1.0])  # here
        out.append(v[0])
    return out


def letters(s):
    n = 0
    for ch in s:
        if ch == "a":
            n += 1
    return n


def test_what_is_named_is_in_the_program():
    text = told(makes_arrays, X)
    line = line_of_code(makes_arrays, "# here")
    assert f"what line {line} computes has no native form" in text and "build" not in text, text
    text = told(letters, "abc" * 3000)
    assert "`while` loops do, and this one goes over 's' (str)" in text, text


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
    found = pycompile.explain(three_loops)(X, {})
    for text in (str(found), found.verbose(), found._repr_html_()):
        assert text.count(LOOPS) == 1, text


def sums(x):
    s = [0.0]
    for i in range(len(x)):
        s[0] += x[i]
    return s


def largest(x):
    t = [0.0]
    for i in range(len(x)):
        t[0] = max(t[0], x[i])
    return t


def long_loops(x):
    return sums(x), largest(np.sqrt(x * x))


def test_later_hints_refer_to_the_first():
    text = str(pycompile.explain(long_loops)(X))
    assert text.count("break PC0013") >= 2 and text.count(LOOPS) == 1, text
    assert re.search(r"hint: as for PC0013 at \S+:\d+\n", text), text


def test_a_hint_is_given_once_by_the_log(caplog):
    caplog.set_level(logging.DEBUG)
    pycompile.reset()
    with pycompile.set_logs("graph_breaks"):
        pycompile.compile(three_loops)(X, {})
        first = "\n".join(caplog.messages)
        assert first.count(LOOPS) == 1 and "hint: as for PC0013 at " in first, first
    caplog.clear()
    pycompile.reset()
    with pycompile.set_logs("graph_breaks"):
        pycompile.compile(three_loops)(X, {})
    assert "\n".join(caplog.messages).count(LOOPS) == 1
    with pytest.raises(pycompile.GraphBreakError, match="hint: Loops over"):
        pycompile.compile(three_loops, fullgraph=True)(X, {})


# ---- arrays that are not compiled ----


def dates(t, x):
    y = np.sqrt(x * x) + 1
    return y[1:] / (t[1:] - t[:-1]).astype(float)  # here


def fields(r):
    y = np.sqrt(r["a"]) + r["b"]
    return y * 2


def objects(x, o):
    return np.sqrt(x * x) + o.sum()


def test_arrays_of_other_dtypes_are_told_by_what_they_are():
    t = np.datetime64("2020-01-01", "s") + np.arange(3000)
    items = breaks(dates, t, X)
    assert {item["code"] for item in items} == {"PC0035"}
    assert {item["hint"] for item in items} == {
        "Compute on its integers, taken before the array code: x.view(np.int64)."
    }
    items = breaks(fields, np.ones(3000, [("a", "f8"), ("b", "f8")]))
    assert items and all("Take its fields before" in item["hint"] for item in items)
    items = breaks(objects, X, np.array([1, 2.5], object))
    assert {item["code"] for item in items} == {"PC0033"}
