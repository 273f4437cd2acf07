"""What a message says is so at its place, and what its hint says to do removes the break."""

import contextlib
import enum
import math
import os
import re
import sys
import warnings

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.differential import check
from tests.reports import breaks, line_of_code

X = np.linspace(1.0, 2.0, 30000)
LONG = "v" * 300


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
    assert f"'{LONG}' begins as Python's int" in text and "is slower), line 5" in text, text


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


def inserts(x, y):
    found = []
    for i in range(1, len(x)):
        y[i] += x[i]
        found.insert(0, i)
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
    y, z = np.sqrt(x) + 1, np.sort(x)  # perhaps memory of somebody else's
    part = z[1:]
    if y.sum() > 3:
        part += 1
    return y * 2, z


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (inserts, "it changes an object other than arrays: 'found' (list)"),
        (counts_in_a_dict, "'seen'"),
        (appends_on_one_side, "its sides change an object from before the branch: 'found' (list)"),
        (writes_a_view_on_one_side, "changes an object from before the branch: 'z' (an array)"),
    ],
)
def test_what_changes_is_named(function, words):
    args = (X, X.copy()) if function is inserts else (X,)
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


# ---- generators and context managers whose users break ----


def three(x):
    for i in range(3):
        yield np.sqrt(x) + i


def asks_for_an_id(x):
    total = 0
    for y in three(x):
        total = total + y * 2
        id(total)  # here
    return total


def asks_for_no_id(x):
    total = 0
    for y in three(x):
        total = total + y * 2
    return total


@contextlib.contextmanager
def rooted(x):
    yield np.sqrt(x) + 1


def asks_in_a_with(x):
    with rooted(x) as y:
        z = y * 2
        id(z)  # here
    return z + 1


def asks_for_none_in_a_with(x):
    with rooted(x) as y:
        z = y * 2
    return z + 1


@contextlib.contextmanager
def asked(x):
    y = np.sqrt(x) + 1
    id(y)
    yield y


def enters_what_asks(x):
    with asked(x) as y:
        z = y * 2
    return z + 1


@pytest.mark.parametrize("function", [asks_for_an_id, asks_in_a_with])
def test_a_generator_in_use_names_the_break(function):
    (item,) = breaks(function, X, code="PC0020")
    line = line_of_code(function)
    assert f"in use where the graph ends, line {line}: the address of an object" in item["detail"]
    assert "Consume" not in item["hint"] and "the break that is named here" in item["hint"]


def asks_numpy_in_a_with(x):
    with rooted(x) as y:
        e = np.geterr()["divide"]  # here: what breaks is in a file of NumPy's
        z = y * 2
    return z + 1, e


def takes_a_side_that_asks_numpy(x):
    y = np.sqrt(x) + 1
    if y[0] > 0:
        e = np.geterr()["divide"]  # here
    else:
        e = None
    return y * 2, e


def asks_numpy_in_a_loop(x):
    s, i = 0.0, 0
    while s < 30.0:
        s += x[i]
        i += 1
        np.geterr()  # here
    return s


@pytest.mark.parametrize(
    "function, code",
    [(asks_numpy_in_a_with, "PC0020"), (takes_a_side_that_asks_numpy, "PC0006"),
     (asks_numpy_in_a_loop, "PC0006")],
)  # fmt: skip
def test_lines_in_details_are_of_the_program_s_file(function, code):
    line = line_of_code(function)
    found = [
        item for item in breaks(function, X, code=code) if "_get_extobj_dict" in item["detail"]
    ]
    lines = [re.findall(r"line (\d+)", item["detail"]) for item in found]
    assert any(lines)
    for last in (numbers[-1] for numbers in lines if numbers):
        assert int(last) == line


@pytest.mark.parametrize("function", [asks_for_no_id, asks_for_none_in_a_with])
def test_without_the_break_a_generator_is_followed(function):
    check(function, X, whole=True)


@pytest.mark.parametrize("function", [asks_in_a_with, enters_what_asks])
def test_contextlib_s_generator_is_told_as_one(function):
    found = breaks(function, X, code="PC0012")
    assert found
    for item in found:
        assert "see that break" in item["hint"] and "Iterate over a range" not in item["hint"]


def goes_through(parts):
    total = 0
    for y in parts:
        total = total + np.sqrt(y)
    return total


def test_a_generator_that_is_passed_in():
    (item,) = breaks(goes_through, (v for v in (X, X)), code="PC0012")
    assert "list(x)" in item["hint"]
    check(goes_through, [X, X], whole=True)


# ---- ints of more than 64 bits ----

K = np.uint64(14695981039346656037)
U64 = np.arange(30000, dtype=np.uint64)


def hashes(x):
    h = 14695981039346656037
    for i in range(len(x)):
        h = h ^ int(x[i])  # here
    return h


def hashes_as_uint64(x):
    h = K
    for i in range(len(x)):
        h = h ^ x[i]
    return h


def masks_a_number(x):
    y = np.sqrt(x) + 1
    return y * 2, (int(x[1]) * 31) & 14695981039346656037  # here


@pytest.mark.parametrize("function", [hashes, masks_a_number])
def test_a_wide_int_is_told_as_one(function):
    item = breaks(function, U64)[0]
    assert "an int that does not fit int64" in item["detail"], item
    assert item["line"] == line_of_code(function) and "np.uint64(...)" in item["hint"]


def test_numbers_of_uint64_keep_the_loop():
    check(hashes_as_uint64, U64, whole=True)


# ---- indices, items and lengths ----


def reads_the_best_row(a):
    b = a * 2
    row = b[b[0].argmax()]
    return row + b


def reads_the_best_row_by_an_array(a):
    b = a * 2
    k = b[0].argmax()
    return b[[k]][0] + b


SQUARE = np.random.default_rng(1).random((60, 60)) + 1


def test_a_row_out_of_the_data_is_told_how_to_be_read():
    (item,) = breaks(reads_the_best_row, SQUARE)
    assert item["code"] == "PC0050" and "x[[k]][0] to read" in item["hint"]
    check(reads_the_best_row_by_an_array, SQUARE, whole=True)


def reads_a_match(x, found):
    y = np.sqrt(x) + 1
    return y * len(found[1])  # here


def reads_a_group(x, group):
    y = np.sqrt(x) + 1
    return y * len(group)


def test_an_item_of_an_unknown_object_is_told_as_that():
    (item,) = breaks(reads_a_match, X, re.match("(a+)", "aab"))
    assert item["code"] == "PC0016" and "re.Match" in item["detail"]
    assert "slices" not in item["hint"] and "pass it" in item["hint"]
    check(reads_a_group, X, "aa", whole=True)


def sizes_by_numpy(x):
    n = int(np.sqrt(len(x)))
    return (np.sqrt(x) + 1)[:n] * 2, x + 1


def sizes_by_python(x):
    n = int(math.sqrt(len(x)))
    return (np.sqrt(x) + 1)[:n] * 2, x + 1


def test_a_length_by_numpy_of_a_number_is_no_mask():
    (item,) = breaks(sizes_by_numpy, X, code="PC0045")
    assert "math.sqrt" in item["hint"] and "mask" not in item["hint"]
    check(sizes_by_python, X, whole=True)


def turns_by_the_data(x):
    y = np.sqrt(x) + 1
    for _ in range(int(np.sum(x > 1.9999))):
        y = y + 1
    return y


def test_nothing_is_said_of_a_loop_that_was_not_looked_at():
    (item,) = breaks(turns_by_the_data, X, code="PC0045")
    assert "stay a loop" not in item["detail"] and "caller" in item["hint"]


def appends_an_object(x):
    y = np.sqrt(x) + 1
    return np.diff(y, append=object()) * 2


def test_a_call_is_named_once():
    item = breaks(appends_an_object, X)[0]
    assert item["detail"].count("call of 'diff'") == 1, item


# ---- variables that functions share ----


def lambda_of_an_array(x):
    out = np.zeros(len(x))
    last = lambda i: out[i]  # noqa: E731
    for i in range(len(x)):
        out[i] = x[i] * 2
    return out, last(3)


def lambda_of_a_sum(x):
    total = 0.0
    half = lambda: total / 2  # noqa: E731  # made
    for i in range(len(x)):
        total += x[i]  # here
    return half()


def function_of_a_sum(x):
    total = 0.0

    def twice():  # made
        return total * 2

    for i in range(len(x)):
        total += x[i]  # here
    return twice()


def function_of_another_sum(x):
    total = 0.0

    def twice():
        return total * 2

    mine = total
    for i in range(len(x)):
        mine += x[i]
    total = mine
    return twice()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda_of_a_sum, "it stores 'total', which the lambda of line {} shares"),
        (function_of_a_sum, "it stores 'total', which 'twice' of line {} shares"),
    ],
)
def test_a_shared_variable_is_named_with_who_shares_it(function, words):
    text = told(function, X)
    assert words.format(line_of_code(function, "# made")) in text, text
    assert f"line {line_of_code(function)}" in text and "not in a local" not in text, text


@pytest.mark.parametrize("function", [lambda_of_an_array, function_of_another_sum])
def test_another_variable_keeps_the_loop(function):
    assert not breaks(function, X)
    check(function, X, whole=True)


# ---- what a loop is, and what it stores ----


def lists_elements(x):
    return [x[i] * 2 for i in range(len(x))]


def fills_an_array(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * 2
    return out


def test_a_comprehension_is_kept_as_a_loop_is():
    check(lists_elements, X, whole=True)
    check(fills_an_array, X, whole=True)


def sums_comprehensions(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = sum([x[j] for j in range(3)])  # here
    return out


def test_a_comprehension_inside_is_told_as_one():
    """Before 3.12 it is a function of its own."""
    text = told(sums_comprehensions, X)
    line = line_of_code(sums_comprehensions)
    assert re.search(rf"it contains a .*comprehension.*, line {line}", text), text


def marks(x):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        out[i] = 1.5 if x[i] > 1.5 else 0.5  # here
    return out


def marks_by_a_variable(x):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        c = 0.5
        if x[i] > 1.5:
            c = 25.5
        out[i] = c  # here
    return out


def marks_as_uint8(x):
    out = np.zeros(len(x), np.uint8)
    for i in range(len(x)):
        out[i] = np.uint8(1) if x[i] > 1.5 else np.uint8(0)
    return out


def marks_by_a_variable_of_uint8(x):
    out = np.zeros(len(x), np.uint8)
    for i in range(len(x)):
        c = np.uint8(0)
        if x[i] > 1.5:
            c = np.uint8(255)
        out[i] = c
    return out


@pytest.mark.parametrize("function", [marks, marks_by_a_variable])
def test_one_of_two_constants_is_told_to_be_of_the_dtype(function):
    text = told(function, X)
    assert (
        f"make it np.int64(...) on each way, not behind it), line {line_of_code(function)}" in text
    )


def marks_by_ints(x):
    out = np.zeros(len(x), np.uint8)
    for i in range(len(x)):
        c = 0
        if x[i] > 1.5:
            c = 255
        out[i] = c
    return out


@pytest.mark.parametrize("function", [marks_as_uint8, marks_by_a_variable_of_uint8, marks_by_ints])
def test_constants_of_the_dtype_keep_the_loop(function):
    assert not breaks(function, X)
    check(function, X, whole=True)


def numbers(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, (a + b) % 1000007
    return a


def numbers_and_an_element(n):
    a, b, last = 0, 1, np.zeros(1, np.int64)
    for _ in range(n):
        a, b = b, (a + b) % 1000007
        last[0] = a
    return a


def test_a_long_loop_of_numbers_is_kept():
    assert not breaks(numbers, 9000)
    check(numbers, 9000, whole=True)
    assert not breaks(numbers_and_an_element, 9000)
    check(numbers_and_an_element, 9000, whole=True)


def goes_over_a_list(x, order):
    s = 0.0
    for i in order:
        s += x[i]
    return s


def test_what_a_loop_goes_over():
    text = told(goes_over_a_list, X, list(range(5000)))
    assert "only loops over ranges or arrays, and `while` loops do" in text


# ---- branches and loops ----


def returns_before_a_loop(x, tolerance):
    if np.abs(x).max() < tolerance:  # here
        return x
    while True:
        y = np.sqrt(x) + 1
        if np.abs(x - y).max() < 1e-3:  # inner
            break
        x = y
    return x * 2


def test_a_return_before_a_loop_ends_no_loop():
    for item in breaks(returns_before_a_loop, X, 0.1, code="PC0006"):
        before = item["line"] == line_of_code(returns_before_a_loop)
        assert item["detail"].startswith("it ends a loop") == (not before), item
        if before:
            line = line_of_code(returns_before_a_loop, "# inner")
            assert item["detail"].endswith(f"ends by the value of an array, line {line}")
            assert "nothing has to change" in item["hint"]


class Shows:
    def show(self, x):
        print("x", end="")  # here
        return x * 2


def shows_in_a_comprehension(x):
    shows, y = Shows(), np.sqrt(x)
    return [shows.show(y) for _ in range(2)]


def shows_in_a_loop(x):
    shows, y, out = Shows(), np.sqrt(x), []
    for _ in range(2):
        out.append(shows.show(y))
    return out


def shows_in_a_try(x):
    try:
        return Shows().show(np.sqrt(x))
    except ValueError:
        return x


def test_a_print_in_a_comprehension_is_in_no_try():
    found = breaks(shows_in_a_comprehension, X, code="PC0021")
    if sys.version_info >= (3, 12):
        assert found and "a comprehension of 'shows_in_a_comprehension'" in found[0]["detail"]
    assert not any("try" in item["detail"] for item in found)
    check(shows_in_a_loop, X, whole=True)


def test_a_print_in_a_call_from_a_try_names_the_caller():
    item = breaks(shows_in_a_try, X, code="PC0021")[0]
    assert "a call from a try or with block of 'shows_in_a_try', line" in item["detail"]


# ---- what may be changed, where plans do not hold ----


class Kind(enum.Flag):
    A = 1
    B = 2
    C = 4
    D = 8


def by_kind(x, kind):
    y = np.sqrt(x)
    if Kind.A in kind:
        y = y * 2
    if kind & Kind.B:
        y = y + 2
    return y * y + 1


def by_turn(x, names):
    y = np.sqrt(x)
    for i, name in enumerate(names):
        id(y)
        y = y + np.zeros(i + 1).sum()
        y = y + {"a": 1, "b": 2}.get(name, i)
    return y


def warning_of(function, calls):
    compiled = pycompile.compile(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for args in calls:
            compiled(*args)
    return " ".join(str(item.message) for item in caught)


def test_members_of_an_enum_are_not_made_anew():
    text = warning_of(by_kind, [(X, Kind(i % 16)) for i in range(60)])
    assert "pass fewer different members" in text and "made anew" not in text, text


def test_the_item_of_a_loop_is_not_passed():
    text = warning_of(by_turn, [(X, "abcdefghijklmnopqrst")])
    assert "a break in the loop: change what breaks" in text, text
    assert "pass fewer" not in text and "raise the option" not in text, text


# ---- the summary ----


def helper(x):
    y = np.sqrt(x) + 1
    z = y * 2
    return z, id(z)


def calls_a_helper(x):
    return helper(x)[0] + 1


def test_the_heading_has_the_line_of_the_def():
    explanation = pycompile.explain(calls_a_helper)(X)
    rows = {row["function"]: row["line"] for row in _explain_text.functions(explanation)}
    assert rows["helper"] == line_of_code(helper, "def helper")
    assert rows["calls_a_helper"] == line_of_code(calls_a_helper, "def calls")
    assert f"test_advice.py:{rows['helper']})" in str(explanation)


def two_indices(a):
    b = a * 2
    k = int(b[0].argmax())
    row = b[k] + 1
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
    text = " ".join(str(pycompile.explain(sums_to_overflow)(X[:100])).split())
    assert "an int beyond 64 bits, in a loop" in text and "run to its end" not in text


# ---- what docs/loops.md says of calls in loops ----


def plus_one(v):
    return v * v + 1


def sum_of_three(x, i):
    s = 0.0
    for k in range(3):
        s += x[i - k]
    return s


def smoothed(x):
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + x[i]
    return s


def calls_without_a_loop(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = plus_one(x[i])
    return out


def calls_with_a_loop(x):
    out = np.zeros(len(x))
    for i in range(3, len(x)):
        out[i] = sum_of_three(x, i)
    return out


def loop_in_a_loop(x):
    out = np.zeros(len(x))
    for i in range(3, len(x)):
        s = 0.0
        for k in range(3):
            s += x[i - k]
        out[i] = s
    return out


def calls_a_long_loop(x):
    y = np.sqrt(x) + 1
    return smoothed(y) * 2 + y


def smoothed_by_calls(x):
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + math.lgamma(x[i])
    return s


def calls_a_loop_of_calls(x):
    y = np.sqrt(x) + 1
    return smoothed_by_calls(y) * 2 + y


def test_calls_of_functions_with_loops():
    assert not breaks(calls_without_a_loop, X)
    check(calls_with_a_loop, X, whole=True)
    check(loop_in_a_loop, X, whole=True)
    check(calls_a_long_loop, X, whole=True)
    explanation = pycompile.explain(calls_a_loop_of_calls)(X)
    rows = {row["function"]: row for row in _explain_text.functions(explanation)}
    assert "compiled by itself" in rows["calls_a_loop_of_calls"]["breaks"][0]["hint"]


# ---- numbers of Python's and of NumPy's ----


def begins_as_a_float(x):
    y, s = np.sqrt(x) + 1, 0.0
    if y.sum() > 3:
        if y.max() > 1:
            s = y.max()
        y = y * 2
    return y * 2, s


def begins_as_a_float_in_turns(x):
    s = 0.0
    for k in range(5):
        y = np.sqrt(x) + k
        if y.max() > 2.1:
            s = s + y.max()
    return s * 2, y


def begins_as_a_float64(x):
    y, s = np.sqrt(x) + 1, np.float64(0.0)
    if y.sum() > 3:
        if y.max() > 1:
            s = y.max()
        y = y * 2
    return y * 2, s


def begins_as_a_float64_in_turns(x):
    s = np.float64(0.0)
    for k in range(5):
        y = np.sqrt(x) + k
        if y.max() > 2.1:
            s = s + y.max()
    return s * 2, y


@pytest.mark.parametrize("function", [begins_as_a_float, begins_as_a_float_in_turns])
def test_a_start_is_told_to_be_numpys(function):
    item = breaks(function, X, code="PC0006")[0]
    assert item["detail"].startswith(
        "after some branches 's' is Python's number, after others a numpy.float64"
    )
    assert item["detail"].endswith("(begin with np.float64(...))")


@pytest.mark.parametrize("function", [begins_as_a_float64, begins_as_a_float64_in_turns])
def test_a_start_of_numpys_makes_one_graph(function):
    check(function, X, whole=True)


def counts_turns(x):
    return {i: float(v) for i, v in enumerate(x * 2)}


def test_nothing_is_said_to_vary_from_call_to_call():
    """It is one call."""
    (item,) = breaks(counts_turns, X[:3000], code="PC0046")
    assert "a number that is not fixed" in _explain_text.reason(item)
    assert "call to call" not in _explain_text.reason(item)


# ---- functions without array work ----


def reads_lines(path):
    with open(path) as file:
        count = file.seek(0, 2)
    return count, len(os.listdir("."))


def computes_and_asks(x):
    y = np.sqrt(x) + 1
    return y * 2, id(y)


def test_what_only_sets_things_up_has_nothing_to_change():
    text = " ".join(str(pycompile.explain(reads_lines)(__file__)).split())
    assert "break PC0002" in text and "hint:" not in text, text
    assert "nothing has to change: there is no array work before these breaks" in text, text
    text = str(pycompile.explain(computes_and_asks)(X))
    assert "hint: Compare with `is`" in text and "nothing has to change" not in text, text
