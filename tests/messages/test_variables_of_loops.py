"""What keeps a loop is named as the program names it: a variable, an object, a function that it calls."""

import math
import re

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.differential import check
from tests.reports import (
    breaks,
    details,
    line_of_code,
    only_break,
    reasons,
    stays,
)

X = np.linspace(1.0, 2.0, 3000)
LONG = np.linspace(1.0, 2.0, 20000)
MANY = np.linspace(1.0, 2.0, 30000)


def made(text, name):
    """The function of a source text."""
    names = {"np": np}
    exec(text, names)
    return names[name]


SIGNED = np.linspace(-1.0, 1.0, 3000)


# ---- a loop that did not stay a loop ----


def inner_loop(x, y):
    for i in range(1, len(x)):
        k = 0
        while k < 3:
            y[i] += np.percentile(x[i], 50)  # here
            k += 1


def calls_numpy(x, y):
    for i in range(1, len(x)):
        y[i] = np.percentile(x[i], 50) + y[i - 1]  # here


def inner_slice(x, y):
    for i in range(1, len(x)):
        for k in range(2):
            y[i] = x[k:3].std()  # here


def writes_a_view(x, y):
    z = y[1:]
    for i in range(1, len(z)):  # here
        z[i] = z[i - 1] + x[i]


def while_loop(x, y):
    i = 0
    while i < len(x):
        y[i] = x[i : i + 1].std()  # here
        i += 1


def slice_of_both_axes(x, y):
    table = x.reshape(2, -1)
    for i in range(1, len(x)):
        y[i] = table[:, i:].sum()  # here


def computed_slice_of_both_axes(x, y):
    table = x.reshape(2, -1)
    for i in range(1, len(x)):
        y[i] = (table[:, i:] * 2.0).sum()  # here


def test_a_while_loop_over_parts_stays():
    stays(while_loop, LONG[:5000], LONG[:5000].copy())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "why"),
    [
        (inner_loop, "a call of 'percentile', line {}"),
        (calls_numpy, "a call of 'percentile', line {}"),
        (writes_a_view, "it writes elements of 'z', which is a view"),
    ],
)
def test_it_says_what_kept_a_loop_from_staying_one(function, why):
    x = LONG[:5000]
    item = breaks(function, x, x.copy(), code="PC0013")[0]
    wanted = "did not stay a loop: " + why.format(line_of_code(function, "# here"))
    assert wanted in item["detail"], item["detail"]
    assert item["user"][2] == function.__name__


@pytest.mark.parametrize("function", [inner_slice, slice_of_both_axes, computed_slice_of_both_axes])
def test_functions_of_parts_stay_in_the_loop(function):
    stays(function, LONG[:5000], LONG[:5000].copy())


def calls_numpy_inside(x, y):
    for i in range(1, len(x)):
        for k in range(2):
            y[i] += np.percentile(x[i - k], 50)  # here


def prints(x, y):
    for i in range(1, len(x)):
        y[i] += x[i]
        if y[i] > 1e9:
            print(y[i])  # here


def inserts(x, y):
    found = []
    for i in range(1, len(x)):
        y[i] += x[i]
        found.insert(1, i)


def narrow(x, y):
    z = np.full(len(x), 3, np.float16)
    for i in range(1, len(x)):
        z[i] = z[i - 1] + z[i]  # here


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (inserts, "it changes an object other than arrays: 'found' (list)"),
        (narrow, "the operation 'add' on a numpy.float16, line {}"),
    ],
)
def test_what_keeps_a_loop_is_named(function, why):
    item = breaks(function, LONG[:5000], LONG[:5000].copy())[0]
    line = line_of_code(function, "# here") if "{}" in why else 0
    assert "did not stay a loop: " + why.format(line) in item["detail"], item["detail"]


@pytest.mark.slow
def test_an_outer_loop_is_told_what_kept_the_inner_one():
    x = LONG[:5000]
    item = only_break(calls_numpy_inside, x, x.copy(), code="PC0013")
    wanted = f"did not stay a loop: a call of 'percentile', line {line_of_code(calls_numpy_inside, '# here')}"
    assert wanted in item["detail"], item["detail"]


def text_on_one_side(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 1.5:  # here
            s = "a"
        else:
            s = 1.0
    return s


def list_on_one_side(x):
    found = []
    for i in range(len(x)):
        if x[i] > 1.5:  # here
            found.insert(1, i)
    return found


def library_on_one_side(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 1.5:
            s = np.percentile(x[i], 50)  # here
        x[i] = s


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (text_on_one_side, "'s' is str on one side and float on the other"),
        (list_on_one_side, "its sides change an object from before the branch"),
    ],
)
def test_a_branch_in_such_a_loop_is_told_of_the_loop(function, why):
    """… and not of its sides, which are alike in a loop that stays one."""
    item = breaks(function, LONG[:5000].copy())[0]
    line = line_of_code(function, "# here")
    assert f"did not stay a loop: the branch of line {line}: {why}" in item["detail"], item[
        "detail"
    ]
    assert "change what is named here" in item["hint"]


@pytest.mark.parametrize(
    ("function", "args", "why"),
    [
        (prints, 2, "print to an object that may run code"),
        (library_on_one_side, 1, "a call of 'percentile'"),
    ],
)
def test_a_side_for_which_a_loop_is_left_is_told(function, args, why):
    item = breaks(function, *(LONG[:5000].copy() for _ in range(args)))[0]
    assert (item["code"], item["detail"]) == ("PC0052", why)
    assert item["line"] == line_of_code(function, "# here")
    assert "Nothing has to change where that side is rare" in item["hint"]


def a_file(x):
    y = np.sqrt(x) + 1
    if y.sum() > 3:
        open("/dev/null").close()  # here
    return y * 2


def test_a_branch_is_told_what_keeps_its_sides_apart():
    found = breaks(a_file, X)[0]
    assert found["detail"].endswith(f", line {line_of_code(a_file, '# here')}")
    assert "'open'" in found["detail"]


# ---- the object that keeps a loop or a branch ----


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (counts_in_a_dict, "'seen'"),
        (appends_on_one_side, "its sides change an object from before the branch: 'found' (list)"),
        (writes_a_view_on_one_side, "changes an object from before the branch: 'z' (an array)"),
    ],
)
def test_what_changes_is_named(function, words):
    assert words in reasons(function, MANY)


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
    text = reasons(function, MANY)
    assert words.format(line_of_code(function, "# made")) in text, text
    assert f"line {line_of_code(function)}" in text and "not in a local" not in text, text


@pytest.mark.parametrize("function", [lambda_of_an_array, function_of_another_sum])
def test_another_variable_keeps_the_loop(function):
    assert not breaks(function, MANY)
    check(function, MANY, whole=True)


# ---- what a loop is, and what it stores ----


def lists_elements(x):
    return [x[i] * 2 for i in range(len(x))]


def fills_an_array(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * 2
    return out


@pytest.mark.slow
def test_a_comprehension_is_kept_as_a_loop_is():
    check(lists_elements, MANY, whole=True)
    check(fills_an_array, MANY, whole=True)


def sums_comprehensions(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = sum([x[j] for j in range(3)])  # here
    return out


def test_a_comprehension_inside_is_told_as_one():
    """Before 3.12 it is a function of its own."""
    text = reasons(sums_comprehensions, MANY)
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


@pytest.mark.slow
@pytest.mark.parametrize("function", [marks, marks_by_a_variable])
def test_one_of_two_constants_of_another_dtype(function):
    stays(function, MANY)


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
    assert not breaks(function, MANY)
    check(function, MANY, whole=True)


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
    text = reasons(goes_over_a_list, MANY, tuple(range(5000)))
    assert "only loops over ranges or arrays, and `while` loops do" in text


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


@pytest.mark.slow
def test_calls_of_functions_with_loops():
    assert not breaks(calls_without_a_loop, MANY)
    check(calls_with_a_loop, MANY, whole=True)
    check(loop_in_a_loop, MANY, whole=True)
    check(calls_a_long_loop, MANY, whole=True)
    explanation = pycompile.explain(calls_a_loop_of_calls)(MANY)
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
    item = breaks(function, MANY, code="PC0006")[0]
    assert item["detail"].startswith(
        "after some branches 's' is Python's number, after others a numpy.float64"
    )
    assert item["detail"].endswith("(begin with np.float64(...))")


@pytest.mark.parametrize("function", [begins_as_a_float64, begins_as_a_float64_in_turns])
def test_a_start_of_numpys_makes_one_graph(function):
    check(function, MANY, whole=True)


def counts_turns(x):
    return {i: float(v) for i, v in enumerate(x * 2)}


def test_nothing_is_said_to_vary_from_call_to_call():
    """It is one call."""
    (item,) = breaks(counts_turns, MANY[:3000], code="PC0046")
    assert "a number that is not fixed" in _explain_text.reason(item)
    assert "call to call" not in _explain_text.reason(item)


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
    text = details(float_or_int, SIGNED)
    line = line_of_code(float_or_int, "# here")
    assert (
        f"'s', which is float on one side and int on the other of the branch of line {line} "
        "(make it float(...) on each way)" in text
    ), text
    check(floats, SIGNED, whole=True)


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
    a = ["none"] * 3
    for i in range(len(x)):
        a[0] = x[i]
    return a


def told(function, *args):
    return " | ".join(_explain_text.reason(item) for item in breaks(function, *args))


def test_what_is_no_array_is_told_as_what_it_is():
    stays(makes_each_turn, SIGNED)
    text = told(holds_a_row, SIGNED.copy())
    assert "'v' is no number after a turn, but an array" in text and "int before" not in text, text
    assert "elements of 'v', which is no array before it (NoneType)" in told(has_none, SIGNED)
    assert "changes a list of what are no numbers" in told(has_a_list, SIGNED)


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


@pytest.mark.slow
def test_what_a_loop_cannot_carry_is_told_as_what_it_is():
    assert "'v', which holds an array before it, another one behind each turn" in told(
        selected, SIGNED
    )
    assert "'v', which holds no number before it (list)" in told(after_a_list, SIGNED)
    for function in (selected, after_a_list, has_a_list, has_none, makes_each_turn):
        check(function, SIGNED, also=((-SIGNED,), (SIGNED[:1],)))


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
    text = told(makes_arrays, SIGNED)
    line = line_of_code(makes_arrays, "# here")
    assert f"what line {line} computes has no native form" in text and "build" not in text, text
    text = told(letters, tuple("abc" * 3000))
    assert "`while` loops do, and this one goes over 's' (tuple)" in text, text
